package estimate

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// A Model is a point estimate of n*, the real number of examples at which the success probability
// equals the target, with its interval. It is valid as far as the curves fit, unlike the bracket
// of a [Search], which assumes no curve.
type Model struct {
	N, Low, High float64 // 0 if there is no estimate
	Reason       string  // reason for having no estimate; empty if there is one
}

// FitModel estimates n* from all trials that were read. points are ascending in N. The interval
// misses n* with probability near level.
//
// Two curves are fitted by maximum likelihood: a logistic one in ln n, which approaches 1 more
// slowly than success rates of the form 1 - c exp(-rn) do, and a complementary log-log one (a
// Weibull distribution function), which approaches 1 faster. N is the geometric mean of the two
// sizes at which they reach the target. The interval contains the profile likelihood limits of
// both. Each end is extended by half of the distance between the two sizes, to allow for the
// error of the model.
//
// Neither curve is valid far from the target, where guessing alone sometimes succeeds. Therefore
// only sizes near it are fitted: their odds of success are at least a ninth of the target's and
// at most a hundred times as large. While the curves do not fit (the deviance of the better one
// is beyond its 90 % point), the smallest size is removed, unless its odds are at least half of
// the target's.
//
// If the success rate has a plateau or a step near the target, neither curve describes it, and a
// search reads too few sizes to fit a curve that does. Therefore FitModel returns no estimate in
// two cases. In the first, the curves do not fit the fitted sizes (the deviance is beyond its 99
// % point). In the second, a jump fits clearly better: one rate at all sizes below the isotonic
// crossing and one from there on, with a likelihood more than e^2 times as large. If the deviance
// is between its 90 % and its 99 % point, the likelihood is divided by the dispersion, which
// widens the interval. Steps between two neighboring sizes cannot be detected.
//
// FitModel also returns no estimate if
//
//   - the rates do not cross the target,
//   - fewer than two sizes show a rate between hopeless and certain,
//   - misses and successes do not overlap,
//   - the rate does not rise significantly,
//   - the interval is wider than a factor of 4, or
//   - the estimate lies outside [Bracket] at the same level.
func FitModel(points []Point, target, level float64) Model {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Spot })
	f, reason := fitBoth(points, target)
	if reason != "" {
		return Model{Reason: reason}
	}
	switch {
	case !f.fits(normal99):
		return Model{Reason: "the curves do not fit: success has a plateau or steps near the target"}
	case jump(f.near)-f.likelihood() > 2:
		return Model{Reason: "the curves do not fit: success jumps near the target"}
	}
	z := mathext.NormalQuantile(1-level/2) * math.Sqrt(f.dispersion())
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range f.curves {
		if !c.rises(f.near, float64(z*z)) {
			return Model{Reason: "success does not become significantly more likely between the sample sizes near n*"}
		}
		low = min(low, c.limit(f.near, -1, float64(z*z)))
		high = max(high, c.limit(f.near, +1, float64(z*z)))
	}
	apart := math.Abs(f.curves[0].crossing - f.curves[1].crossing)
	m := Model{
		N:    f.estimate(),
		Low:  math.Exp(f.origin + low - apart/2),
		High: math.Exp(f.origin + high + apart/2),
	}
	if m.High > maxRatio*m.Low {
		return Model{Reason: fmt.Sprintf("too few trials: the interval from %.4g to %.4g is wider than a factor of %v",
			m.Low, m.High, maxRatio)}
	}
	a, b := Bracket(points, target, level)
	if m.N < float64(a) || b > 0 && m.N > float64(b) {
		return Model{Reason: "the curves do not fit: they reach the target outside the bracket"}
	}
	return m
}

// maxRatio is the largest ratio of the ends of an interval: an estimate with a wider one is
// rejected.
const maxRatio = 4

// Odds of success, relative to the target's.
const (
	minOdds      = 1.0 / 9  // limit for fitted sizes
	closeOdds    = 1.0 / 2  // sizes with larger odds are never removed
	maxOdds      = 100.0    // limit for fitted sizes
	hopelessOdds = 1.0 / 81 // a size with lower odds is hopeless
)

// A fitPair holds the two curves and the counts that they were fitted to.
type fitPair struct {
	curves [2]curve
	near   []count
	origin float64 // ln n at which count.x and curve.crossing are 0: the isotonic crossing
}

