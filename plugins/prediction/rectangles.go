package prediction

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// rectangles is Algorithm 3 for the products of p intervals and the empty set; for p = 1 they are
// the intervals. A rectangle agrees with the hard queries if it covers the hull of those with coin
// +1 and contains none of those with coin -1. There is such a rectangle as long as the hull itself
// agrees.
//
// A block's hypothesis has the fewest errors for p <= 2, for all labels (see line and plane). For p
// > 2 it comes from searcher, which is exact unless it runs out of steps. If the errors do not
// determine the ends, they are placed in the middle, as with thresholds; see widen.
type rectangles struct {
	defaults
	dim    int     // p
	last   float64 // the domain's last point
	blocks []block
	must   box          // hull of the hard queries with coin +1
	banned [][]float64  // the hard queries with coin -1, sorted on the last axis
	boxes  []box        // each block's hypothesis
	ends   [2][]float64 // p = 1: the sorted left and right ends of the nonempty intervals

	searcher searcher
}

// A box has one span for each axis. It is empty if the first one is.
type box []span

func emptyBox(dim int) box {
	b := make(box, dim)
	for j := range b {
		b[j] = emptySpan()
	}
	return b
}

func (b box) empty() bool { return b[0].empty() }

func (b box) holds(x []float64) bool {
	for j, s := range b {
		if !s.holds(x[j]) {
			return false
		}
	}
	return true
}

// add replaces b by the hull of b and x.
func (b box) add(x []float64) {
	for j := range b {
		b[j] = b[j].with(x[j])
	}
}

// newRectangles makes the generator of the rectangles over 0..domain-1.
func newRectangles(blocks []block, domain uint64, dim int) *rectangles {
	g := &rectangles{
		dim: dim, last: float64(domain - 1), blocks: blocks, must: emptyBox(dim), boxes: make([]box, len(blocks)),
	}
	for i := range g.boxes {
		g.boxes[i] = emptyBox(dim)
	}
	g.fit()
	return g
}

func (g *rectangles) fit() {
	var line line
	var plane plane
	for i, b := range g.blocks {
		switch g.dim {
		case 1:
			line.reset(b.x, b.y)
			g.boxes[i][0], _ = best(line.values, line.weights, g.must[0], flat(g.banned))
		case 2:
			plane.reset(b)
			plane.best(g.boxes[i], g.must, g.banned)
		default:
			g.searcher.best(g.boxes[i], b, g.must, g.banned)
		}
		g.widen(g.boxes[i], b)
	}
	if g.dim == 1 {
		g.sortEnds()
	}
}

func (g *rectangles) inexact() int { return g.searcher.inexact }

// widen moves the ends of a nonempty box outwards, axis by axis, to the middle, rounded towards the
// box, of the range in which they add no example or banned point.
func (g *rectangles) widen(b box, sample block) {
	if b.empty() {
		return
	}
	for j := range b {
		free := span{0, g.last}
		bound := func(x []float64) {
			for l, s := range b {
				if l != j && !s.holds(x[l]) {
					return
				}
			}
			if x[j] < b[j].lo {
				free.lo = max(free.lo, x[j]+1)
			} else if x[j] > b[j].hi {
				free.hi = min(free.hi, x[j]-1)
			}
		}
		for i := range sample.y {
			bound(sample.x[i*g.dim : (i+1)*g.dim])
		}
		for _, z := range g.banned {
			bound(z)
		}
		b[j] = span{math.Ceil((free.lo + b[j].lo) / 2), math.Floor((b[j].hi + free.hi) / 2)}
	}
}

// flat returns the first coordinate of each point.
func flat(points [][]float64) []float64 {
	out := make([]float64, len(points))
	for i, x := range points {
		out[i] = x[0]
	}
	return out
}

func (g *rectangles) sortEnds() {
	g.ends[0], g.ends[1] = g.ends[0][:0], g.ends[1][:0]
	for _, b := range g.boxes {
		if !b.empty() {
			g.ends[0], g.ends[1] = append(g.ends[0], b[0].lo), append(g.ends[1], b[0].hi)
		}
	}
	slices.Sort(g.ends[0])
	slices.Sort(g.ends[1])
}

func (g *rectangles) votes(x []float64) int {
	if g.dim == 1 { // spans that begin at or before x, minus spans that end before it
		return upTo(g.ends[0], x[0]) - sort.SearchFloat64s(g.ends[1], x[0])
	}
	n := 0
	for _, b := range g.boxes {
		if b.holds(x) {
			n++
		}
	}
	return n
}

