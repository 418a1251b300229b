package problem

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"
)

// Names of classes, laws and kinds of noise, as the sweep file has them.
const (
	thresholds   = "thresholds"
	point        = "points"
	intervals    = "intervals"
	stumps       = "stumps"
	rectangles   = "rectangles"
	conjunctions = "conjunctions"
	monotone     = "monotone-conjunctions"
	parities     = "parities"
	halfspace    = "halfspace"
	matrix       = "matrix"

	uniform    = "uniform"
	needle     = "needle"
	iso        = "iso"
	skew       = "skew"
	ballMargin = "ball-margin"

	noNoise     = "none"
	random      = "random"
	adversarial = "adversarial"
)

const (
	maxDomain  = 1 << 40
	maxDim     = 1 << 20
	maxTest    = 1_000_000_000
	maxSupport = 4096 // a law with at most this many points is evaluated exactly

	defaultTest     = 10_000
	defaultMinority = 0.2
)

// Error is a problem that cannot be. Key names the key of the sweep file that is to blame ("problem.margin"), Reason says with
// value and remedy what is wrong.
type Error struct{ Key, Reason string }

func (e *Error) Error() string { return e.Key + ": " + e.Reason }

// refuse blames one key below "problem".
func refuse(key, format string, a ...any) error {
	return &Error{Key: "problem." + key, Reason: fmt.Sprintf(format, a...)}
}

// Resolve validates p and fills in every default: noise none, minority 0.2, test 10000 where the evaluation is not exact; for data
// also digest, format, the list of numeric features, and d; for a class matrix digest, format and domain. It reads the whole file, so
// resolve a problem once and keep it; resolving again changes nothing. Where it fails, with an *Error, p may be half filled in.
func Resolve(p *schemas.Problem) error {
	_, err := resolve(p)
	return err
}

// read is what a problem's file held.
type read struct {
	rows   *population // nil for a law
	matrix string      // empty where the class is no matrix
}

// resolve is Resolve that keeps what it has read.
func resolve(p *schemas.Problem) (read, error) {
	if err := resolveClass(p); err != nil {
		return read{}, err
	}
	if err := resolveNoise(&p.Noise); err != nil {
		return read{}, err
	}
	if err := checkFits(p); err != nil {
		return read{}, err
	}
	switch shape := shapeOf(p.Class); {
	case p.Data != nil:
		rows, err := resolveData(p)
		return read{rows: rows}, err
	case shape == index:
		return resolveMatrix(p)
	case shape == vector:
		return read{}, resolveHalfspace(p)
	case shape == endless:
		return read{}, resolveEndless(p)
	}
	return read{}, resolveWhole(p)
}

func resolveClass(p *schemas.Problem) error {
	laws := lawsOf(p.Class)
	switch {
	case shapeOf(p.Class) == unknownShape:
		return refuseName("class", p.Class, classes())
	case p.Class == matrix && p.Data != nil:
		return refuse("data", "does not apply to the class matrix, whose points are the columns of problem.file; leave it out")
	case shapeOf(p.Class) == endless:
		return checkLawless(p)
	case p.Data != nil && p.Distribution != "":
		return refuse("distribution", "%q beside problem.data: the rows of the data are the distribution; leave one of them out", p.Distribution)
	case p.Data == nil && !slices.Contains(laws, p.Distribution):
		if slices.Contains([]string{uniform, needle, iso, skew, ballMargin}, p.Distribution) {
			return refuse("distribution", "%q does not fit the class %s; choose %s", p.Distribution, p.Class, orList(laws))
		}
		return refuseName("distribution", p.Distribution, laws)
	}
	return nil
}

// checkLawless refuses laws and data of a class on an infinite order.
func checkLawless(p *schemas.Problem) error {
	switch {
	case p.Data != nil:
		return refuse("data", "does not apply to the class %s, whose points an adversary chooses; leave it out", p.Class)
	case p.Distribution != "":
		return refuse("distribution", "%q does not apply to the class %s: no law on its infinitely many points is uniform, an adversary chooses them; leave it out",
			p.Distribution, p.Class)
	}
	return nil
}

func resolveNoise(n *schemas.Noise) error {
	if n.Kind == "" && n.Rate == 0 {
		n.Kind = noNoise
	}
	switch n.Kind {
	case noNoise:
		if n.Rate != 0 {
			return refuse("noise.rate", "%v does not apply to the kind none; leave it out or set noise.kind to random or adversarial", n.Rate)
		}
	case random, adversarial:
		if !(n.Rate >= 0 && n.Rate < 0.5) {
			return refuse("noise.rate", "%v is outside [0, 0.5)", n.Rate)
		}
	default:
		return refuseName("noise.kind", n.Kind, []string{noNoise, random, adversarial})
	}
	return nil
}

