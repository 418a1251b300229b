package halfspace

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// maxWork limits the multiplications, points * n * dimension, of a trial: about half a minute.
const maxWork = 1 << 36

// ExponentialParams holds the parameters of halfspace/exponential. Zero means that the value
// depends on others; resolveExponential sets it.
type ExponentialParams struct {
	Project int     `doc:"dimension of a public Johnson-Lindenstrauss projection of the examples, which are clipped to the unit ball afterwards; 0: no projection" min:"0"`
	Net     string  `doc:"source of the candidates: grid (up to 3 dimensions, covers the sphere to the radius), random (uniform points, a heuristic without a guaranteed radius), auto (grid if there is one)" choices:"auto,grid,random"`
	Points  int     `doc:"number of points of the net; 0: 4096 for net random; for the grid the radius determines it" min:"0"`
	Radius  float64 `doc:"covering radius of the grid, which is subtracted from the margin for either net; 0: tau/10" min:"0" max:"1"`
	Tau     float64 `doc:"target margin; 0: the margin that the problem guarantees" min:"0" max:"1"`
}

// level returns gamma': each example with a smaller margin counts against a point of the net. A
// point within the radius of a vector with margin tau has at least margin tau - radius, and a
// projection is assumed to distort inner products by up to tau/3.
func (p *ExponentialParams) level() float64 {
	gamma := p.Tau - p.Radius
	if p.Project > 0 {
		gamma -= p.Tau / 3
	}
	return gamma
}

// exponential returns halfspace/exponential, the pure algorithm of Nguyen, Ullman and Zakynthinou:
// the exponential mechanism on the number of examples with margin below gamma', over a net of unit
// vectors.
func exponential() algo.Algorithm[ExponentialParams] {
	return algo.Algorithm[ExponentialParams]{
		Name:    "halfspace/exponential",
		Version: "1.0.0",
		Doc: "Halfspaces with a margin by the exponential mechanism over a public net of unit vectors, pure " +
			"(Nguyen, Ullman and Zakynthinou 2019).",
		Defaults: ExponentialParams{Net: Auto},
		Metrics: map[string]string{
			"gamma": "margin that the score requires: tau minus the radius, and minus tau/3 with a projection " +
				"[radius of the ball]",
			"below":          "examples with a margin below gamma for the vector drawn (not private) [share of the sample]",
			"least_below":    "the same for the best point of the net (not private) [share of the sample]",
			"training_error": trainingErrorDoc,
		},
		Learn: learnExponential, Declares: algo.Always[ExponentialParams],
		Check: resolveExponential,
		Guarantee: func(s *algo.Setting[ExponentialParams]) (algo.Guarantee, error) {
			return algo.Guarantee{
				Pure: true, Epsilon: s.Epsilon, Rho: s.Epsilon * s.Epsilon / 8,
				Source: "exponential mechanism (McSherry and Talwar 2007), sensitivity 1, for any net and projection; " +
					"rho by bounded range (Cesar and Rogers 2021)",
			}, nil
		},
		Bound: exponentialBounds,
	}
}

// resolveExponential sets the values that depend on others. Its error is the reason why the setting
// cannot run. Resolving resolved parameters changes nothing.
func resolveExponential(s *algo.Setting[ExponentialParams]) error {
	p := &s.Params
	if err := checkProblem("halfspace/exponential", s.Problem, p.Project); err != nil {
		return err
	}
	if !(s.Epsilon >= 0 && s.Epsilon <= 1e100) {
		return algo.Invalid("halfspace/exponential requires privacy.epsilon between 0 and 1e100, not %g", s.Epsilon)
	}
	if p.Tau == 0 {
		p.Tau = s.Problem.Margin
	}
	if err := checkMargin("tau", p.Tau); err != nil {
		return err
	}
	if p.Radius == 0 {
		p.Radius = p.Tau / 10
	}
	if gamma := p.level(); !(p.Radius > 0 && gamma > 0) {
		return algo.Invalid("the radius %g makes gamma' = %.4g for the margin %g, and it must be above 0: lower the radius",
			p.Radius, gamma, p.Tau)
	}
	return resolveNet(p, dimension(s.Problem, p.Project), s.N)
}