// A count holds the trials at one sample size.
type count struct{ x, successes, trials float64 }

// A curve is a success probability whose link is a + b x.
type curve struct {
	link
	a, b, likelihood float64
	goal             float64 // value of a + b x at which the target is reached
	crossing         float64 // x at which the target is reached
}

// estimate returns the geometric mean of the two sizes at which the curves reach the target.
func (f *fitPair) estimate() float64 {
	return math.Exp(f.origin + (f.curves[0].crossing+f.curves[1].crossing)/2)
}

// fitBoth chooses the sizes to fit and fits the curves. If there is no fit, it returns the
// reason.
func fitBoth(points []Point, target float64) (f fitPair, reason string) {
	f.origin = math.Log(Crossing(points, target))
	if math.IsNaN(f.origin) {
		return f, "the success rates do not cross the target"
	}
	var far int
	f.near, far = nearTarget(points, target, f.origin)
	if between(f.near, target) < 2 {
		return f, "fewer than two sample sizes near the target have a success rate between hopeless and sure"
	}
	for {
		if separated(f.near) {
			return f, "successes and misses do not overlap in n: the slope has no estimate"
		}
		for i, l := range []link{logisticLink, weibullLink} {
			c, ok := l.fit(f.near)
			if !ok || !(c.b > 0) {
				return f, "no rising curve fits"
			}
			c.goal = l.eta(target)
			c.crossing = (c.goal - c.a) / c.b
			f.curves[i] = c
		}
		if f.fits(normal90) || far == 0 || separated(f.near[1:]) {
			return f, ""
		}
		f.near, far = f.near[1:], far-1
	}
}

// jump returns the likelihood of two rates: one at all sizes below the isotonic crossing, and one
// at the others.
func jump(near []count) (likelihood float64) {
	var below, above Point
	for _, c := range near {
		side := &below
		if c.x >= 0 {
			side = &above
		}
		side.Successes += int(c.successes)
		side.Consumed += int(c.trials)
	}
	return logLikelihood(&below) + logLikelihood(&above)
}

// nearTarget removes the sizes that are too far below or above the target. Their odds are
// computed from the isotonic rates, and the nearest size on either side always stays. far is the
// number of remaining sizes, the smallest ones, whose odds are below closeOdds.
func nearTarget(points []Point, target, origin float64) (near []count, far int) {
	all := make([]count, len(points))
	for i, p := range points {
		all[i] = count{math.Log(float64(p.N)) - origin, float64(p.Successes), float64(p.Consumed)}
	}
	rates := isotonicRates(points)
	first, last := 0, len(points)-1
	for first < last && rates[first+1] < target && odds(rates[first]) < minOdds*odds(target) {
		first++
	}
	for last > first && rates[last-1] >= target && odds(rates[last]) > maxOdds*odds(target) {
		last--
	}
	for rates[first+far+1] < target && odds(rates[first+far]) < closeOdds*odds(target) {
		far++
	}
	return all[first : last+1], far
}

func (c count) rate() float64 { return c.successes / c.trials }

func odds(p float64) float64 { return p / (1 - p) }

// between returns the number of sizes whose own rate is between hopeless and certain.
func between(near []count, target float64) (n int) {
	for _, c := range near {
		if o := odds(c.rate()); o > hopelessOdds*odds(target) && o < maxOdds*odds(target) {
			n++
		}
	}
	return n
}

// separated reports whether all successes lie on one side of all misses, except that one size may
// have both.
func separated(near []count) bool {
	leastSuccess, leastMiss := math.Inf(1), math.Inf(1)
	mostSuccess, mostMiss := math.Inf(-1), math.Inf(-1)
	for _, c := range near {
		if c.successes > 0 {
			leastSuccess, mostSuccess = min(leastSuccess, c.x), max(mostSuccess, c.x)
		}
		if c.successes < c.trials {
			leastMiss, mostMiss = min(leastMiss, c.x), max(mostMiss, c.x)
		}
	}
	return mostMiss <= leastSuccess || mostSuccess <= leastMiss
}

// Normal quantiles.
const (
	normal90 = 1.2815515655446004
	normal99 = 2.3263478740408408
)

// likelihood returns the likelihood of the better curve.
func (f *fitPair) likelihood() float64 { return max(f.curves[0].likelihood, f.curves[1].likelihood) }

