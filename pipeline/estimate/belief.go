package estimate

import "math"

// law is one way in which success may grow with the sample: floor + (1 - floor) logistic(offset + slope (x - at)) at ln n = x, which
// is Target at n = e^at. The floor is what guessing reaches.
type law struct {
	at, slope     float64
	floor, offset float64
	weight        float64 // of all laws together: 1
}

// rates gives the probabilities of success and of a miss at a size. Success is at least as likely as Target if at <= x, and else less
// likely; both stay away from 0.
func (l *law) rates(x float64) (success, miss float64) {
	const far = 8
	odds := math.Exp(l.offset + min(far, max(-far, float64(l.slope*(x-l.at)))))
	miss = (1 - l.floor) / (1 + odds)
	return l.floor + float64(miss*odds), miss
}

// belief is what a search takes for likely: laws, weighed by the trials read so far. It chooses sizes and stakes; that a
// bracket holds does not depend on it.
type belief struct {
	laws           []law
	center, spread float64 // mean and standard deviation of ln n*
}

const (
	lawPlaces = 9    // values of ln n*
	lawSlopes = 7    // from leastSlope, doubling
	leastLaw  = 1e-3 // weight that all laws keep together, whatever the trials say
	weakLaw   = 1e-3 // where many laws are summed, those of less weight do not count

	leastSlope = 0.35
	floorShare = 0.75 // of Target: the floor of half of the laws; that of the others is 0
)

// learn weighs laws with n* between e^low and e^high by points, narrowing these limits to where the weight is.
func (b *belief) learn(points []*point, target, low, high float64) {
	for range 3 {
		step := (high - low) / lawPlaces
		b.weigh(points, target, low, step)
		reach := float64(4*b.spread) + step
		if 2*reach > 0.8*(high-low) {
			return
		}
		low, high = coarse(max(low, b.center-reach)), coarse(min(high, b.center+reach))
	}
}

// coarse rounds the logarithm of a size, so that the last bits of sums decide nothing; it still tells all whole numbers up to maxSize apart.
func coarse(x float64) float64 { return math.Round(x*(1<<44)) / (1 << 44) }

func (b *belief) weigh(points []*point, target, low, step float64) {
	b.laws = b.laws[:0]
	most := math.Inf(-1)
	for _, floor := range []float64{0, floorShare * target} {
		offset := math.Log((target - floor) / (1 - target))
		for i := range lawSlopes {
			for j := range lawPlaces {
				l := law{at: low + float64(step*(float64(j)+0.5)), slope: math.Ldexp(leastSlope, i), floor: floor, offset: offset}
				l.weight = -math.Log(l.slope) // steep laws are less likely
				for _, p := range points {
					success, miss := l.rates(p.x)
					if p.Successes > 0 {
						l.weight += float64(float64(p.Successes) * math.Log(success))
					}
					if p.Successes < p.Consumed {
						l.weight += float64(float64(p.Consumed-p.Successes) * math.Log(miss))
					}
				}
				most = max(most, l.weight)
				b.laws = append(b.laws, l)
			}
		}
	}
	b.normalise(most)
}

// normalise turns logarithms of weights into weights, rounded so that last bits decide nothing, and sums up where n* lies.
func (b *belief) normalise(most float64) {
	const parts = 1 << 30
	total := 0.0
	for i := range b.laws {
		l := &b.laws[i]
		l.weight = math.Round(parts * math.Exp(l.weight-most))
		total += l.weight
	}
	mean, square := 0.0, 0.0
	for i := range b.laws {
		b.laws[i].weight /= total
		mean += float64(b.laws[i].weight * b.laws[i].at)
	}
	for i := range b.laws {
		l := &b.laws[i]
		square += float64(l.weight * (l.at - mean) * (l.at - mean))
		l.weight = float64((1-leastLaw)*l.weight) + leastLaw/float64(len(b.laws))
	}
	b.center, b.spread = coarse(mean), coarse(math.Sqrt(square))
}

// gain gives the expected growth per trial of the evidence that a size, given by its logarithm, lies on that side.
func (b *belief) gain(x, target float64, s side) float64 {
	sum := 0.0
	for i := range b.laws {
		l := &b.laws[i]
		if l.weight < weakLaw || (l.at > x) != (s == insufficient) {
			continue
		}
		success, miss := l.rates(x)
		sum += float64(l.weight * (float64(success*math.Log(success/target)) + float64(miss*math.Log(miss/(1-target)))))
	}
	return sum + 1e-12
}

// typical gives the gain per trial at a size, given by its logarithm, if n* lies at the center and the slope is the mean one.
func (b *belief) typical(x, target float64) float64 {
	slope := 0.0
	for i := range b.laws {
		slope += float64(b.laws[i].weight * math.Log(b.laws[i].slope))
	}
	l := law{at: b.center, slope: math.Exp(slope), offset: math.Log(target / (1 - target))}
	success, miss := l.rates(x)
	return float64(success*math.Log(success/target)) + float64(miss*math.Log(miss/(1-target))) + 1e-12
}

// stake gives the logarithm of what one unit grows to over successes out of n trials at a size, when it is bet on that side: a
// mixture of likelihood ratios against Target over the laws by which the size lies on that side, the others staying out.
func (b *belief) stake(x, target float64, s side, successes, n int) float64 {
	out := 0.0
	var m mixture
	for i := range b.laws {
		l := &b.laws[i]
		if (l.at > x) != (s == insufficient) {
			out += l.weight
			continue
		}
		success, miss := l.rates(x)
		m.add(l.weight, float64(float64(successes)*math.Log(success/target))+float64(float64(n-successes)*math.Log(miss/(1-target))))
	}
	m.add(out, 0)
	return m.log()
}
