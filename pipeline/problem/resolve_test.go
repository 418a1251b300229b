package problem

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

func TestResolveFillsDefaults(t *testing.T) {
	none := schemas.Noise{Kind: "none"}
	for _, c := range []struct{ given, want schemas.Problem }{
		{
			schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 65536, Mass: 0.1},
			schemas.Problem{
				Target: "middle", Class: "thresholds", Distribution: "needle", Domain: 65536, Mass: 0.1, Noise: none,
			},
		},
		{
			schemas.Problem{Class: "points", Distribution: "uniform", Domain: 4096},
			schemas.Problem{Target: "random", Class: "points", Distribution: "uniform", Domain: 4096, Noise: none},
		},
		{
			schemas.Problem{Class: "intervals", Distribution: "uniform", Domain: 4097},
			schemas.Problem{
				Target: "random", Class: "intervals", Distribution: "uniform", Domain: 4097, Noise: none,
			},
		},
		{
			schemas.Problem{Class: "halfspace", Distribution: "skew", Dim: 10, Margin: 0.1,
				Noise: schemas.Noise{Kind: "random", Rate: 0.05}},
			schemas.Problem{Target: "random", Class: "halfspace", Distribution: "skew", Dim: 10, Margin: 0.1,
				Noise: schemas.Noise{Kind: "random", Rate: 0.05}, Minority: 0.2},
		},
		{
			schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 2, Margin: 0.1, Test: 7},
			schemas.Problem{
				Target: "random", Class: "halfspace", Distribution: "iso", Dim: 2, Margin: 0.1, Test: 7, Noise: none,
			},
		},
	} {
		got := c.given
		for range 2 { // resolving again changes nothing
			if err := Resolve(&got); err != nil {
				t.Errorf("%+v: %v", c.given, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	needle := schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 65536, Mass: 0.1}
	uniformDistribution := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20}
	skewDistribution := schemas.Problem{Class: "halfspace", Distribution: "skew", Dim: 10, Margin: 0.1}
	ball := schemas.Problem{Class: "halfspace", Distribution: "ball-margin", Dim: 10, Margin: 0.1}
	over := schemas.Problem{
		Class: "halfspace",
		Data:  &schemas.Data{File: "x.csv", Label: "y", Positive: "p", Scale: schemas.Scale{Norm: 1}},
	}
	for _, c := range []struct {
		from   schemas.Problem
		change func(p *schemas.Problem)
		want   string
	}{
		{needle, func(p *schemas.Problem) { p.Class = "" },
			`problem.class: missing; choose thresholds, points, intervals, stumps, rectangles, conjunctions, monotone-conjunctions, parities, halfspace, matrix, thresholds-naturals or thresholds-dyadics`},
		{needle, func(p *schemas.Problem) { p.Class = "treshold" },
			`problem.class: unknown "treshold", did you mean "thresholds"?`},
		{needle, func(p *schemas.Problem) { p.Distribution = "" },
			`problem.distribution: missing; choose uniform, needle or agnostic`},
		{needle, func(p *schemas.Problem) { p.Distribution = "neddle" },
			`problem.distribution: unknown "neddle", did you mean "needle"?`},
		{needle, func(p *schemas.Problem) { p.Distribution = "skew" },
			`problem.distribution: "skew" does not fit the class thresholds; choose uniform, needle or agnostic`},
		{skewDistribution, func(p *schemas.Problem) { p.Distribution = "uniform" },
			`problem.distribution: "uniform" does not fit the class halfspace; choose iso, skew, ball-margin, iso-fixed or skew-fixed`},
		{needle, func(p *schemas.Problem) { p.Domain = 0 }, `problem.domain: missing; state X`},
		{needle, func(p *schemas.Problem) { p.Domain = 2 }, `problem.domain: 2 is outside [3, 2^40]`},
		{uniformDistribution, func(p *schemas.Problem) { p.Domain = 1 }, `problem.domain: 1 is outside [2, 2^40]`},
		{needle, func(p *schemas.Problem) { p.Mass = 0 }, `problem.mass: missing; state the weight of a needle`},
		{needle, func(p *schemas.Problem) { p.Mass = 0.51 },
			`problem.mass: 0.51 is outside (0, 1/2]; the needle distribution of thresholds has 2 such points`},
		{needle, func(p *schemas.Problem) { p.Class, p.Mass = "intervals", 0.34 },
			`problem.mass: 0.34 is outside (0, 1/3]; the needle distribution of intervals has 3 such points`},
		{needle, func(p *schemas.Problem) { p.Dim = 3 },
			`problem.d: 3 does not apply to thresholds under needle, only to stumps, rectangles, conjunctions, parities and halfspaces; leave it out`},
		{needle, func(p *schemas.Problem) { p.Margin = 0.1 },
			`problem.margin: 0.1 does not apply to thresholds under needle, only to the distributions iso, skew, ball-margin, iso-fixed and skew-fixed; leave it out`},
		{needle, func(p *schemas.Problem) { p.Test = 100 },
			`problem.test: 100: the error is computed exactly here, without an evaluation sample; leave it out`},
		{uniformDistribution, func(p *schemas.Problem) { p.Mass = 0.1 },
			`problem.mass: 0.1 does not apply to thresholds under uniform, only to the distribution needle; ` +
				`leave it out, or give each a block of grids`},
		{uniformDistribution, func(p *schemas.Problem) { p.Test = -1 }, `problem.test: -1 is outside [1, 1000000000]`},
		{uniformDistribution, func(p *schemas.Problem) {
			*p = schemas.Problem{Class: "intervals", Distribution: "agnostic", Domain: 64, BestError: 0.25, Target: "nowhere"}
		}, `problem.target: "nowhere" does not apply to intervals under agnostic: it may be the empty interval`},
		{uniformDistribution, func(p *schemas.Problem) {
			*p = schemas.Problem{Class: "intervals", Distribution: "agnostic", Domain: 64, BestError: 0.25, Target: "uniform"}
		}, `problem.target: "uniform" does not apply to intervals under agnostic: it may be the empty interval`},
		{skewDistribution, func(p *schemas.Problem) { p.Mass = 0.1 },
			`problem.mass: 0.1 does not apply to halfspace under skew, only to the distribution needle; ` +
				`leave it out, or give each a block of grids`},
		{skewDistribution, func(p *schemas.Problem) { p.Domain = 10 },
			`problem.domain: 10 does not apply to halfspace under skew, only to thresholds`},
		{skewDistribution, func(p *schemas.Problem) { p.Dim = 0 }, `problem.d: missing; state the dimension`},
		{skewDistribution, func(p *schemas.Problem) { p.Dim = 1 }, `problem.d: 1 is outside [2, 1048576]`},
		{ball, func(p *schemas.Problem) { p.Dim = -1 }, `problem.d: -1 is outside [1, 1048576]`},
		{skewDistribution, func(p *schemas.Problem) { p.Margin = 0 },
			`problem.margin: missing; state a number in (0, 1), for example 0.1`},
		{skewDistribution, func(p *schemas.Problem) { p.Margin = 1.5 }, `problem.margin: 1.5 is outside (0, 1)`},
		{skewDistribution, func(p *schemas.Problem) { p.Minority = 0.6 }, `problem.minority: 0.6 is outside (0, 0.5]`},
		{ball, func(p *schemas.Problem) { p.Minority = 0.2 },
			`problem.minority: 0.2 does not apply to halfspace under ball-margin, only to the distributions skew and skew-fixed; leave it out`},
		{ball, func(p *schemas.Problem) { p.Noise.Kind = "randm" },
			`problem.noise.kind: unknown "randm", did you mean "random"?`},
		{ball, func(p *schemas.Problem) { p.Noise.Rate = 0.1 },
			`problem.noise.kind: missing; choose none, random, adversarial or malicious`},
		{ball, func(p *schemas.Problem) { p.Noise = schemas.Noise{Kind: "none", Rate: 0.1} },
			`problem.noise.rate: 0.1 does not apply to the kind none; leave it out or set noise.kind to random, adversarial or malicious`},
		{ball, func(p *schemas.Problem) { p.Noise = schemas.Noise{Kind: "random", Rate: 0.5} },
			`problem.noise.rate: 0.5 is outside [0, 0.5)`},
		{over, func(p *schemas.Problem) { p.Distribution = "skew" },
			`problem.distribution: "skew" together with problem.data: the rows of the data are the distribution; leave ` +
				"one of them out"},
		{ball, func(p *schemas.Problem) { p.Disguise = true },
			`problem.disguise: hides the rows of problem.data, and this problem has none; leave it out`},
		{over, func(p *schemas.Problem) { p.Class, p.Domain, p.Disguise = "points", 5, true },
			`problem.disguise: does not apply to points, whose concepts are not the same after an isometry, only to halfspaces; leave it out`},
		{over, func(p *schemas.Problem) { p.Margin = 0.1 }, `problem.margin: 0.1 does not apply to halfspace over data`},
		{over, func(p *schemas.Problem) { p.Test = 5 },
			`problem.test: 5: the error is computed exactly here, over all rows; leave it out`},
		{over, func(p *schemas.Problem) { p.Class = "points" }, `problem.domain: missing; state X`},
		{over, func(p *schemas.Problem) { p.Class, p.Domain = "points", 5 },
			`problem.data.scale: does not apply to points, whose values stay as they are; leave it out`},
		{over, func(p *schemas.Problem) { p.Data.File = "" }, `problem.data.file: missing`},
		{over, func(p *schemas.Problem) { p.Data.File = "x.txt" },
			`problem.data.file: x.txt: .txt files are not read; rename it to end in .csv, and`},
		{over, func(p *schemas.Problem) { p.Data.Label = "" }, `problem.data.label: missing`},
		{over, func(p *schemas.Problem) { p.Data.Positive = "" },
			`problem.data.positive: missing; state the value of the label that means +1`},
		{over, func(p *schemas.Problem) { p.Data.Features = []string{"a", "y"} },
			`problem.data.features: column "y" is already in problem.data.label; name it once`},
		{over, func(p *schemas.Problem) { p.Data.Features = []string{"a", "a"} },
			`problem.data.features: column "a" is already in problem.data.features; name it once`},
		{over, func(p *schemas.Problem) { p.Data.Features, p.Data.Categorical = []string{"a"}, []string{"a"} },
			`problem.data.categorical: column "a" is already in problem.data.features; name it once`},
		{over, func(p *schemas.Problem) { p.Data.Scale.Norm = 0 }, `problem.data.scale: missing; state a public bound`},
		{over, func(p *schemas.Problem) { p.Data.Scale.Norm = math.Inf(1) },
			`problem.data.scale.norm: +Inf is not a positive number`},
		{over, func(p *schemas.Problem) { p.Data.Scale.Ranges = map[string][2]float64{"a": {0, 1}} },
			`problem.data.scale: norm and ranges are both given; choose one`},
		{over, func(p *schemas.Problem) { p.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"a": {1, 1}}} },
			`problem.data.scale.ranges: "a": [1, 1] is not a range; state a finite low below a finite high`},
		{over, func(p *schemas.Problem) { p.Data.Format = "xml" },
			`problem.data.format: unknown "xml"; choose csv, parquet, arrow or libsvm`},
	} {
		p := c.from
		if p.Data != nil {
			data := *p.Data
			p.Data = &data
		}
		c.change(&p)
		checkError(t, Resolve(&p), c.want)
	}
}