// hard implements generator: it keeps the rectangles that label x so, or all if there are none.
func (g *rectangles) hard(x []float64, label float64) error {
	must := slices.Clone(g.must)
	banned := g.banned
	if label > 0 {
		must.add(x)
	} else {
		banned = append(slices.Clone(banned), slices.Clone(x))
	}
	for _, z := range banned {
		if must.holds(z) {
			return nil
		}
	}
	last := g.dim - 1
	slices.SortFunc(banned, func(a, b []float64) int { return cmp.Compare(a[last], b[last]) })
	g.must, g.banned = must, banned
	g.fit()
	return nil
}

// public implements generator: it answers by the smallest rectangle that agrees with the hard
// queries.
func (g *rectangles) public(x []float64) float64 { return labelOf(g.must.holds(x)) }

// plane finds the best rectangle for a sample in the plane. For all spans of first coordinates,
// extended to the right, it finds the best span of second ones, in O(k_0^2 k_1) steps for k_0 and
// k_1 distinct coordinates.
type plane struct {
	b       block
	byFirst []int     // the examples, ordered by first coordinate
	seconds []float64 // distinct second coordinates, ascending
	rank    []int     // rank of each example's second coordinate
	weights []int     // per second coordinate, weight of the examples in the current span
	firsts  []float64 // possible ends of a span of first coordinates
	bans    []float64 // second coordinates of the banned points in the current span
}

// reset replaces the sample.
func (p *plane) reset(b block) {
	p.b = b
	n := len(b.y)
	p.byFirst, p.seconds, p.rank = p.byFirst[:0], p.seconds[:0], p.rank[:0]
	for i := range n {
		p.byFirst, p.seconds = append(p.byFirst, i), append(p.seconds, b.x[2*i+1])
	}
	slices.SortFunc(p.byFirst, func(i, j int) int { return cmp.Compare(b.x[2*i], b.x[2*j]) })
	slices.Sort(p.seconds)
	p.seconds = slices.Compact(p.seconds)
	for i := range n {
		p.rank = append(p.rank, sort.SearchFloat64s(p.seconds, b.x[2*i+1]))
	}
	p.weights = slices.Grow(p.weights[:0], len(p.seconds))[:len(p.seconds)]
}

// best finds the rectangle with the fewest errors among those that cover must and contain no banned
// point. It writes the hull of must and of the rectangle's +1 examples to out.
func (p *plane) best(out, must box, banned [][]float64) {
	p.firsts = p.firsts[:0]
	for i := range p.b.y {
		p.firsts = append(p.firsts, p.b.x[2*i])
	}
	most, first, found := math.MinInt, emptySpan(), emptySpan()
	if must.empty() {
		most = 0
	} else {
		p.firsts = append(p.firsts, must[0].lo, must[0].hi)
	}
	slices.Sort(p.firsts)
	p.firsts = slices.Compact(p.firsts)
	for i, lo := range p.firsts {
		if lo > must[0].lo {
			break
		}
		clear(p.weights)
		next := sort.Search(len(p.byFirst), func(i int) bool { return p.b.x[2*p.byFirst[i]] >= lo })
		for _, hi := range p.firsts[i:] {
			for ; next < len(p.byFirst) && p.b.x[2*p.byFirst[next]] <= hi; next++ {
				e := p.byFirst[next]
				p.weights[p.rank[e]] += int(p.b.y[e])
			}
			strip := span{lo, hi}
			if !must.empty() && !strip.covers(must[0]) {
				continue
			}
			if !p.ban(strip, must[1], banned) {
				break // a banned point is in must, hence in all wider strips too
			}
			if s, sum := best(p.seconds, p.weights, must[1], p.bans); sum > most {
				most, first, found = sum, strip, s
			}
		}
	}
	shrink(out, box{first, found}, must, p.b)
}

// ban sets p.bans to the second coordinates of the banned points in a strip. It returns false if
// one of them is in must.
func (p *plane) ban(strip, must span, banned [][]float64) bool {
	p.bans = p.bans[:0]
	for _, z := range banned {
		if strip.holds(z[0]) {
			if must.holds(z[1]) {
				return false
			}
			p.bans = append(p.bans, z[1])
		}
	}
	return true
}

// shrink writes to out the hull of must and of the +1 examples in b.
func shrink(out, b, must box, sample block) {
	copy(out, must)
	dim := len(b)
	for i, y := range sample.y {
		if x := sample.x[i*dim : (i+1)*dim]; y > 0 && b.holds(x) {
			out.add(x)
		}
	}
}
