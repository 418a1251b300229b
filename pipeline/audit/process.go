package audit

import "math"

// steps is the number of numbers, from the stated one down, that a process tests.
const steps = 20

// A process tests whether an algorithm keeps one form of its guarantee at one sample size, for several
// numbers. Each kind of pair has wealth of its own, and the mean of them counts.
type process struct {
	form
	goal    float64 // logarithm of the wealth that refutes
	kinds   []kind  // index: as in Pairs
	refuted int     // number of refuted numbers
	event   string  // event with the most wealth when the last of them was refuted
}

// A kind holds the bets on one kind of pair.
type kind struct {
	history [][2]result
	wealth  [steps]float64 // logarithms
	bets    [steps]bet
	last    [steps]event // event of the last bet with a stake
	next    int          // number of pairs at which the bets are chosen again
}

// firstBet is the number of pairs of a kind before the first bet.
const firstBet = 8

func newProcess(f form, level float64) *process {
	p := &process{form: f, goal: -math.Log(level), kinds: make([]kind, len(Pairs))}
	for i := range p.kinds {
		p.kinds[i].next = firstBet
	}
	return p
}

// add reads the trials of the next pair, by side. The bets on it follow from earlier pairs alone.
func (p *process) add(which int, pair [2]result) {
	k := &p.kinds[which]
	for i := p.refuted; i < steps; i++ {
		k.wealth[i] += k.bets[i].gain(pair)
	}
	k.history = append(k.history, pair)
	// A claim of a smaller number implies every larger one, so refutations come in order.
	for p.refuted < steps && p.logWealth(p.refuted) >= p.goal {
		p.event = p.describe(p.refuted)
		p.refuted++
	}
	if m := len(k.history); m >= k.next {
		k.next = m + max(4, m/4)
		k.chooseBets(p)
	}
}

// number returns the number with an index, in ascending order; the last one is stated.
func (p *process) number(i int) float64 { return p.stated * float64(i+1) / steps }

func (k *kind) chooseBets(p *process) {
	var all []counted
	for _, e := range events(k.history) {
		all = append(all, count(e, k.history))
	}
	for i := p.refuted; i < steps; i++ {
		if k.bets[i] = choose(all, len(k.history), p.form, p.number(i)); k.bets[i].stake > 0 {
			k.last[i] = k.bets[i].event
		}
	}
}

// logWealth returns the logarithm of the mean wealth against a number.
func (p *process) logWealth(i int) float64 {
	top, sum := math.Inf(-1), 0.0
	for _, k := range p.kinds {
		top = max(top, k.wealth[i])
	}
	for _, k := range p.kinds {
		sum += math.Exp(k.wealth[i] - top)
	}
	return top + math.Log(sum/float64(len(p.kinds)))
}

// describe names the pair and the event with the most wealth against a number.
func (p *process) describe(i int) string {
	best := 0
	for j := range p.kinds {
		if p.kinds[j].wealth[i] > p.kinds[best].wealth[i] {
			best = j
		}
	}
	return "pair " + Pairs[best].Name + ": " + p.kinds[best].last[i].describe()
}

// low returns the largest refuted number; 0: none.
func (p *process) low() float64 { return p.number(p.refuted - 1) }