// deviance returns twice the logarithm of the likelihood ratio between free rates and the better
// curve, and its degrees of freedom.
func (f *fitPair) deviance() (deviance, freedom float64) {
	for _, c := range f.near {
		deviance += 2 * logLikelihood(&Point{Successes: int(c.successes), Consumed: int(c.trials)})
	}
	return deviance - 2*f.likelihood(), float64(len(f.near) - 2)
}

// fits reports whether the deviance is below the quantile of its distribution (approximated as in
// Wilson and Hilferty 1931) that corresponds to the normal quantile z.
func (f *fitPair) fits(z float64) bool {
	deviance, freedom := f.deviance()
	if freedom <= 0 {
		return true
	}
	root := 1 - 2/(9*freedom) + float64(z*math.Sqrt(2/(9*freedom)))
	return deviance <= freedom*root*root*root
}

// dispersion returns the factor by which the deviance exceeds its degrees of freedom, or 1 if the
// curves fit.
func (f *fitPair) dispersion() float64 {
	if f.fits(normal90) {
		return 1
	}
	deviance, freedom := f.deviance()
	return deviance / freedom
}

// Effects returns the standard error of ln n*, as [FitModel] estimates it, and the change of ln n*
// by one success instead of a miss at each of the points. The standard error contains the expected
// information of the trials and half of the distance between the two curves. The change is 0 at
// points that the curves were not fitted to.
func Effects(points []Point, target float64) (se float64, effects []float64) {
	effects = make([]float64, len(points))
	modeled := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Spot })
	f, reason := fitBoth(modeled, target)
	if reason != "" {
		return 0, effects
	}
	variance := 0.0
	for _, p := range f.near {
		effect, rate := 0.0, 0.0
		for _, c := range f.curves {
			e, r := c.effect(f.near, p.x)
			effect, rate = effect+e/2, rate+r/2
		}
		variance += float64(p.trials * effect * effect * rate * (1 - rate))
		i := slices.IndexFunc(points, func(q Point) bool { return !q.Spot && math.Log(float64(q.N))-f.origin == p.x })
		effects[i] = effect
	}
	apart := (f.curves[0].crossing - f.curves[1].crossing) / 2
	return math.Sqrt(float64(variance*f.dispersion()) + float64(apart*apart)), effects
}

// effect returns the change of the crossing by one success instead of a miss at x, and the success
// probability there.
func (c *curve) effect(near []count, x float64) (change, rate float64) {
	d := c.derivatives(near)
	det := float64(d.aa*d.bb) - float64(d.ab*d.ab)
	_, success, _ := c.terms(1, 1, c.a+float64(c.b*x))
	_, miss, _ := c.terms(0, 1, c.a+float64(c.b*x))
	score := success - miss
	da := float64(score*(d.bb-float64(d.ab*x))) / det
	db := float64(score*(float64(d.aa*x)-d.ab)) / det
	return -(da + float64(c.crossing*db)) / c.b, -miss / score
}

// A link defines the success probability p as a function of eta = a + b x.
type link struct {
	eta func(p float64) float64

	// terms returns the log-likelihood of one count, and its derivative and expected information with
	// respect to eta.
	terms func(successes, trials, eta float64) (likelihood, score, information float64)
}

// logisticLink is the link p = 1 / (1 + exp(-eta)).
var logisticLink = link{
	eta: func(p float64) float64 { return math.Log(p / (1 - p)) },
	terms: func(k, n, eta float64) (likelihood, score, information float64) {
		p := 1 / (1 + math.Exp(-eta))
		// ln(1 + e^eta) without overflow
		likelihood = float64(k*eta) - float64(n*(max(eta, 0)+math.Log1p(math.Exp(-math.Abs(eta)))))
		return likelihood, k - float64(n*p), n * p * (1 - p)
	},
}

// weibullLink is the link p = 1 - exp(-exp(eta)), the complementary log-log link.
var weibullLink = link{
	eta: func(p float64) float64 { return math.Log(-math.Log1p(-p)) },
	terms: func(k, n, eta float64) (likelihood, score, information float64) {
		hazard := math.Exp(max(-30, min(eta, 6))) // beyond these limits p is 0 or 1 in float64
		p := -math.Expm1(-hazard)
		slope := hazard * math.Exp(-hazard) / p // d ln p / d eta
		likelihood = -float64((n - k) * hazard)
		if k > 0 {
			likelihood += float64(k * math.Log(p))
		}
		return likelihood, float64(k*slope) - float64((n-k)*hazard), n * hazard * slope
	},
}

