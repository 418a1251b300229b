package problem

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// The kinds of opponents, beside random. See the package comment.
const (
	planted      = "planted"
	roundRobin   = "round-robin"
	tree         = "tree"
	bisecting    = "bisecting"
	smoothed     = "smoothed"
	leaderKiller = "leader-killer"
	greedy       = "greedy"
	sharedNoise  = "shared-noise"

	seesAnswers = "answers"
	seesPast    = "past"
)

const (
	maxListed        = 1 << 12 // hypotheses, and points, of a class that an opponent lists; a class matrix may be larger
	maxPlanted       = 0.5
	defaultSmoothing = 0.1

	// Halving [0, 1) so often gives multiples of 2^-53, which float64 holds; the next point may lie between two of them.
	maxHalvings = 53
)

// Opponent plays one game of online learning: each round is Next, Truth and Observe. It knows the problem with its target, and what was
// answered; never the learner's parameters or randomness.
type Opponent interface {
	// Next writes the next point into x, Dim numbers inside the domain.
	Next(x []float64)
	// Truth is the label of that point, -1 or +1, given the mean of the learner's label for it, in [-1, 1].
	Truth(answer float64) (y float64)
	// Observe tells the label, -1 or +1, that the answer came to: the answer itself, or a draw with that mean.
	Observe(label float64)
}

// ResolveOpponent validates the adversary of a game of rounds for a resolved problem and fills in what it sees and its rate. The error is an
// *Error whose key starts with "adversary". CheckRounds may still refuse the number of rounds.
func ResolveOpponent(p *schemas.Problem, a *schemas.Adversary) error {
	switch fitting := orList(opponentsOf(p)); {
	case a.Kind == "":
		return refuseOpponent("kind", "missing; choose %s", fitting)
	case !slices.Contains(opponents(), a.Kind):
		return refuseOpponent("kind", "%q does not play rounds; choose %s", a.Kind, fitting)
	case shapeOf(p.Class) == endless && !plays(a.Kind, p):
		return refuseOpponent("kind", "%q does not play on the class %s, which has neither a law nor a finite Littlestone dimension; choose %s",
			a.Kind, p.Class, fitting)
	case !plays(a.Kind, p):
		return refuseOpponent("kind", "%q needs %s; choose %s", a.Kind, needs(a.Kind), fitting)
	case a.Offline:
		return refuseOpponent("offline", "does not apply to rounds, whose points come one by one; leave it out")
	case a.Width != 0:
		return refuseOpponent("width", "%d does not apply to rounds; leave it out", a.Width)
	}
	if err := resolveSees(a); err != nil {
		return err
	}
	if err := checkFrom(p, a); err != nil {
		return err
	}
	return resolveRate(a)
}

// CheckRounds refuses more rounds than an opponent can play on a problem, with an *Error whose key is "rounds".
func CheckRounds(p *schemas.Problem, rounds int64) error {
	if p.Class == concept.Dyadics && rounds > maxHalvings {
		return &Error{Key: "rounds", Reason: fmt.Sprintf("%d are too many on the class %s: after %d halvings of [0, 1) the next point may have more binary digits "+
			"than a float64; take at most %d", rounds, p.Class, maxHalvings, maxHalvings)}
	}
	return nil
}

// checkFrom checks the first point of a bisection of the natural numbers.
func checkFrom(p *schemas.Problem, a *schemas.Adversary) error {
	switch {
	case p.Class != concept.Naturals && a.From != 0:
		return refuseOpponent("from", "%d applies to the kind %s on the class %s only; leave it out", a.From, bisecting, concept.Naturals)
	case p.Class != concept.Naturals:
		return nil
	case a.From == 0:
		return refuseOpponent("from", "missing; state the first point x, for example 2^20: the best that a learner can promise is 1 + floor(log2 x) mistakes")
	case a.From > concept.MaxNatural:
		return refuseOpponent("from", "%d is above 2^53, up to which float64 holds every whole number", a.From)
	}
	return nil
}

func resolveSees(a *schemas.Adversary) error {
	looks := []string{tree, smoothed, greedy}
	switch {
	case !slices.Contains(looks, a.Kind) && a.Sees != "":
		return refuseOpponent("sees", "%q does not apply to the kind %s, only to %s; leave it out", a.Sees, a.Kind, orList(looks))
	case !slices.Contains(looks, a.Kind):
		return nil
	case a.Sees == "":
		a.Sees = seesAnswers
	case a.Sees != seesAnswers && a.Sees != seesPast:
		return refuseOpponent("sees", "unknown %q; choose %s or %s", a.Sees, seesAnswers, seesPast)
	}
	return nil
}

