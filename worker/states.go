package worker

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// In task predict a state before the final one is probed: asked about at most problem.MostProbed
// points of the law, the same for all states of a trial, so that the worst of them is not the one
// that drew the worst points. It is asked about the first of them, and about four times as many in
// all until its error is clearly on one side of the goal: a state on the other side passes for one
// on this side with probability at most exp(-clearly), 0.25 %, each time. One that is asked about
// all points has a standard error of at most 0.008, and of 0.0047 where its error is 0.1. A state whose
// error is reported is asked about all of them, because a stop that looks at the error biases it.
//
// Which queries are hard is what the algorithm says. Its marks add states to those that are probed
// anyway, and take none away.
const clearly = 6 // relative entropy, in nats

// A game compares the answers to leastCompared queries at least, or to all, with the state before
// each; and it probes the states after its first mostHard hard queries.
const (
	leastCompared = 32
	mostHard      = 64
)

// prober probes the states of a session's trials between the queries. Probing changes no state, and
// what a trial is asked is a function of its keys and of its own answers, whatever the session.
type prober struct {
	*session
	list  []querying
	times []bool // by the number of queries answered: whether all states are probed then
	sizes []int  // how many points a state has been asked about after each block; nil: whole support
	goal  float64
	hard  bool // errors after hard queries are reported: such states are asked about all points

	drawer         *problem.Drawer
	target, points rand.PCG
	x, y, w        []float64 // of the points of a group of trials
	counts         []uint32
	due            []int
}

// probed is what the states of a trial have answered.
type probed struct {
	begins []rand.PCG // where the points of each block begin, of the blocks that were drawn
	places rand.PCG   // draws the place of the next query among the points

	query    []float64 // the next query, where it is known
	truth    float64
	known    bool
	compared bool    // the state has answered the next query too:
	said     float64 // with this

	due         bool // a query was marked as hard since the last probe
	hardProbed  int
	reported    int       // 1 + the place of the present state in task.HardCounts; 0: its error is not reported
	afterHard   []float64 // errors by that place, NaN where there was no such state; nil: they are not reported
	states      int       // probed so far
	worst       float64   // error of these
	comparisons int
	apart       float64 // sum of their disagreements

	place int     // of the next query in the present probe
	sum   float64 // of the losses in the present probe
}

// newProber returns the prober of the games. It probes nothing where the final state alone counts.
func (x *session) newProber(list []querying) *prober {
	c := x.job.Cell
	p := &prober{session: x, list: list, times: make([]bool, c.Queries), goal: c.Above + c.Alpha}
	p.hard = c.States == schemas.StatesHard
	if !c.Probes() {
		return p
	}
	p.drawer = x.job.newDrawer()
	n := problem.MostProbed
	if x.job.pop.Exact() {
		n = min(n, p.drawer.TestLen())
	}
	if n > problem.SmallSupport {
		for size := problem.FirstProbed; size < n; size *= 4 {
			p.sizes = append(p.sizes, size)
		}
		p.sizes = append(p.sizes, n)
	}
	r := new(rand.PCG) // of all repetitions
	r.Seed(trial.Seed(c.AdversaryKey, trial.States, uint64(x.job.N), math.MaxUint32))
	choose(p.times, c.States == schemas.StatesEvery, rand.New(r))
	for j := range list {
		list[j].places = *x.adversaryStream(j, trial.States)
		if p.hard {
			list[j].afterHard = slices.Repeat([]float64{math.NaN()}, len(task.HardCounts))
		}
	}
	return p
}

// choose chooses the numbers of queries after which all states are probed: each, or 0, 1, 2, 4, ...
// and further ones drawn by r, until there are leastCompared.
func choose(times []bool, each bool, r *rand.Rand) {
	if each || len(times) <= leastCompared {
		for i := range times {
			times[i] = true
		}
		return
	}
	chosen := 1
	times[0] = true
	for i := 1; i < len(times); i *= 2 {
		times[i] = true
		chosen++
	}
	for chosen < leastCompared {
		if i := r.IntN(len(times)); !times[i] {
			times[i] = true
			chosen++
		}
	}
}

// atOnce returns how many queries may be asked at once after that many: most, if all states are not
// to be probed and the game does not end before; 1 where each may be hard and be followed by a probe.
func (p *prober) atOnce(asked, most int) int {
	if p.hard {
		return 1
	}
	most = min(most, len(p.times)-asked)
	if i := slices.Index(p.times[asked+1:asked+most], true); i >= 0 {
		return i + 1
	}
	return most
}

