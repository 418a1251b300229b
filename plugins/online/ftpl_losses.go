package online

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// A scratch is memory for the exclusive use of one call; its contents do not outlive the call.
type scratch struct {
	column []uint8
	counts []int32 // all 0 between calls
	levels []level
	c      []float64 // noise at the points of the separator
	work   []float64
	sums   []float64
}

// newScratch returns scratch for the listing of s.
func newScratch(s *site) *scratch {
	w := &scratch{column: make([]uint8, s.listing.size), sums: make([]float64, s.listing.size)}
	if s.separator != nil {
		w.c, w.work = make([]float64, s.separator.Len()), make([]float64, s.listing.work)
	}
	return w
}

// table is the chooser of a listed class. It stores the cumulative losses of all hypotheses.
type table struct {
	*site
	noise
	losses []int32   // loss of each hypothesis since the last restart
	past   []int32   // losses before the last restart; nil if there was none
	low    int32     // the least of losses
	high   int32     // the largest of losses
	kept   []float64 // noise of each hypothesis if it is drawn once
	best   int       // index of the hypothesis played, -1 before the first draw
	played concept.Hypothesis
	mean   []float64 // probability of each hypothesis if noise is exact (replaces played)

	scale  float64   // scale of the last draw
	score  float64   // score of the hypothesis played over scale, minus low at the last draw, if noise has a distribution
	points []float64 // noise at the separator if it is drawn in each round
	next   []float64 // probabilities after the last round at the same scale if noise is exact
	ready  bool      // whether next holds the result of the next draw at the same scale
}

// newTable makes a table. It draws the noise that is drawn once.
func newTable(at *site, n noise, r *rand.Rand) *table {
	t := &table{site: at, noise: n, losses: make([]int32, at.listing.size), best: -1}
	if !n.once {
		return t
	}
	t.kept = make([]float64, at.listing.size)
	if n.distribution == nil {
		t.sum(at.scratch, t.kept, r)
		return t
	}
	for i := range t.kept {
		t.kept[i] = n.distribution.draw(r)
	}
	return t
}

// sum draws noise at the separator and adds it up for every hypothesis.
func (t *table) sum(w *scratch, out []float64, r *rand.Rand) {
	t.fill(w.c, r)
	t.listing.sums(w.c, w.work, out)
}

func (t *table) observe(x []float64, y float64) (changed bool, moved float64, err error) {
	w := t.scratch
	t.listing.column(x, w.column)
	truth := uint8(0)
	if y > 0 {
		truth = 1
	}
	low := t.low
	wrong := t.add(w.column, truth)
	if wrong == 0 || wrong == t.listing.size {
		return false, 0, nil
	}
	return true, t.moved(w, low, truth), nil
}

// add counts a round, and returns the number of hypotheses that err in it.
func (t *table) add(column []uint8, truth uint8) (wrong int) {
	losses := t.losses[:len(column)]
	low, high := int32(math.MaxInt32), int32(0)
	for i, label := range column {
		miss := int32(label ^ truth)
		v := losses[i] + miss
		losses[i] = v
		wrong += int(miss)
		low, high = min(low, v), max(high, v)
	}
	t.low, t.high = low, high
	return wrong
}

func (t *table) restart() {
	if t.past == nil {
		t.past = make([]int32, len(t.losses))
	}
	for i, v := range t.losses {
		t.past[i] += v
	}
	clear(t.losses)
	t.low, t.high, t.ready = 0, 0, false
}

func (t *table) least() (int, error) { return int(t.low), nil }

func (t *table) overall() (int, error) {
	if t.past == nil {
		return int(t.low), nil
	}
	low := int32(math.MaxInt32)
	for i, v := range t.losses {
		low = min(low, v+t.past[i])
	}
	return int(low), nil
}

// draw implements chooser.
func (t *table) draw(scale float64, r *rand.Rand) error {
	w := t.scratch
	same := scale == t.scale
	t.scale = scale
	switch {
	case t.exact && t.ready && same:
		t.mean, t.next, t.ready = t.next, t.mean, false
		return nil
	case t.exact:
		t.mean, t.ready = t.average(w, scale, t.mean), false
		return nil
	case scale == 0:
		t.play(t.member(t.low, 0))
	case t.once:
		t.play(lowestSum(t.losses, t.kept, scale))
	case t.distribution != nil:
		levels := t.group(w, t.distribution.reach*scale)
		i, score := t.distribution.lead(levels, scale, r)
		v := levels[i]
		t.score = score
		t.play(t.member(t.low+int32(v.behind), r.IntN(v.count)))
	default:
		t.sum(w, w.sums, r)
		t.points = append(t.points[:0], w.c...)
		t.play(lowestSum(t.losses, w.sums, scale))
	}
	return nil
}

// play sets the hypothesis played to i.
func (t *table) play(i int) {
	if i != t.best {
		t.best, t.played = i, t.class.Member(uint64(i))
	}
}

// group counts the hypotheses by their loss. It omits hypotheses whose loss exceeds the least one
// by more than reach.
func (t *table) group(w *scratch, reach float64) []level {
	width := int(min(float64(t.high-t.low), reach)) + 1
	if len(w.counts) < width {
		w.counts = make([]int32, 2*width)
	}
	counts, low := w.counts[:width], t.low
	for _, v := range t.losses {
		if d := int(v - low); d < len(counts) {
			counts[d]++
		}
	}
	w.levels = w.levels[:0]
	for d, c := range counts {
		if c > 0 {
			w.levels = append(w.levels, level{float64(d), int(c)})
			counts[d] = 0
		}
	}
	return w.levels
}

// member returns the hypothesis of the given rank among those with the given loss.
func (t *table) member(loss int32, rank int) int {
	for i, v := range t.losses {
		if v == loss {
			if rank == 0 {
				return i
			}
			rank--
		}
	}
	return 0 // unreachable: the rank is below the count
}

// lowestSum returns the first i with the least losses[i] + scale sums[i].
func lowestSum(losses []int32, sums []float64, scale float64) int {
	best, bottom := 0, math.Inf(1)
	for i, v := range losses {
		if s := float64(v) + float64(scale*sums[i]); s < bottom {
			best, bottom = i, s
		}
	}
	return best
}

// average returns the probabilities of the hypotheses to be played, in mean if its capacity
// suffices.
func (t *table) average(w *scratch, scale float64, mean []float64) []float64 {
	if mean == nil {
		mean = make([]float64, len(t.losses))
	}
	clear(mean)
	if scale == 0 {
		mean[t.member(t.low, 0)] = 1
		return mean
	}
	levels := t.group(w, t.distribution.reach*scale)
	p := make([]float64, len(levels))
	shares(levels, scale, p)
	for i, v := range t.losses {
		for k, l := range levels {
			if float64(v-t.low) == l.behind {
				mean[i] = p[k]
			}
		}
	}
	return mean
}

func (t *table) predict(x, out []float64) {
	if t.mean == nil {
		t.played.Labels(x, out)
		return
	}
	w := t.scratch
	d := t.class.Dim()
	for i := range out {
		t.listing.column(x[i*d:(i+1)*d], w.column)
		plus, minus := 0.0, 0.0
		for f, label := range w.column {
			if label == 1 {
				plus += t.mean[f]
			} else {
				minus += t.mean[f]
			}
		}
		out[i] = max(-1, min(1, plus-minus))
	}
}
