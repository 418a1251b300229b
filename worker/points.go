package worker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// drawnPoints provides independent points of the problem's distribution, drawn when they are asked. They need no other
// order, so a point's place is its number.
type drawnPoints struct {
	*evaluation
	y       []float64  // labels, by trial of the group and number
	streams []rand.PCG // streams of the points not yet drawn, by trial of the group
	len     int
}

func (d *drawnPoints) begin(e *evaluation) (places, steps, trials int) {
	d.evaluation, d.len = e, e.job.drawer.TestLen()
	steps, trials = chunks, messagePoints/d.len
	if e.rule.looks != nil { // most trials end before their last point
		steps, trials = steps+len(e.rule.looks)-1, 4*messagePoints/d.len
	}
	trials = max(1, min(trials, e.trials()))
	d.y, d.streams = resized(d.y, trials*d.len), resized(d.streams, trials)
	return d.len, steps, trials
}

func (d *drawnPoints) arrange(_, j int, spans []span) {
	first := d.len
	if d.rule.looks != nil {
		first = d.rule.looks[0]
		d.rule.spans(spans[chunks:])
	}
	cutChunks(spans[:chunks], first, d.orderStream(j))
}

// fill draws the next points of a trial. Other trials may have drawn points since the last call.
func (d *drawnPoints) fill(i, j, place int, x []float64) {
	stream := &d.slot.streams[trial.TestPoints]
	if place == 0 {
		d.session.beginTrial(j, trial.Target, trial.TestPoints)
	} else {
		d.session.beginTrial(j, trial.Target)
		*stream = d.streams[i]
	}
	n := len(x) / d.job.pop.Dim()
	d.job.drawer.Test(x, part(d.y, i, d.len)[place:place+n], nil)
	d.streams[i] = *stream
}

func (d *drawnPoints) score(i, j int, answers []float64) {
	d.scoreAnswers(j, answers, part(d.y, i, d.len))
}

// look applies the sequential rule after step k, if a look is due then. It reports whether all trials of the group are
// done.
func (d *drawnPoints) look(k int) (done bool) {
	if d.rule.looks == nil || k < chunks-1 {
		return false
	}
	for i, j := range d.group {
		if !d.scores.failed(j) {
			d.rule.look(k-chunks+1, j, part(d.answers, i, d.len), part(d.y, i, d.len), d.scores)
		}
	}
	return !slices.ContainsFunc(d.group, func(j int) bool { return !d.scores.failed(j) && !d.rule.done(j) })
}

// listedPoints provides points whose order could reveal the target: all points of a small support, rows of data that
// are transformed for each trial, and any points in a shuffled recheck. Each trial is asked in a random order. A
// shuffled recheck first asks about some points one by one.
type listedPoints struct {
	*evaluation
	len    int
	alone  int       // number of points that are asked one by one
	common []float64 // the points if all trials share them; otherwise nil
	points []float64 // points by trial of the group and number; empty for common points and rows
	y      []float64 // labels, by trial of the group and number; empty for rows
	order  []int32   // point numbers, by trial of the group and place
	sorted []float64 // answers of one trial, by number
}

