package estimate

import "math"

// A growth is one way in which the success rate may grow with the sample. At ln n = x it is
// floor + (1 - floor) logistic(offset + slope (x - crossing)), which is Target at n = e^crossing.
type growth struct {
	crossing, slope float64
	floor           float64 // success rate of guessing
	offset          float64
	weight          float64 // the weights of all growths add up to 1
}

// rates returns the probabilities of success and of a miss at ln n = x. Success is at least as
// likely as Target if crossing <= x, and less likely otherwise. Both stay away from 0.
func (g *growth) rates(x float64) (success, miss float64) {
	const far = 8
	odds := math.Exp(g.offset + min(far, max(-far, float64(g.slope*(x-g.crossing)))))
	miss = (1 - g.floor) / (1 + odds)
	return g.floor + float64(miss*odds), miss
}

// A belief is what a search takes for likely: growths, weighed by the trials read so far. It
// chooses sizes and stakes. That a bracket holds does not depend on it.
type belief struct {
	growths        []growth
	center, spread float64 // mean and standard deviation of ln n*
	likeliest      int     // index of the likeliest growth; it saves time and changes nothing
}

const (
	growthPlaces = 9    // number of values of ln n*
	growthSlopes = 7    // number of slopes, from leastSlope on, doubling
	growthFloors = 2    // number of floors
	sharedWeight = 2e-4 // weight that all growths keep together, whatever the trials say
	wholePart    = 1 << 30
	hopeless     = 22   // logarithm of a ratio of weights beyond which the smaller one is no part: above ln(2*wholePart)
	negligible   = 1e-3 // where many growths are summed, those of less weight do not count

	// stakedShare is the part of a size's e-process that a belief which is sure of the size's side
	// stakes in a round. A belief knows few growths, of which the true one is none, and is surer of them
	// than it should be.
	stakedShare = 0.95

	leastSlope = 0.35
	floorShare = 0.75 // share of Target that is the floor of half of the growths; the others have 0
)

// learn weighs growths with n* between e^low and e^high by points, and narrows these limits to
// where the weight is.
func (b *belief) learn(points []*point, target, low, high float64) {
	for range 3 {
		step := (high - low) / growthPlaces
		b.weigh(points, target, low, step)
		reach := float64(4*b.spread) + step
		if 2*reach > 0.8*(high-low) {
			return
		}
		low, high = coarse(max(low, b.center-reach)), coarse(min(high, b.center+reach))
	}
}

// coarse rounds the logarithm of a size, so that the last bits of sums decide nothing. It still
// tells all whole numbers up to maxSize apart.
func coarse(x float64) float64 { return math.Round(x*(1<<44)) / (1 << 44) }

// layOut returns growths with n* in the middles of growthPlaces steps from low on, without their
// weights.
func layOut(target, low, step float64) (growths []growth) {
	growths = make([]growth, 0, growthFloors*growthSlopes*growthPlaces)
	for _, floor := range [growthFloors]float64{0, floorShare * target} {
		offset := math.Log((target - floor) / (1 - target))
		for i := range growthSlopes {
			for j := range growthPlaces {
				g := growth{slope: math.Ldexp(leastSlope, i), floor: floor, offset: offset}
				g.crossing = low + float64(step*(float64(j)+0.5))
				growths = append(growths, g)
			}
		}
	}
	return growths
}

// weigh weighs growths by points, with n* in the middles of growthPlaces steps from low on.
func (b *belief) weigh(points []*point, target, low, step float64) {
	b.growths = layOut(target, low, step)
	most, likeliest := math.Inf(-1), b.likeliest
	for i := range b.growths { // from the likeliest one on, which shows early that others are hopeless
		i = (i + likeliest) % len(b.growths)
		g := &b.growths[i]
		g.weight = -0.5 * math.Log(g.slope) // steep growths are less likely
		for _, p := range points {
			if g.weight < most-hopeless {
				break // trials make no growth likelier
			}
			success, miss := g.rates(p.x)
			if p.Successes > 0 {
				g.weight += float64(float64(p.Successes) * math.Log(success))
			}
			if p.Successes < p.Consumed {
				g.weight += float64(float64(p.Consumed-p.Successes) * math.Log(miss))
			}
		}
		if g.weight > most {
			most, b.likeliest = g.weight, i
		}
	}
	for i := range b.growths { // rounded, so that last bits decide nothing
		g := &b.growths[i]
		g.weight = math.Round(wholePart * math.Exp(g.weight-most))
	}
	b.normalise()
}

// normalise makes the weights add up to 1, and computes center and spread.
func (b *belief) normalise() {
	total := 0.0
	for i := range b.growths {
		total += b.growths[i].weight
	}
	mean, square := 0.0, 0.0
	for i := range b.growths {
		g := &b.growths[i]
		g.weight /= total
		mean += float64(g.weight * g.crossing)
	}
	for i := range b.growths {
		g := &b.growths[i]
		square += float64(g.weight * (g.crossing - mean) * (g.crossing - mean))
		g.weight = float64((1-sharedWeight)*g.weight) + sharedWeight/float64(len(b.growths))
	}
	b.center, b.spread = coarse(mean), coarse(math.Sqrt(square))
}

// gain returns the expected growth per trial of the evidence that the size e^x lies on side s.
func (b *belief) gain(x, target float64, s side) float64 {
	sum := 0.0
	for i := range b.growths {
		g := &b.growths[i]
		if g.weight < negligible || (g.crossing > x) != (s == insufficient) {
			continue
		}
		success, miss := g.rates(x)
		sum += float64(g.weight * divergence(success, miss, target))
	}
	return sum + 1e-12
}

// typical returns the gain per trial at the size e^x if n* lies at the center and the slope is the
// mean one.
func (b *belief) typical(x, target float64) float64 {
	slope := 0.0
	for i := range b.growths {
		slope += float64(b.growths[i].weight * math.Log(b.growths[i].slope))
	}
	g := growth{crossing: b.center, slope: math.Exp(slope), offset: math.Log(target / (1 - target))}
	success, miss := g.rates(x)
	return divergence(success, miss, target) + 1e-12
}

// divergence returns the expected logarithm, over one trial that succeeds with probability success,
// of its likelihood ratio against target.
func divergence(success, miss, target float64) float64 {
	return float64(success*math.Log(success/target)) + float64(miss*math.Log(miss/(1-target)))
}

// stake returns the logarithm of what one unit grows to over successes out of n trials at the size
// e^x, when it is bet on side s: a mixture of likelihood ratios against Target over the growths by
// which the size lies on that side. The weight of the others is not bet, and of the rest only
// stakedShare times the probability of the side: what is lost near Target while n* is known badly, at
// sizes that come to lie inside the bracket or beyond its other end, has to be won again elsewhere.
// All shares are those of the belief, which has not seen the outcomes.
func (b *belief) stake(x, target float64, s side, successes, n int) float64 {
	side := 0.0
	for i := range b.growths {
		if g := &b.growths[i]; (g.crossing > x) == (s == insufficient) {
			side += g.weight
		}
	}
	share := stakedShare * side
	var m mixture
	for i := range b.growths {
		g := &b.growths[i]
		if (g.crossing > x) != (s == insufficient) {
			continue
		}
		success, miss := g.rates(x)
		won := float64(float64(successes) * math.Log(success/target))
		lost := float64(float64(n-successes) * math.Log(miss/(1-target)))
		m.add(float64(share*g.weight), won+lost)
	}
	m.add(1-float64(share*side), 0)
	return m.log()
}
