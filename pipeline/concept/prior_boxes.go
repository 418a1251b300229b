package concept

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The sizes of an estimate of the Prior. Its standard error is at most one percentage point.
const (
	priorTargets    = 2500    // drawn targets
	priorAnswers    = 32      // other drawn targets, compared as answers
	priorShrunk     = 8       // answers of different sizes around the mean of all targets
	maxClimbed      = 8       // number of coordinates in which the search moves the ends of a box
	maxPriorNumbers = 1 << 22 // coordinates of all drawn targets
)

// estimatePrior estimates the Prior of a class whose targets are boxes, by targets drawn from a
// fixed stream. It compares these answers: the constants, some drawn targets, and boxes around
// the mean of the targets. It then improves the best of them in up to maxClimbed coordinates,
// moving one end at a time as long as more targets come near. Another hypothesis may do better.
// It returns false for other classes, and if the boxes have too many coordinates.
func estimatePrior(s Spec, distribution Drawn, ok Allowed) (Prior, bool) {
	sample := boxesOf(priorCase{s, distribution})
	if sample == nil {
		return Prior{}, false
	}
	near := func(a region) float64 {
		count := 0
		for i := range sample.targets {
			if ok(a.differ(&sample.targets[i], sample.side)) {
				count++
			}
		}
		return float64(count) / float64(len(sample.targets))
	}
	start, best := sample.answers[0], -1.0
	for _, b := range sample.answers {
		if share := near(regionOf(b)); share > best {
			start, best = b, share
		}
	}
	if len(start.Low) <= maxClimbed {
		start, best = start.climb(best, func(b *Box) float64 { return near(regionOf(b)) })
	}
	answer := Prior{Success: -1}
	for _, c := range []region{{}, {share: 1}} { // -1 everywhere and +1 everywhere
		if share := near(c); share > answer.Success {
			answer = Prior{share, Constant{len(start.Low), 2*c.share - 1}}
		}
	}
	if best > answer.Success {
		answer = Prior{best, start}
	}
	return answer, true
}

// climb moves one end of b at a time while score increases from reached, the score of b, first in
// large steps and finally in single points. It returns the final box with its score.
func (b *Box) climb(reached float64, score func(*Box) float64) (*Box, float64) {
	for step := math.Exp2(math.Floor(math.Log2(max(1, b.top/8)))); step >= 1; step /= 2 {
		for improved := true; improved; {
			improved = false
			for j := range b.Low {
				for _, move := range []Range{{-step, 0}, {step, 0}, {0, -step}, {0, step}} {
					to := b.resized(0)
					to.Low[j], to.High[j] = to.Low[j]+move.Lo, to.High[j]+move.Hi
					if to.Low[j] < 0 || to.High[j] > b.top || to.Low[j] > to.High[j] {
						continue
					}
					if share := score(to); share > reached {
						b, reached, improved = to, share, true
					}
				}
			}
		}
	}
	return b, reached
}

// priorCase identifies the drawn targets of an estimate.
type priorCase struct {
	Spec
	Drawn
}

// boxSample holds the drawn targets of a class, and the boxes to compare as answers.
type boxSample struct {
	side    float64 // number of values of a coordinate
	targets []region
	answers []*Box
}

// boxesOf draws targets; nil if they are not boxes, or have too many coordinates.
var boxesOf = numeric.Remember(func(c priorCase) *boxSample {
	d, _ := Lookup(c.Name)
	if Width(c.Spec) > maxPriorNumbers/priorTargets {
		return nil
	}
	target := d.Random(c.Spec, c.Literals)
	if c.Uniform {
		makeTarget, err := uniformTargets(d, c.Spec)
		if err != nil {
			return nil
		}
		target = makeTarget()
	}
	b, isBox := target.(*Box)
	if !isBox {
		return nil
	}
	sample := &boxSample{side: float64(Side(c.Spec))}
	r, mean := rand.New(rand.NewPCG(1, 1)), wholeBox(len(b.Low), Side(c.Spec))
	clear(mean.High)
	for i := range priorTargets + priorAnswers {
		b.Begin(r)
		if i >= priorTargets { // no answer is compared with itself
			sample.answers = append(sample.answers, b.resized(0))
			continue
		}
		sample.targets = append(sample.targets, regionOf(b))
		for j := range mean.Low {
			mean.Low[j] += b.Low[j] / priorTargets
			mean.High[j] += b.High[j] / priorTargets
		}
	}
	for i := range priorShrunk {
		sample.answers = append(sample.answers, mean.resized(float64(i)/(2*priorShrunk)))
	}
	return sample
})

// resized returns b shrunk at both ends of each side by the given part of the side, in whole
// numbers.
func (b *Box) resized(part float64) *Box {
	to := &Box{Low: make([]float64, len(b.Low)), High: make([]float64, len(b.High)), top: b.top}
	for j, low := range b.Low {
		cut := float64(part * (b.High[j] - low))
		to.Low[j], to.High[j] = math.Round(low+cut), math.Round(b.High[j]-cut)
	}
	return to
}

// region is a box as a list of its limited coordinates. The zero value is the empty region.
type region struct {
	share  float64 // share of all points
	limits []bounds
}

// bounds holds the ends of a region in one coordinate.
type bounds struct {
	axis int
	Range
}

// regionOf returns the box as a region.
func regionOf(b *Box) region {
	a := region{share: 1}
	for j, low := range b.Low {
		if r := (Range{low, b.High[j]}); r.Lo > 0 || r.Hi < b.top {
			a.limits = append(a.limits, bounds{j, r})
			a.share *= max(0, r.Hi-r.Lo+1) / (b.top + 1)
		}
	}
	return a
}

// differ returns the share of the points in exactly one of the two regions. Each coordinate has
// side values.
func (a region) differ(b *region, side float64) float64 {
	if a.share == 0 || b.share == 0 {
		return a.share + b.share
	}
	common := 1.0
	for i, j := 0, 0; i < len(a.limits) || j < len(b.limits); {
		r := Range{0, side - 1}
		axis := func(list []bounds, k int) int {
			if k < len(list) {
				return list[k].axis
			}
			return 1 << 60
		}
		first := min(axis(a.limits, i), axis(b.limits, j))
		if axis(a.limits, i) == first {
			r, i = a.limits[i].Range, i+1
		}
		if axis(b.limits, j) == first {
			r.Lo, r.Hi, j = max(r.Lo, b.limits[j].Lo), min(r.Hi, b.limits[j].Hi), j+1
		}
		common *= max(0, r.Hi-r.Lo+1) / side
	}
	return a.share + b.share - 2*common
}