func (l *listedPoints) begin(e *evaluation) (places, steps, trials int) {
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
	if !recheck { // rechecks use larger groups, for fewer messages with single points
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

func (l *listedPoints) arrange(i, j int, spans []span) {
	if l.job.pop.rows == nil {
		l.session.beginTrial(j, trial.Target, trial.TestPoints)
		var x []float64
		if l.common == nil {
			x = part(l.points, i, l.len*l.job.pop.Dim())
		}
		l.job.drawer.Test(x, part(l.y, i, l.len), nil)
	}
	r, order := l.orderStream(j), part(l.order, i, l.len+l.alone)
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

func (l *listedPoints) fill(i, _, place int, x []float64) {
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

func (l *listedPoints) score(i, j int, answers []float64) {
	order, y := part(l.order, i, l.len+l.alone), l.job.pop.Labels()
	for place := l.alone; place < len(order); place++ {
		l.sorted[order[place]] = answers[place]
	}
	l.compareAlone(j, answers[:l.alone], order)
	if l.job.pop.rows == nil {
		y = part(l.y, i, l.len)
	}
	l.scoreAnswers(j, l.sorted, y)
}

// blockBytes is the maximal size of the rows of one step. It is smaller than a core's cache, so that the first trial of
// a group reads the rows from memory and the others from the cache. A message costs much less than reading a block.
// Tests change it.
var blockBytes = 1 << 20

// sharedRows provides the rows of real data from the shared table. All trials of a data key share the order of the
// rows, and all trials of one n share the chunks.
type sharedRows struct {
	*evaluation
	sorted []float64 // answers of one trial, by row of the data
	block  int       // maximal number of rows in one step
}

func (r *sharedRows) begin(e *evaluation) (places, steps, trials int) {
	const readers = 16 // trials that read a table too large for a cache together
	r.evaluation, places = e, e.job.drawer.TestLen()
	r.block = max(1, blockBytes/(8*e.job.pop.Dim()))
	r.sorted = resized(r.sorted, places)
	return places, chunks + places/r.block, max(messagePoints/places, min(readers, groupNumbers/places))
}

func (r *sharedRows) arrange(_, _ int, spans []span) {
	seed := new(rand.PCG)
	seed.Seed(trial.Seed(r.job.Cell.DataKey, trial.Order, uint64(r.job.N), trial.AllRepetitions))
	random := rand.New(seed)
	cutChunks(spans[:chunks], len(r.sorted), random)
	random.Shuffle(chunks, func(a, b int) { spans[a], spans[b] = spans[b], spans[a] })
	divideSpans(spans, r.block)
}

// fill is not used: the plugin has the table.
func (r *sharedRows) fill(int, int, int, []float64) { panic("worker: points of a shared table") }

func (r *sharedRows) score(_, j int, answers []float64) {
	for row, place := range r.job.pop.Places() {
		r.sorted[row] = answers[place]
	}
	r.scoreAnswers(j, r.sorted, r.job.pop.Labels())
}

// askedAlone is the number of points per trial that a shuffled recheck asks one by one.
const askedAlone = 32

// compareAlone fails a trial unless its answers to points asked one by one equal its other answers to the same points,
// bit for bit. order begins with the numbers of these points.
func (l *listedPoints) compareAlone(trial int, alone []float64, order []int32) {
	for place, a := range alone {
		l.scores.compareAlone(trial, int(order[place]), l.len, a, l.sorted[order[place]])
	}
}

// compareAlone fails a trial unless its answer to a point that is asked alone equals the one among other points, bit
// for bit. number is the point's index among total points.
func (s *scores) compareAlone(trial, number, total int, alone, among float64) {
	if math.Float64bits(alone) != math.Float64bits(among) && !s.failed(trial) {
		s.fail(trial, "recheck", fmt.Sprintf(
			"answers depend on other points: point %d of %d is answered %v when it is asked alone, and %v among others",
			number+1, total, alone, among))
	}
}

// chunks is the number of chunks in which a trial's points are asked.
const chunks = 3

// A span is the range from..to-1 of places.
type span struct{ from, to int32 }

func (s span) len() int { return int(s.to - s.from) }

// cutChunks divides n places into consecutive spans of random lengths, each at most two thirds of n, rounded up. For n
// below 3 some are empty. The length of spans must be chunks.
func cutChunks(spans []span, n int, r *rand.Rand) {
	a, b := n/6+r.IntN(n/3+1), n/2+r.IntN(n/3+1)
	spans[0], spans[1], spans[2] = span{0, int32(a)}, span{int32(a), int32(b)}, span{int32(b), int32(n)}
}

// divideSpans divides the chunks at the start of spans into spans of at most size places, in order. The remaining spans
// are empty. The length of spans must be at least chunks + places/size.
func divideSpans(spans []span, size int) {
	cut, next := [chunks]span(spans), 0
	clear(spans)
	for _, c := range cut {
		for ; c.len() > 0; c.from = spans[next-1].to {
			spans[next] = span{c.from, min(c.to, c.from+int32(size))}
			next++
		}
	}
}

func shuffle(order []int32, r *rand.Rand) {
	r.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
}