// checkFits refuses whatever is given but has no meaning for this class and distribution.
func checkFits(p *schemas.Problem) error {
	shape := shapeOf(p.Class)
	what := p.Class + " under " + p.Distribution
	switch {
	case p.Data != nil:
		what = p.Class + " over data"
	case shape == endless:
		what = "the class " + p.Class
	}
	for _, f := range []struct {
		key   string
		value any
		given bool
		fits  bool
		only  string
	}{
		{"file", "", p.Matrix != nil, shape == index, "the class matrix"},
		{"domain", p.Domain, p.Domain != 0, shape == scalar || shape == grid || shape == index, "thresholds, points, intervals, stumps and rectangles"},
		{"d", p.Dim, p.Dim != 0, shape == grid || shape == bits || shape == vector, "stumps, rectangles, conjunctions, parities and halfspaces"},
		{"mass", p.Mass, p.Mass != 0, p.Distribution == needle, "the distribution needle"},
		{"minority", p.Minority, p.Minority != 0, p.Distribution == skew, "the distribution skew"},
		{"margin", p.Margin, p.Margin != 0, p.Data == nil && shape == vector, "the distributions iso, skew and ball-margin"},
	} {
		if f.given && !f.fits {
			return refuse(f.key, "%s", strings.TrimSpace(fmt.Sprintf("%v does not apply to %s, only to %s; leave it out", f.value, what, f.only)))
		}
	}
	return nil
}

// resolveWhole resolves a law on points of whole numbers.
func resolveWhole(p *schemas.Problem) error {
	if err := checkSides(p); err != nil {
		return err
	}
	if p.Distribution == needle {
		needles := map[string]float64{thresholds: 2, point: 1, intervals: 3}[p.Class]
		switch {
		case p.Mass == 0:
			return refuse("mass", "missing; state the weight of a needle, for example 0.1")
		case !(p.Mass > 0 && needles*p.Mass <= 1):
			return refuse("mass", "%v is outside (0, %s]; the needle law of %s has %v such points", p.Mass,
				strings.TrimSuffix(fmt.Sprintf("1/%v", needles), "/1"), p.Class, needles)
		}
	}
	return resolveTest(p, p.Distribution == needle || cardinality(p) <= maxSupport)
}

// checkSides checks the range of the numbers of a point, and how many a point has.
func checkSides(p *schemas.Problem) error {
	shape := shapeOf(p.Class)
	if shape == scalar || shape == grid {
		if err := checkDomain(p, leastDomain(p)); err != nil {
			return err
		}
	}
	if p.Class == rectangles && p.Dim == 0 && p.Data == nil {
		p.Dim = 2
	}
	if (shape == grid || shape == bits) && p.Data == nil {
		return checkDim(p, 1)
	}
	return nil
}

func checkDim(p *schemas.Problem, least int) error {
	switch {
	case p.Dim == 0:
		return refuse("d", "missing; state the dimension, for example 10")
	case p.Dim < least || p.Dim > maxDim:
		return refuse("d", "%d is outside [%d, %d]", p.Dim, least, maxDim)
	}
	return nil
}

// leastDomain is the smallest X on which the law is what its definition says.
func leastDomain(p *schemas.Problem) uint64 {
	if p.Distribution == needle {
		return map[string]uint64{thresholds: 3, point: 2, intervals: 4}[p.Class]
	}
	if p.Class == point {
		return 1
	}
	return 2
}

func checkDomain(p *schemas.Problem, least uint64) error {
	if p.Domain == 0 {
		return refuse("domain", "missing; state X, the numbers of a point being 0..X-1, for example 65536 or 2^16")
	}
	if p.Domain < least || p.Domain > maxDomain {
		return refuse("domain", "%d is outside [%d, 2^40]", p.Domain, least)
	}
	return nil
}

func resolveHalfspace(p *schemas.Problem) error {
	least := 2 // iso and skew need a direction orthogonal to u
	if p.Distribution == ballMargin {
		least = 1
	}
	if err := checkDim(p, least); err != nil {
		return err
	}
	switch {
	case p.Margin == 0:
		return refuse("margin", "missing; state a number in (0, 1), for example 0.1")
	case !(p.Margin > 0 && p.Margin < 1):
		return refuse("margin", "%v is outside (0, 1)", p.Margin)
	}
	if p.Distribution == skew {
		if p.Minority == 0 {
			p.Minority = defaultMinority
		}
		if !(p.Minority > 0 && p.Minority <= 0.5) {
			return refuse("minority", "%v is outside (0, 0.5]", p.Minority)
		}
	}
	return resolveTest(p, false)
}

func resolveEndless(p *schemas.Problem) error {
	if p.Test != 0 {
		return refuse("test", "%d does not apply to the class %s, which has no law to draw a sample from; leave it out", p.Test, p.Class)
	}
	return nil
}

func resolveTest(p *schemas.Problem, exact bool) error {
	switch {
	case exact && p.Test != 0:
		return refuse("test", "%d: the error is computed exactly here, without an evaluation sample; leave it out", p.Test)
	case exact:
		return nil
	case p.Test == 0:
		p.Test = defaultTest
	case p.Test < 0 || p.Test > maxTest:
		return refuse("test", "%d is outside [1, %d]", p.Test, maxTest)
	}
	return nil
}

// refuseName blames a name that is not among those known, and suggests the nearest.
func refuseName(key, name string, known []string) error {
	if name == "" {
		return refuse(key, "missing; choose %s", orList(known))
	}
	if n := nearest(name, known); n != "" {
		return refuse(key, "unknown %q, did you mean %q?", name, n)
	}
	return refuse(key, "unknown %q; choose %s", name, orList(known))
}

func orList(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// nearest is the known name that name most probably means, "" where none is near.
func nearest(name string, known []string) string {
	best, least := "", 1+(len(name)+2)/3
	for _, k := range known {
		if len(name)*len(k) > 10_000 {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if d < least && d < max(len(name), len(k)) {
			best, least = k, d
		}
	}
	return best
}

// distance is the least number of single-byte edits that turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
