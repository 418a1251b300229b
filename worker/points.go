package worker

import (
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// drawn are independent points of the problem's distribution, drawn when they are asked about. They are
// in random order already: their places are their numbers.
type drawn struct {
	*evaluation
	y       []float64  // labels, by trial of the group and number
	streams []rand.PCG // of the points that are still to be drawn, by trial of the group
	len     int
}

func (d *drawn) begin(e *evaluation) (places, steps, trials int) {
	d.evaluation, d.len = e, e.job.drawer.TestLen()
	steps, trials = chunks, messagePoints/d.len
	if e.rule.looks != nil { // most trials are asked about a part of their points
		steps, trials = steps+len(e.rule.looks)-1, 4*messagePoints/d.len
	}
	trials = max(1, min(trials, e.trials()))
	d.y, d.streams = resized(d.y, trials*d.len), resized(d.streams, trials)
	return d.len, steps, trials
}

func (d *drawn) arrange(_, j int, spans []span) {
	first := d.len
	if d.rule.looks != nil {
		first = d.rule.looks[0]
		d.rule.spans(spans[chunks:])
	}
	cutChunks(spans[:chunks], first, d.arranger(j))
}

// fill draws the next points. Those of other trials may have been drawn since the last ones.
func (d *drawn) fill(i, j, place int, x []float64) {
	stream := &d.slot.streams[trial.TestPoints]
	if place == 0 {
		d.session.begin(j, trial.Target, trial.TestPoints)
	} else {
		d.session.begin(j, trial.Target)
		*stream = d.streams[i]
	}
	n := len(x) / d.job.pop.Dim()
	d.job.drawer.Test(x, part(d.y, i, d.len)[place:place+n], nil)
	d.streams[i] = *stream
}

func (d *drawn) score(i, j int, answers []float64) { d.judge(j, answers, part(d.y, i, d.len)) }

// look takes the look of the sequential rule that is due after step k, if one is, at the trials of the group. It
// reports whether all of them have ended.
func (d *drawn) look(k int) (done bool) {
	if d.rule.looks == nil || k < chunks-1 {
		return false
	}
	for i, j := range d.group {
		if !d.scores.failed(j) {
			d.rule.look(k-chunks+1, j, part(d.answers, i, d.len), part(d.y, i, d.len), d.scores)
		}
	}
	return !slices.ContainsFunc(d.group, func(j int) bool { return !d.scores.failed(j) && !d.rule.ended(j) })
}

// listed are points whose order would tell something about the target: all points of a small
// distribution, rows of data that look different in each trial, and any points in a shuffled recheck. Each
// trial is asked about them in a random order. A shuffled recheck asks about some of them one by one before
// the others.
type listed struct {
	*evaluation
	len    int
	alone  int       // points that are asked about one by one
	common []float64 // the points, if all trials have the same; otherwise nil
	points []float64 // by trial of the group and number; empty where common, and for rows
	y      []float64 // labels, by trial of the group and number; empty for rows
	order  []int32   // number of the point, by trial of the group and place
	sorted []float64 // the answers of one trial, by number
}

func (l *listed) begin(e *evaluation) (places, steps, trials int) {
	recheck, pop := e.job.Recheck == trial.RecheckShuffled, e.job.pop
	l.evaluation, l.len, l.alone, l.common = e, e.job.drawer.TestLen(), 0, nil
	if recheck {
		l.alone = min(askedAlone, l.len)
	}
	if pop.Exact() && pop.Labels() == nil {
		l.common = pop.Points()
	}
	places = l.len + l.alone
	trials = groupNumbers / ((pop.Dim() + 3) * places)
	if !recheck { // few messages for the points that are asked about one by one
		trials = min(trials, messagePoints/places)
	}
	trials = max(1, min(trials, e.trials()))
	l.sorted, l.order = resized(l.sorted, l.len), resized(l.order, trials*places)
	if pop.rows == nil {
		l.y = resized(l.y, trials*l.len)
		if l.common == nil {
			l.points = resized(l.points, trials*l.len*pop.Dim())
		}
	}
	return places, chunks + l.alone, trials
}

func (l *listed) arrange(i, j int, spans []span) {
	if l.job.pop.rows == nil {
		l.session.begin(j, trial.Target, trial.TestPoints)
		var x []float64
		if l.common == nil {
			x = part(l.points, i, l.len*l.job.pop.Dim())
		}
		l.job.drawer.Test(x, part(l.y, i, l.len), nil)
	}
	r, order := l.arranger(j), part(l.order, i, l.len+l.alone)
	for number := range l.len {
		order[l.alone+number] = int32(number)
	}
	if l.alone > 0 {
		shuffle(order[l.alone:], r)
		copy(order, order[l.alone:][:l.alone])
	}
	shuffle(order[l.alone:], r)
	for k := range l.alone {
		spans[k] = span{int32(k), int32(k + 1)}
	}
	cut := spans[l.alone:]
	cutChunks(cut, l.len, r)
	for k := range cut {
		cut[k].from, cut[k].to = cut[k].from+int32(l.alone), cut[k].to+int32(l.alone)
	}
}

func (l *listed) fill(i, _, place int, x []float64) {
	dim, points := l.job.pop.Dim(), l.common
	if points == nil && l.job.pop.rows == nil {
		points = part(l.points, i, l.len*dim)
	}
	for k, number := range part(l.order, i, l.len+l.alone)[place : place+len(x)/dim] {
		if points == nil {
			copy(x[k*dim:(k+1)*dim], l.job.pop.Row(int(number)))
		} else {
			copy(x[k*dim:(k+1)*dim], points[int(number)*dim:])
		}
	}
}

func (l *listed) score(i, j int, answers []float64) {
	order, y := part(l.order, i, l.len+l.alone), l.job.pop.Labels()
	for place := l.alone; place < len(order); place++ {
		l.sorted[order[place]] = answers[place]
	}
	l.compareAlone(j, answers[:l.alone], order)
	if l.job.pop.rows == nil {
		y = part(l.y, i, l.len)
	}
	l.judge(j, l.sorted, y)
}

// blockBytes is the size of the part of a shared table that one step is about. The trials of a group answer one
// after the other: a large table is read from memory once for all of them, and then from the cache of the
// core, which is larger. A message costs much less than reading a block. A variable for tests.
var blockBytes = 1 << 20

// rows are those of real data. They lie in the shared table, in an order that all trials of a data key
// have in common, and all trials of one n have the chunks in common: a table of its own would cost a
// trial more than its answers.
type rows struct {
	*evaluation
	sorted []float64 // the answers of one trial, by row of the data
	block  int       // most rows in one step
}

func (r *rows) begin(e *evaluation) (places, steps, trials int) {
	const readers = 16 // of a table too large for a cache
	r.evaluation, places = e, e.job.drawer.TestLen()
	r.block = max(1, blockBytes/(8*e.job.pop.Dim()))
	r.sorted = resized(r.sorted, places)
	return places, chunks + places/r.block, max(messagePoints/places, min(readers, groupNumbers/places))
}

func (r *rows) arrange(_, _ int, spans []span) {
	seed := new(rand.PCG)
	seed.Seed(trial.Seed(r.job.Cell.DataKey, trial.Order, uint64(r.job.N), trial.Everyone))
	random := rand.New(seed)
	cutChunks(spans[:chunks], len(r.sorted), random)
	random.Shuffle(chunks, func(a, b int) { spans[a], spans[b] = spans[b], spans[a] })
	divide(spans, r.block)
}

// fill is not used: the plugin has the table.
func (r *rows) fill(int, int, int, []float64) { panic("worker: points of a shared table") }

func (r *rows) score(_, j int, answers []float64) {
	for row, place := range r.job.pop.Places() {
		r.sorted[row] = answers[place]
	}
	r.judge(j, r.sorted, r.job.pop.Labels())
}