// fit finds the curve of largest likelihood by Fisher's scoring with step halving. It fails if
// the data are separated.
func (l link) fit(near []count) (c curve, ok bool) {
	var successes, trials float64
	for _, p := range near {
		successes, trials = successes+p.successes, trials+p.trials
	}
	c = curve{link: l, a: l.eta(successes / trials)}
	at := c.derivatives(near)
	for range 100 {
		c.likelihood = at.likelihood
		det := float64(at.aa*at.bb) - float64(at.ab*at.ab)
		if !(det > 0) {
			return c, false
		}
		da := (float64(at.bb*at.a) - float64(at.ab*at.b)) / det
		db := (float64(at.aa*at.b) - float64(at.ab*at.a)) / det
		if math.Abs(da) <= 1e-9*(1+math.Abs(c.a)) && math.Abs(db) <= 1e-9*(1+math.Abs(c.b)) {
			return c, true
		}
		next := c
		for step := 1.0; ; step /= 2 {
			if step < 1e-6 {
				return c, false
			}
			next.a, next.b = c.a+float64(step*da), c.b+float64(step*db)
			if at = next.derivatives(near); at.likelihood >= c.likelihood-float64(1e-12*math.Abs(c.likelihood)) {
				break
			}
		}
		c = next
	}
	return c, false
}

// derivatives holds the log-likelihood of a curve, its gradient (a, b) and the expected
// information.
type derivatives struct{ likelihood, a, b, aa, ab, bb float64 }

func (c *curve) derivatives(near []count) (d derivatives) {
	for _, p := range near {
		likelihood, score, information := c.terms(p.successes, p.trials, c.a+float64(c.b*p.x))
		d.likelihood += likelihood
		d.a += score
		d.b += float64(score * p.x)
		d.aa += information
		d.ab += float64(information * p.x)
		d.bb += float64(float64(information*p.x) * p.x)
	}
	return d
}

// rises reports whether the likelihood ratio against a constant rate exceeds zz, the square of a
// normal quantile. If and only if it does, both limits are finite.
func (c *curve) rises(near []count, zz float64) bool {
	var successes, trials, flat float64
	for _, p := range near {
		successes, trials = successes+p.successes, trials+p.trials
	}
	for _, p := range near {
		likelihood, _, _ := c.terms(p.successes, p.trials, c.eta(successes/trials))
		flat += likelihood
	}
	return 2*(c.likelihood-flat) > zz
}

// limit returns the x below (side -1) or above (+1) the crossing at which the profile likelihood,
// that of the best curve which reaches the target there, is zz/2 below the maximum.
func (c *curve) limit(near []count, side, zz float64) float64 {
	holds := func(x float64) bool { return 2*(c.likelihood-c.profile(near, x)) < zz }
	inner, step := c.crossing, 0.03125
	outer := inner + side*step
	for ; holds(outer) && step < 64; outer += side * step {
		inner = outer
		step *= 2
	}
	for range 20 {
		if middle := (inner + outer) / 2; holds(middle) {
			inner = middle
		} else {
			outer = middle
		}
	}
	return outer
}

// profile returns the largest likelihood of a curve that reaches the target at x. It is concave
// in the slope. profile uses Newton's method between slopes at which its derivative is positive
// and negative.
func (c *curve) profile(near []count, x float64) (likelihood float64) {
	low, high, b := 0.0, math.Inf(1), c.b
	for range 60 {
		var score, information float64
		likelihood = 0
		for _, p := range near {
			from := p.x - x
			l, s, i := c.terms(p.successes, p.trials, c.goal+float64(b*from))
			likelihood += l
			score += float64(s * from)
			information += float64(float64(i*from) * from)
		}
		if score > 0 {
			low = b
		} else {
			high = b
		}
		next := b + score/information
		switch {
		case next > low && next < high:
		case math.IsInf(high, 1):
			next = 2*b + 1
		default:
			next = (low + high) / 2
		}
		if math.Abs(next-b) <= 1e-9*(1+b) {
			break
		}
		b = next
	}
	return likelihood
}