func resolveRate(a *schemas.Adversary) error {
	switch rate := a.Rate; {
	case a.Kind == planted && !(rate >= 0 && rate <= maxPlanted):
		return refuseOpponent("rate", "%v is outside [0, %v]", rate, maxPlanted)
	case a.Kind == smoothed && rate == 0:
		a.Rate = defaultSmoothing
	case a.Kind == smoothed && !(rate > 0 && rate <= 1):
		return refuseOpponent("rate", "%v is outside (0, 1]; without uniform points it is the kind %s", rate, tree)
	case a.Kind != planted && a.Kind != smoothed && rate != 0:
		return refuseOpponent("rate", "%v does not apply to the kind %s, only to %s or %s; leave it out", rate, a.Kind, planted, smoothed)
	}
	return nil
}

// refuseOpponent blames one key below "adversary".
func refuseOpponent(key, format string, a ...any) error {
	return &Error{Key: "adversary." + key, Reason: fmt.Sprintf(format, a...)}
}

// opponents are all kinds.
func opponents() []string {
	return []string{random, planted, roundRobin, tree, bisecting, smoothed, leaderKiller, greedy, sharedNoise}
}

// opponentsOf lists those that fit a problem.
func opponentsOf(p *schemas.Problem) []string {
	return slices.DeleteFunc(opponents(), func(kind string) bool { return !plays(kind, p) })
}

// plays tells whether a kind fits a problem.
func plays(kind string, p *schemas.Problem) bool {
	if shapeOf(p.Class) == endless {
		return kind == bisecting
	}
	switch kind {
	case roundRobin:
		return p.Class == point
	case bisecting:
		return p.Class == thresholds
	case tree, smoothed:
		return p.Class == thresholds || listable(p) && (p.Class == matrix || cardinality(p) <= maxListed)
	case leaderKiller:
		return listable(p)
	}
	return true
}

// needs is what the others need.
func needs(kind string) string {
	switch kind {
	case roundRobin:
		return "the class points"
	case bisecting:
		return "one of the classes thresholds, thresholds-naturals and thresholds-dyadics"
	case leaderKiller:
		return fmt.Sprintf("a class matrix, or a class of at most %d hypotheses: take a smaller domain or d", maxListed)
	}
	return fmt.Sprintf("thresholds, a class matrix, or a class of at most %d hypotheses on %d points: take a smaller domain or d", maxListed, maxListed)
}

// listable tells whether all hypotheses of a class can be listed.
func listable(p *schemas.Problem) bool {
	if p.Class == matrix {
		return true
	}
	if width(p) > maxListed { // before any number of 2^d is made
		return false
	}
	c, err := concept.New(specOf(p, ""))
	return err == nil && c.Size() != nil && c.Size().IsInt64() && c.Size().Int64() <= maxListed
}

// specOf names the class of a problem; rows are the class matrix.
func specOf(p *schemas.Problem, rows string) concept.Spec {
	return concept.Spec{
		Name: p.Class, Domain: p.Domain, Dim: width(p), Matrix: rows,
		NoConstant: p.Class == thresholds && p.Distribution == needle,
	}
}

// Opponent begins a game of rounds on the target of the drawer's present trial; the drawer then serves this game alone until it has ended. The
// number of rounds is public; r is the opponent's own randomness. The error is that of ResolveOpponent or CheckRounds, or says that the
// Littlestone dimension of the class, which tree and smoothed need, takes too long to find. The first of their games on a problem finds it,
// which takes some seconds for the largest classes; what they find serves all games on that problem.
func (d *Drawer) Opponent(a schemas.Adversary, rounds int64, r rand.Source) (Opponent, error) {
	if err := ResolveOpponent(&d.p.spec, &a); err != nil {
		return nil, err
	}
	if err := CheckRounds(&d.p.spec, rounds); err != nil {
		return nil, err
	}
	q := player{law: d.law, r: rand.New(r)}
	switch a.Kind {
	case planted:
		return &planter{player: q, rate: a.Rate}, nil
	case roundRobin:
		return &cycler{domain: float64(d.p.domain)}, nil
	case tree, bisecting, smoothed:
		return d.force(q, a)
	case leaderKiller:
		return newKiller(q, d.p)
	case greedy:
		return newContrarian(q, a.Sees == seesPast), nil
	case sharedNoise:
		return &exploiter{player: q, point: d.p.splitting(), given: map[int]float64{}}, nil
	}
	return &coins{q}, nil
}

// player is what all opponents have.
type player struct {
	law law
	r   *rand.Rand
}

// Observe implements Opponent for those that look at no label.
func (q *player) Observe(float64) {}

// draw writes a point of the law and gives its clean label.
func (q *player) draw(x []float64) float64 {
	var y [1]float64
	q.law.draw(q.r, x, y[:])
	return y[0]
}

