package estimate

import "math"

// A growth is a hypothesis on how the success rate grows with the sample. At ln n = x the rate is
// floor + (1 - floor) logistic(offset + slope (x - crossing)), which equals Target at n =
// e^crossing.
type growth struct {
	crossing, slope float64
	floor           float64 // success rate of guessing
	offset          float64
	weight          float64 // weights of all growths add up to 1
}

// rates returns the probabilities of success and of a miss at ln n = x. Success is at least as
// likely as Target if crossing <= x, and less likely otherwise. Neither probability is close to
// 0.
func (g *growth) rates(x float64) (success, miss float64) {
	const far = 8
	odds := math.Exp(g.offset + min(far, max(-far, float64(g.slope*(x-g.crossing)))))
	miss = (1 - g.floor) / (1 + odds)
	return g.floor + float64(miss*odds), miss
}

// A belief is a search's posterior for n*: growths, weighted by the trials read so far. It
// determines sizes and stakes. The validity of a bracket does not depend on it.
type belief struct {
	growths        []growth
	center, spread float64 // mean and standard deviation of ln n*
	likeliest      int     // index of the likeliest growth; speeds up weigh and does not affect its result
}

const (
	growthPlaces = 9    // number of values of ln n*
	growthSlopes = 7    // number of slopes: minSlope and its doublings
	growthFloors = 2    // number of floors
	sharedWeight = 2e-4 // weight shared by all growths, independent of the trials
	wholePart    = 1 << 30
	hopeless     = 22   // log weight ratio from which the smaller weight rounds to 0: above ln(2*wholePart)
	negligible   = 1e-3 // sums over many growths skip lower weights

	// stakedShare is the part of a size's e-process that a belief stakes in a round if it is
	// certain of the size's side. It is below 1 because a belief contains only a few growths,
	// never the true one, and is therefore overconfident.
	stakedShare = 0.95

	minSlope   = 0.35
	floorShare = 0.75 // floor of half of the growths, as a share of Target; the others have floor 0
)

// learn weighs growths with n* between e^low and e^high by points. It then narrows these limits
// to where most of the weight lies, and repeats.
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

// coarse rounds the logarithm of a size so that rounding errors of sums have no effect. Distinct
// whole numbers up to maxSize stay distinct.
func coarse(x float64) float64 { return math.Round(x*(1<<44)) / (1 << 44) }

// layOut returns growths with n* in the middles of growthPlaces steps from low on. Their weights
// are not set.
func layOut(target, low, step float64) (growths []growth) {
	growths = make([]growth, 0, growthFloors*growthSlopes*growthPlaces)
	for _, floor := range [growthFloors]float64{0, floorShare * target} {
		offset := math.Log((target - floor) / (1 - target))
		for i := range growthSlopes {
			for j := range growthPlaces {
				g := growth{slope: math.Ldexp(minSlope, i), floor: floor, offset: offset}
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
	for i := range b.growths { // starts at the likeliest growth, so that hopeless ones are recognized early
		i = (i + likeliest) % len(b.growths)
		g := &b.growths[i]
		g.weight = -0.5 * math.Log(g.slope) // steep growths are less likely
		for _, p := range points {
			if g.weight < most-hopeless {
				break // a growth's weight never rises with further trials
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
	for i := range b.growths { // rounded, so that rounding errors have no effect
		g := &b.growths[i]
		g.weight = math.Round(wholePart * math.Exp(g.weight-most))
	}
	b.normalize()
}

// normalize scales the weights to the sum 1, and computes center and spread.
func (b *belief) normalize() {
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

// typical returns the gain per trial at the size e^x if n* lies at the center and the slope is
// the mean slope.
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

// stake returns the logarithm of the wealth that one unit, bet on side s, reaches after successes
// in n trials at the size e^x. The bet is a mixture of likelihood ratios against Target over the
// growths for which the size lies on that side. The weight of the other growths is not bet. Of
// the rest only stakedShare times the probability of the side is bet. The reason is that losses
// near Target while n* is uncertain, at sizes that later lie inside the bracket or beyond its
// other end, must be recovered elsewhere. All shares come from the belief, which has not seen
// these outcomes.
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