// resolveNet sets the net and its number of points, for a sample of n in dim dimensions.
func resolveNet(p *ExponentialParams, dim, n int) error {
	if p.Net == Auto {
		p.Net = Random
		if dim <= maxGridDim {
			p.Net = Grid
		}
	}
	switch p.Net {
	case Grid:
		if err := resolveGrid(p, dim); err != nil {
			return err
		}
	case Random:
		if p.Points == 0 {
			p.Points = 4096
		}
	default:
		return algo.Invalid("unknown net %q: use auto, grid or random", p.Net)
	}
	return checkWork(p, dim, n)
}

// resolveGrid sets the number of points of the grid. Its error is the reason why there is none.
func resolveGrid(p *ExponentialParams, dim int) error {
	if dim > maxGridDim {
		return algo.Invalid("net grid covers up to %d dimensions, not %d: set net to random, or project to %d",
			maxGridDim, dim, maxGridDim)
	}
	if rough := roughSize(dim, p.Radius); rough > maxNumbers {
		return algo.Invalid("a grid of radius %g in %d dimensions has about %.4g points, too many: "+
			"raise radius, or set net to random", p.Radius, dim, rough)
	}
	m := gridSize(dim, p.Radius)
	if p.Points != 0 && p.Points != m {
		return algo.Invalid("net grid has %d points at radius %g, not %d: omit points, or set net to random",
			m, p.Radius, p.Points)
	}
	p.Points = m
	return nil
}

// checkWork returns an error if a trial would take too much memory or time. The error is about the
// setting and not the sample size, because fewer examples may be possible.
func checkWork(p *ExponentialParams, dim, n int) error {
	numbers := float64(p.Points) * float64(dim)
	switch {
	case p.Points < 1:
		return algo.Invalid("points must be at least 1, not %d", p.Points)
	case numbers > maxNumbers:
		return algo.Invalid("a net of %d points in %d dimensions has %.4g numbers, and %d are allowed: "+
			"lower points, raise radius, or project", p.Points, dim, numbers, maxNumbers)
	case numbers*float64(n) > maxWork:
		return algo.Invalid("a net of %d points in %d dimensions requires %.4g multiplications at n = %d, "+
			"and %.4g are allowed: lower points or n, raise radius, or project",
			p.Points, dim, numbers*float64(n), n, float64(maxWork))
	}
	return nil
}

// learnExponential runs one trial. It draws, in this order, the projection, the net and the answer.
func learnExponential(ctx context.Context, t *algo.Trial[ExponentialParams], sample *algo.Data) (algo.Model, error) {
	p := &t.Params
	phi, examples, err := projected(ctx, t.Rand, sample, p.Project)
	if err != nil {
		return nil, err
	}
	net := newNet(p, examples.dim, t.Rand)
	counts := make([]int32, p.Points)
	if err := examples.countBelow(ctx, counts, net, p.level()); err != nil {
		return nil, err
	}
	choice := choose(counts, t.Epsilon, t.Rand)
	w := slices.Clone(net[choice*examples.dim:][:examples.dim]) // a slice would retain the whole net

	t.Report("gamma", p.level())
	t.Report("below", float64(counts[choice])/float64(examples.n))
	t.Report("least_below", float64(slices.Min(counts))/float64(examples.n))
	t.Report("training_error", numeric.ShareUpTo(examples.margins(w), 0))
	return algo.Halfspace(phi.lift(w), 0), nil
}

// choose draws by the exponential mechanism: it returns index i with probability proportional to
// e^(-epsilon counts[i]/2), as the largest of these logarithms plus independent Gumbel noise.
// Replacing one example changes each count by at most 1.
func choose(counts []int32, epsilon float64, r *rand.Rand) int {
	best, choice := math.Inf(-1), 0
	for i, c := range counts {
		if v := privacy.Gumbel(privacy.Uniform(r)) - float64(epsilon/2*float64(c)); v > best {
			best, choice = v, i
		}
	}
	return choice
}