// checkError requires an *Error with the given prefix.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestPublicTellsNoTarget(t *testing.T) {
	for _, c := range []struct {
		p    schemas.Problem
		want *pluginv1.Problem
	}{
		{
			schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 16, Mass: 0.1},
			&pluginv1.Problem{
				Class: "thresholds", Domain: 16, Dim: 1, Noise: "none", NoConstant: true, Realizable: true, Target: "fixed",
			},
		},
		{
			schemas.Problem{Class: "points", Distribution: "needle", Domain: 16, Mass: 0.1,
				Noise: schemas.Noise{Kind: "random", Rate: 0.1}},
			&pluginv1.Problem{
				Class: "points", Domain: 16, Dim: 1, Noise: "random", NoiseRate: 0.1, Realizable: true, Target: "fixed",
			},
		},
		{
			schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 5, Margin: 0.1},
			&pluginv1.Problem{
				Class: "halfspace", Dim: 5, Margin: 0.1, Noise: "none", Realizable: true, Target: "random", Formula: true,
			},
		},
	} {
		p := open(t, c.p)
		if diff := cmp.Diff(c.want, p.Public(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if best, err := p.Best(); best != 0 || err != nil {
			t.Errorf("%+v: best %v, %v", c.p, best, err)
		}
		if x, dim := p.Population(); x != nil || dim != p.Dim() || p.Summary() != (Summary{Matrix: p.Summary().Matrix}) {
			t.Errorf("%+v: a distribution has a population", c.p)
		}
	}
}

// No learner can guarantee an error below the rate of noise that moves the target, except if the
// points are so heavy that most labels of each stay right, or if hypotheses lie far apart.
func TestFloor(t *testing.T) {
	for _, c := range []struct {
		class, distribution string
		domain              uint64
		dim                 int
		kind                string
		rate, want          float64
	}{
		{"thresholds", "uniform", 1 << 20, 0, "adversarial", 0.1, 0.1},
		{"thresholds", "uniform", 1 << 20, 0, "random", 0.1, 0},
		{"thresholds", "uniform", 1 << 20, 0, "none", 0, 0},
		{"thresholds", "uniform", 1 << 20, 0, "adversarial", 0, 0},
		{"intervals", "uniform", 8, 0, "adversarial", 0.1, 0.1},
		{"intervals", "uniform", 8, 0, "adversarial", 0.06, 0},
		{"thresholds", "needle", 1 << 20, 0, "adversarial", 0.1, 0.1},
		{"thresholds", "needle", 1 << 20, 0, "adversarial", 0.04, 0}, // needles of weight 0.1
		{"rectangles", "uniform", 64, 2, "adversarial", 0.1, 0.1},
		{"parities", "uniform", 0, 4, "adversarial", 0.1, 0},
		{"halfspace", "iso", 0, 3, "adversarial", 0.1, 0.1},
	} {
		p := schemas.Problem{Class: c.class, Distribution: c.distribution, Domain: c.domain, Dim: c.dim,
			Noise: schemas.Noise{Kind: c.kind, Rate: c.rate}}
		switch c.distribution {
		case "needle":
			p.Mass = 0.1
		case "iso":
			p.Margin = 0.1
		}
		if got := open(t, p).Floor(); got != c.want {
			t.Errorf("%+v: %v, want %v", p, got, c.want)
		}
	}
	over := overData("halfspace", 0)
	over.Noise = schemas.Noise{Kind: "adversarial", Rate: 0.1}
	if got := openCSV(t, testkit.CSV(300), over).Floor(); got != 0 {
		t.Errorf("data: %v", got)
	}
}
