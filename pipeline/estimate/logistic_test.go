package estimate

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// A logisticFit is a fitted curve of success probability 1 / (1 + exp(-A - B ln n)), with the
// covariance of A and B. It is the oracle for the logistic curve of a [Model].
type logisticFit struct {
	A, B       float64
	Covariance [2][2]float64
}

// fitLogistic fits by maximum likelihood (Newton's method with step halving). It fails if some size
// separates successes from misses, because the likelihood then has no maximum.
func fitLogistic(points []Point) (logisticFit, error) {
	var f logisticFit
	if separated(points) {
		return f, errors.New("fit logistic curve: successes and misses do not overlap in n, the slope has no estimate")
	}
	likelihood := f.likelihood(points)
	for range 100 {
		ga, gb, covariance := f.derivatives(points)
		da, db := covariance[0][0]*ga+covariance[0][1]*gb, covariance[1][0]*ga+covariance[1][1]*gb
		if math.Abs(da) <= 1e-12*(1+math.Abs(f.A)) && math.Abs(db) <= 1e-12*(1+math.Abs(f.B)) {
			f.Covariance = covariance
			return f, nil
		}
		next, l := f, 0.0
		for step := 1.0; step > 1e-6; step /= 2 {
			next.A, next.B = f.A+step*da, f.B+step*db
			if l = next.likelihood(points); l >= likelihood {
				break
			}
		}
		f, likelihood = next, l
	}
	return f, fmt.Errorf("fit logistic curve: no convergence near a = %v, b = %v", f.A, f.B)
}

func (f logisticFit) likelihood(points []Point) float64 {
	sum := 0.0
	for _, p := range points {
		x := f.A + f.B*math.Log(float64(p.N))
		// ln(1 + e^x) without overflow
		sum += float64(p.Successes)*x - float64(p.Consumed)*(max(x, 0)+math.Log1p(math.Exp(-math.Abs(x))))
	}
	return sum
}

// derivatives returns the gradient of the log-likelihood and the inverse of the information.
func (f logisticFit) derivatives(points []Point) (ga, gb float64, covariance [2][2]float64) {
	var aa, ab, bb float64
	for _, p := range points {
		x := math.Log(float64(p.N))
		rate := 1 / (1 + math.Exp(-f.A-f.B*x))
		residual := float64(p.Successes) - float64(p.Consumed)*rate
		weight := float64(p.Consumed) * rate * (1 - rate)
		ga, gb = ga+residual, gb+residual*x
		aa, ab, bb = aa+weight, ab+weight*x, bb+weight*x*x
	}
	det := aa*bb - ab*ab
	return ga, gb, [2][2]float64{{bb / det, -ab / det}, {-ab / det, aa / det}}
}

// crossing returns the sample size at which the curve reaches target, and the limits of Fieller
// (1954) that miss it with probability near level if the curve is of this form. It fails if the
// slope is not significantly positive at that level.
func (f logisticFit) crossing(target, level float64) (n, low, high float64, err error) {
	z := mathext.NormalQuantile(1 - level/2)
	a := f.A - math.Log(target/(1-target))
	v, zz := f.Covariance, z*z
	// The limits are the roots x = ln n of (a + b x)^2 = z^2 Var(a + b x).
	p, q, r := f.B*f.B-zz*v[1][1], f.B*a-zz*v[0][1], a*a-zz*v[0][0]
	root := q*q - p*r
	if !(f.B > 0 && p > 0 && root >= 0) {
		return 0, 0, 0, fmt.Errorf("read n off logistic curve: slope %v is not significantly positive", f.B)
	}
	root = math.Sqrt(root)
	return math.Exp(-a / f.B), math.Exp((-q - root) / p), math.Exp((-q + root) / p), nil
}