// probe probes the states that are due after that many queries.
func (p *prober) probe(ctx context.Context, asked int) error {
	if p.drawer == nil {
		return nil
	}
	due := p.due[:0]
	for j := range p.list {
		q := &p.list[j]
		if p.scores.failed(j) {
			continue
		}
		afterHard := q.due && q.hardProbed < mostHard && (p.hard || !p.job.Cell.Adversary.Offline)
		q.reported = 0
		if p.hard && (afterHard || asked == 0) {
			q.reported = 1 + slices.Index(task.HardCounts, q.hard)
		}
		if q.due = false; afterHard {
			q.hardProbed++
		}
		if afterHard || p.times[asked] {
			due = append(due, j)
		}
	}
	p.due = due
	if p.sizes == nil {
		_, err := p.askBlock(ctx, due, 0, 0, p.drawer.TestLen())
		return err
	}
	from := 0
	for block, to := range p.sizes {
		var err error
		if due, err = p.askBlock(ctx, due, block, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// askBlock asks the states of some trials about their points from..to-1, the block of that number, in
// groups that fit a message, and returns the trials whose errors are not clear yet. With the first
// block goes the next query.
func (p *prober) askBlock(ctx context.Context, due []int, block, from, to int) ([]int, error) {
	const mostBytes = 4 << 20
	rows, dim := to-from, p.job.pop.Dim()
	if block == 0 {
		rows++
	}
	most, unclear := max(1, min(host.MaxAnswers, mostBytes/(8*dim))/rows), due[:0]
	for len(due) > 0 {
		group := due[:min(most, len(due))]
		due = due[len(group):]
		p.resize(len(group)*rows, dim)
		for i, j := range group {
			at := i * rows
			p.counts[j] = uint32(rows)
			p.draw(j, block, p.x[at*dim:(at+rows)*dim], p.y[at:at+rows], p.w[at:at+rows])
		}
		x := p.x
		p.slot.inPlugin.start()
		answers, faults, err := p.host.Step(ctx, p.counts, func(to []float64) { x = x[copy(to, x):] })
		p.slot.inPlugin.stop()
		if err != nil {
			return nil, err
		}
		p.scores.fault(faults)
		for i, j := range group {
			p.counts[j] = 0
			lo, hi := i*rows, (i+1)*rows
			if !p.scores.failed(j) && !p.score(j, block, to, answers[lo:hi], p.y[lo:hi], p.w[lo:hi]) {
				unclear = append(unclear, j)
			}
		}
	}
	return unclear, nil
}

// resize makes room for that many points.
func (p *prober) resize(rows, dim int) {
	p.x, p.y, p.w = resized(p.x, rows*dim), resized(p.y, rows), resized(p.w, rows)
	if p.counts == nil {
		p.counts = make([]uint32, len(p.list))
	}
}

// draw draws the points of a block for a trial, with their labels and weights. In the first block
// the next query, which has weight 0, takes a place that is drawn too.
func (p *prober) draw(j, block int, x, y, w []float64) {
	q, dim, rows := &p.list[j], p.job.pop.Dim(), len(y)
	if block == 0 {
		rows--
	}
	if p.sizes == nil {
		p.begin(j, trial.Target, trial.TestPoints)
		p.job.drawer.Test(x[:rows*dim], y[:rows], w[:rows])
	} else {
		p.drawBlock(j, block, x[:rows*dim], y[:rows])
		for i := range w {
			w[i] = 1
		}
	}
	if block > 0 {
		return
	}
	if !q.known {
		q.query = resized(q.query, dim)
		q.truth, q.known = q.adversary.Next(q.query), true
	}
	q.place = rand.New(&q.places).IntN(rows + 1)
	copy(x[rows*dim:], x[q.place*dim:(q.place+1)*dim])
	copy(x[q.place*dim:], q.query)
	y[rows], w[rows] = y[q.place], w[q.place]
	y[q.place], w[q.place] = q.truth, 0
}

// drawBlock draws the points of a block from the law, the same each time.
func (p *prober) drawBlock(j, block int, x, y []float64) {
	q := &p.list[j]
	if len(q.begins) == 0 {
		q.begins = append(q.begins, rand.PCG{})
		q.begins[0].Seed(p.dataSeed(trial.States, j))
	}
	p.target.Seed(p.dataSeed(trial.Target, j))
	p.points = q.begins[block]
	p.drawer.Begin(problem.Streams{Target: &p.target, TestPoints: &p.points})
	p.drawer.Draw(x, y)
	if len(q.begins) == block+1 {
		q.begins = append(q.begins, p.points)
	}
}

// score takes the answers of a state to a block, of which it has answered the points up to asked,
// and reports whether its error is known as well as need be.
func (p *prober) score(j, block, asked int, answers, y, w []float64) bool {
	q := &p.list[j]
	if block == 0 {
		q.sum, q.compared, q.said = 0, true, answers[q.place]
	}
	q.sum += populationError(answers, y, w)
	e := q.sum
	if p.sizes != nil {
		e = q.sum / float64(asked)
		unclear := q.reported > 0 || float64(asked)*numeric.Divergence(e, p.goal) < clearly
		if unclear && block < len(p.sizes)-1 {
			return false
		}
	}
	if q.reported > 0 {
		q.afterHard[q.reported-1] = e
	}
	q.states++
	q.worst = max(q.worst, e)
	return true
}

// compare compares the label that answered a query with what the state before it had said, if it
// was asked. A state may say a mean: then the expectation of the disagreement is 0 if the label has
// that mean, and it is 0 or 1 where the state says a label.
func (q *probed) compare(label float64) {
	if q.compared {
		q.compared = false
		q.comparisons++
		q.apart += float64(q.said*(q.said-label)) / 2
	}
}

// disagreement returns the share of the compared queries that were not answered as the state before
// them would; NaN if none was compared.
func (q *probed) disagreement() float64 {
	if q.comparisons == 0 {
		return math.NaN()
	}
	return max(0, q.apart/float64(q.comparisons))
}

// verdict returns the error that counts for the trial: that of its worst state, and not less than
// what makes a failure of a trial whose disagreement is above alpha.
func (q *probed) verdict(final, above float64) float64 {
	e := max(final, q.worst)
	if d := q.disagreement(); d > 0 {
		e = max(e, above+d)
	}
	return e
}