// against is the label that an answer is not; a fair coin where it is 0.
func (q *player) against(answer float64) float64 {
	switch {
	case answer > 0:
		return -1
	case answer < 0:
		return 1
	}
	return 2*float64(q.r.Uint64()>>63) - 1
}

// coins asks points of the law and labels them by fair coins.
type coins struct{ player }

func (o *coins) Next(x []float64)              { o.draw(x) }
func (o *coins) Truth(float64) (truth float64) { return o.against(0) }

// planter asks points of the law and gives their label, wrong at a rate.
type planter struct {
	player
	rate  float64
	truth float64
}

func (o *planter) Next(x []float64) {
	o.truth = o.draw(x)
	if o.r.Float64() < o.rate {
		o.truth = -o.truth
	}
}

func (o *planter) Truth(float64) float64 { return o.truth }

// cycler asks the points 0..domain-1 in turns and labels them -1.
type cycler struct {
	player
	domain float64
	next   float64
}

func (o *cycler) Next(x []float64) {
	x[0] = o.next
	if o.next++; o.next == o.domain {
		o.next = 0
	}
}

func (o *cycler) Truth(float64) float64 { return -1 }

// killer asks points of the law and gives the label that the leader does not. A round takes the time of one label by each member.
type killer struct {
	player
	members  []concept.Hypothesis
	mistakes []int     // of each member so far
	labels   []float64 // by each member, of the point asked
}

func newKiller(q player, p *Problem) (Opponent, error) {
	c, err := p.finite()
	if err != nil {
		return nil, err
	}
	n := int(c.Size().Int64())
	o := &killer{player: q, members: make([]concept.Hypothesis, n), mistakes: make([]int, n), labels: make([]float64, n)}
	for i := range o.members {
		o.members[i] = c.Member(uint64(i))
	}
	return o, nil
}

func (o *killer) Next(x []float64) {
	o.draw(x)
	for i, h := range o.members {
		h.Labels(x, o.labels[i:i+1])
	}
}

func (o *killer) Truth(float64) float64 {
	leader := slices.Index(o.mistakes, slices.Min(o.mistakes))
	truth := -o.labels[leader]
	for i, label := range o.labels {
		if label != truth {
			o.mistakes[i]++
		}
	}
	return truth
}

// contrarian asks points of the law and goes against the answer, or against the last label observed at the point.
type contrarian struct {
	player
	last  map[string]float64 // by point; nil: it goes against the answer
	asked string
}

func newContrarian(q player, past bool) *contrarian {
	o := &contrarian{player: q}
	if past {
		o.last = map[string]float64{}
	}
	return o
}

func (o *contrarian) Next(x []float64) {
	o.draw(x)
	if o.last == nil {
		return
	}
	var key []byte
	for _, v := range x {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	o.asked = string(key)
}

func (o *contrarian) Truth(answer float64) float64 {
	if o.last != nil {
		answer = o.last[o.asked]
	}
	return o.against(answer)
}

func (o *contrarian) Observe(label float64) {
	if o.last != nil {
		o.last[o.asked] = label
	}
}

// exploiter asks one point all the time. What a learner has seen of it is how many truths more were -1 than +1; the exploiter goes against
// the last label given then.
type exploiter struct {
	player
	point []float64
	lead  int             // truths -1 less truths +1
	given map[int]float64 // the last label, by lead
	truth float64
}

func (o *exploiter) Next(x []float64) { copy(x, o.point) }

func (o *exploiter) Truth(float64) float64 {
	o.truth = o.against(o.given[o.lead])
	return o.truth
}

func (o *exploiter) Observe(label float64) {
	o.given[o.lead] = label
	o.lead -= int(o.truth)
}

// splitting is a point that some hypothesis labels -1 and some other one +1, if there is one.
func (p *Problem) splitting() []float64 {
	x := make([]float64, p.dim)
	switch shapeOf(p.spec.Class) {
	case scalar, grid: // the middle
		fill(x, float64((p.domain-1)/2))
	case index:
		x[0] = float64(max(0, evenest(p.matrix, int(p.domain))))
	case bits, vector: // the first number is 1, the others 0; the point 0 for monotone conjunctions, of which that of no bits is +1 everywhere
		if p.spec.Class != monotone {
			x[0] = 1
		}
	}
	return x
}

// evenest is the first of the columns of a class matrix that split its rows most evenly; -1 where none does.
func evenest(rows string, columns int) int {
	s := splitter{width: columns}
	for at := 0; at < len(rows); at += columns {
		s.alive = append(s.alive, rows[at:at+columns])
	}
	return s.best()
}
