package prediction

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// thresholds is Algorithm 3 for the thresholds: x is labeled +1 if x >= t. The hard queries
// restrict t to lo..hi.
//
// A block's hypothesis is the minimizer of its errors in lo..hi that is nearest to the middle
// (rounded down) of its first interval of minimizers in all of 0..last. If two are equally near, it
// is the lower one. In a block that some threshold labels without error, the hypothesis is the
// middle clamped to lo..hi.
type thresholds struct {
	defaults
	lo, hi float64
	blocks []thresholdBlock // sorted by middle; t in fit is then sorted except for blocks with errors
	t      []float64        // the k thresholds, sorted
}

// A thresholdBlock is the summary of a block for thresholds.
type thresholdBlock struct {
	middle float64
	steps  []step // nil if some threshold makes no error
}

// A step is an interval of thresholds, first..last, with equal errors.
type step struct {
	first, last float64
	errors      int
}

// newThresholds makes the generator of the thresholds 0..domain, without the last one if noConstant
// is set.
func newThresholds(blocks []block, domain uint64, noConstant bool) *thresholds {
	g := &thresholds{
		hi:     float64(domain),
		blocks: make([]thresholdBlock, len(blocks)), t: make([]float64, len(blocks)),
	}
	if noConstant {
		g.hi--
	}
	var line line
	var steps []step
	for i, b := range blocks {
		line.reset(b.x, b.y)
		steps = line.steps(steps[:0], g.hi)
		best := 0
		for j, s := range steps {
			if s.errors < steps[best].errors {
				best = j
			}
		}
		end := best
		for end+1 < len(steps) && steps[end+1].errors == steps[best].errors {
			end++
		}
		g.blocks[i].middle = math.Floor((steps[best].first + steps[end].last) / 2)
		if steps[best].errors > 0 {
			g.blocks[i].steps = slices.Clone(steps)
		}
	}
	slices.SortFunc(g.blocks, func(a, b thresholdBlock) int { return cmp.Compare(a.middle, b.middle) })
	g.fit()
	return g
}

// steps appends the steps of the thresholds 0..last to list, in order.
func (l *line) steps(list []step, last float64) []step {
	errors := 0
	for _, w := range l.weights {
		errors -= min(w, 0)
	}
	errors += l.both // the threshold 0 labels every point +1
	first := 0.0
	for j, v := range l.values {
		list = append(list, step{first, v, errors})
		first = v + 1
		errors += l.weights[j]
	}
	if first <= last {
		list = append(list, step{first, last, errors})
	}
	return list
}

func (g *thresholds) fit() {
	for i, b := range g.blocks {
		g.t[i] = min(max(b.middle, g.lo), g.hi)
		if b.steps != nil {
			g.t[i] = nearest(b.steps, b.middle, g.lo, g.hi)
		}
	}
	slices.Sort(g.t)
}

// nearest returns the threshold of lo..hi with the fewest errors that is nearest to middle.
func nearest(steps []step, middle, lo, hi float64) float64 {
	best, fewest := lo, math.MaxInt
	for _, s := range steps {
		first, last := max(s.first, lo), min(s.last, hi)
		if first > last {
			continue
		}
		t := min(max(middle, first), last)
		if s.errors < fewest || s.errors == fewest && math.Abs(t-middle) < math.Abs(best-middle) {
			best, fewest = t, s.errors
		}
	}
	return best
}

func (g *thresholds) votes(x []float64) int { return upTo(g.t, x[0]) }

// upTo returns how many of the sorted numbers are at most v.
func upTo(sorted []float64, v float64) int {
	return sort.SearchFloat64s(sorted, math.Nextafter(v, math.Inf(1)))
}

// hard implements generator: it keeps the thresholds that label x so, or all if there are none.
func (g *thresholds) hard(x []float64, label float64) error {
	lo, hi := g.lo, g.hi
	if label > 0 {
		hi = min(hi, x[0])
	} else {
		lo = max(lo, x[0]+1)
	}
	if lo <= hi {
		g.lo, g.hi = lo, hi
		g.fit()
	}
	return nil
}

// public implements generator: it answers by the middle threshold of lo..hi.
func (g *thresholds) public(x []float64) float64 { return labelOf(x[0] >= math.Floor((g.lo+g.hi)/2)) }
