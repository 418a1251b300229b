package online

import "math"

// Values of the parameter schedule.
const (
	provedSchedule    = "proved"         // the scale with the least proved bound at L* = lstar
	paperSchedule     = "paper"          // the eta of the paper's proof at L* = lstar
	confidentSchedule = "self-confident" // a scale that follows the least loss so far
	doublingSchedule  = "doubling"       // scales for guesses of L* that grow fourfold, with restarts
	fixedSchedule     = "fixed"          // the parameter eta
)

// A schedule chooses the scale of the noise of each round from the least cumulative losses before
// it.
type schedule interface {
	scale() float64
	// after ends a round. least, which can be expensive, returns the least loss of a hypothesis
	// since the last restart. If restart is true, the caller must discard all losses now.
	after(least func() (int, error)) (restart bool, err error)
	// regret returns the proved bound on the expected regret of the rounds so far: lstar is the
	// least loss of a hypothesis in all of them, and least the least loss since the last restart.
	regret(least, lstar int) float64
}

// constant has the same scale in all rounds.
type constant struct {
	price
	eta float64
}

func (s *constant) scale() float64                          { return s.eta }
func (s *constant) after(func() (int, error)) (bool, error) { return false, nil }

func (s *constant) regret(_, lstar int) float64 { return s.bound(s.eta, float64(lstar)) }

// confident has the scales eta_t = max(floor, factor sqrt(M_{t-1} + ln|F|)), M_t being the least
// loss of a hypothesis after t rounds. eta_t never falls, and the be-the-leader lemma for the
// increments l_t + (eta_t - eta_{t-1}) N shows that sum_{s<=t} E l_s(g_s) <= M_t + eta_t G =: S_t
// for every t. The numbers e^(eps_t) - 1 =: a_t never rise, so summation by parts gives
//
//	E Reg <= eta_T G + sum_t a_t (S_t - S_{t-1}) + T delta,    S_0 = 0.
type confident struct {
	price
	lnF, floor, factor float64

	eta, lost     float64 // eta_t of the next round and its a_t
	leaders, paid float64 // S_t, and the sum over the rounds so far
	played        float64 // eta_T
	known         int     // the least loss that eta was computed from
}

func newConfident(p price, lnF, floor, factor float64) *confident {
	s := &confident{price: p, lnF: lnF, floor: floor, factor: factor}
	s.set(0)
	return s
}

// set chooses the scale for the least loss of a hypothesis.
func (s *confident) set(least int) {
	s.known = least
	s.eta = max(s.floor, s.factor*math.Sqrt(float64(least)+s.lnF))
	s.lost = math.Expm1(s.stability(s.eta))
}

func (s *confident) scale() float64 { return s.eta }

func (s *confident) after(find func() (int, error)) (bool, error) {
	least, err := find()
	if err != nil {
		return false, err
	}
	leaders := float64(least) + float64(s.eta*s.complexity)
	s.paid += float64(s.lost * (leaders - s.leaders))
	s.leaders, s.played = leaders, s.eta
	if least != s.known {
		s.set(least)
	}
	return false, nil
}

func (s *confident) regret(_, _ int) float64 {
	return float64(s.played*s.complexity) + s.paid + s.slack
}

// doubling guesses L* <= 4^k ln|F| in epoch k = 0, 1, ..., uses the best scale for that guess, and
// restarts once every hypothesis has lost more within the epoch. The least losses of the epochs add
// up to at most L*, so that the epochs' bounds add up to a bound on the regret.
type doubling struct {
	price
	guess, eta float64
	paid       float64 // the bounds of earlier epochs minus their slack
}

func newDoubling(p price, lnF float64) *doubling {
	return &doubling{price: p, guess: lnF, eta: p.least(lnF)}
}

func (s *doubling) scale() float64 { return s.eta }

func (s *doubling) after(find func() (int, error)) (bool, error) {
	least, err := find()
	if err != nil || float64(least) <= s.guess {
		return false, err
	}
	s.paid += s.bound(s.eta, float64(least)) - s.slack
	for float64(least) > s.guess {
		s.guess *= 4
	}
	s.eta = s.least(s.guess)
	return true, nil
}

func (s *doubling) regret(least, _ int) float64 { return s.paid + s.bound(s.eta, float64(least)) }
