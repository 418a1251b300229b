package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/problem/population"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

const (
	maxDim = 1 << 20
	// maxDisguisedDim limits the isometry of a slot to 64 MiB.
	maxDisguisedDim = 1 << 12
)

// Error names the key of the sweep file that makes a problem invalid, with the reason.
type Error = blame.Error

// refuse returns an error about one key below "problem".
func refuse(key, format string, a ...any) error { return blame.Key("problem."+key, format, a...) }

// contents is the content of a problem's file.
type contents struct {
	rows   *population.Rows // nil for a distribution
	matrix string           // empty if the class is not a matrix
}

// resolve checks p and fills in every default, see Problem.Resolved. It returns the whole content
// of the problem's file. The error joins some of type *Error; p may then be partly filled in.
func resolve(p *schemas.Problem) (read contents, err error) {
	if p.Plugin != nil {
		return read, resolveGenerated(p)
	}
	if err := resolveClass(p); err != nil {
		return read, err
	}
	err = errors.Join(noise.Resolve(&p.Noise), checkFits(p))
	if p.Data != nil {
		read.rows, err = resolveData(p, err)
		return read, err
	}
	l := distribution.Lookup(p.Distribution)
	if l == nil {
		return read, errors.Join(err, resolveWithoutPoints(p))
	}
	if concept.ShapeOf(p.Class) == concept.Column {
		var unread error
		read.matrix, unread = resolveMatrix(p)
		err = errors.Join(err, unread)
	}
	err = errors.Join(err, resolveSides(p, l))
	for _, k := range l.Keys {
		if err == nil || *k.Field(p) == 0 { // ranges depend on the other keys
			err = errors.Join(err, k.Resolve(p))
		}
	}
	if err != nil {
		return read, err
	}
	if err := resolveTarget(p, l, distribution.Spec(p, read.matrix)); err != nil {
		return read, err
	}
	return read, checkTest(p, l.Exact(p))
}

// resolveClass checks class and distribution, and that the problem has only one of data and
// distribution.
func resolveClass(p *schemas.Problem) error {
	class, known := concept.Lookup(p.Class)
	distributions := distribution.NamesFor(p.Class)
	switch {
	case !known:
		return blame.Name("problem.class", p.Class, concept.Names())
	case class.Shape == concept.Column && p.Data != nil:
		return refuse("data", "does not apply to the class %s, whose points are the columns of problem.file; leave it out",
			p.Class)
	case class.Shape == concept.InfiniteOrder:
		return checkWithoutPoints(p)
	case p.Data != nil && p.Distribution != "":
		return refuse("distribution", "%q together with problem.data: the rows of the data are the distribution; leave "+
			"one of them out", p.Distribution)
	case p.Data != nil || slices.Contains(distributions, p.Distribution):
		return nil
	case distribution.Lookup(p.Distribution) != nil:
		return refuse("distribution", "%q does not fit the class %s; choose %s", p.Distribution, p.Class,
			wording.Or(distributions))
	}
	return blame.Name("problem.distribution", p.Distribution, distributions)
}

// checkWithoutPoints rejects distributions and data of a class on an infinite order.
func checkWithoutPoints(p *schemas.Problem) error {
	switch {
	case p.Data != nil:
		return refuse("data", "does not apply to the class %s, whose points an adversary chooses; leave it out", p.Class)
	case p.Distribution != "":
		return refuse("distribution", "%q does not apply to the class %s: no distribution on its infinitely many points is "+
			"uniform, an adversary chooses them; leave it out", p.Distribution, p.Class)
	}
	return nil
}

// resolveWithoutPoints resolves the other keys of a problem whose points an adversary chooses.
func resolveWithoutPoints(p *schemas.Problem) error {
	if p.Test != 0 {
		return refuse("test", "%d does not apply to the class %s, which has no distribution to draw a sample from; "+
			"leave it out",
			p.Test, p.Class)
	}
	return refuseTarget(p, "on the class "+p.Class+" an adversary chooses the labels")
}

// checkFits rejects keys that have no meaning for this class and distribution.
func checkFits(p *schemas.Problem) error {
	shape, l := concept.ShapeOf(p.Class), distribution.Lookup(p.Distribution)
	what := p.Class + " under " + p.Distribution
	switch {
	case p.Data != nil:
		what = p.Class + " over data"
	case shape == concept.InfiniteOrder:
		what = "the class " + p.Class
	}
	misfit := func(key, value, only string) error {
		reason := fmt.Sprintf("%s does not apply to %s, only to %s; leave it out, or give each a block of grids",
			value, what, only)
		return refuse(key, "%s", strings.TrimSpace(reason))
	}
	if err := checkDisguise(p, shape); err != nil {
		return err
	}
	switch {
	case p.Matrix != nil && shape != concept.Column:
		return misfit("file", "", "the class matrix")
	case p.Domain != 0 && !shape.HasDomain():
		return misfit("domain", fmt.Sprint(p.Domain), "thresholds, points, intervals, stumps and rectangles")
	case p.Dim != 0 && !shape.HasDim():
		return misfit("d", fmt.Sprint(p.Dim), "stumps, rectangles, conjunctions, parities and halfspaces")
	}
	for _, k := range distribution.Keys() {
		if v := *k.Field(p); v != 0 && (l == nil || !slices.Contains(l.Keys, k)) {
			only := "the distribution"
			if len(k.Distributions()) > 1 {
				only += "s"
			}
			return misfit(k.Name, fmt.Sprint(v), only+" "+wording.And(k.Distributions()))
		}
	}
	return nil
}

// CanDisguise reports whether the rows of a problem can be disguised: data for halfspaces.
func CanDisguise(p *schemas.Problem) bool {
	return p.Data != nil && concept.ShapeOf(p.Class) == concept.Ball
}

// checkDisguise rejects a disguise except for data for halfspaces.
func checkDisguise(p *schemas.Problem, shape concept.Shape) error {
	switch {
	case !p.Disguise:
		return nil
	case p.Data == nil:
		return refuse("disguise", "hides the rows of problem.data, and this problem has none; leave it out")
	case shape != concept.Ball:
		return refuse("disguise", "does not apply to %s, whose concepts are not the same after an isometry, only to "+
			"halfspaces; leave it out", p.Class)
	}
	return nil
}

// resolveSides checks the range of the coordinates of a point, and their number; l is nil over
// data, whose columns determine the number.
func resolveSides(p *schemas.Problem, l *distribution.Distribution) error {
	shape := concept.ShapeOf(p.Class)
	if shape == concept.Scalar || shape == concept.Grid {
		if err := checkDomain(p, leastDomain(p, l)); err != nil {
			return err
		}
	}
	if p.Class == concept.Rectangles && p.Dim == 0 && l != nil {
		p.Dim = 2
	}
	if shape.HasDim() && l != nil {
		return checkDim(p, max(1, l.LeastDim))
	}
	return nil
}

// leastDomain returns the smallest X for which the definitions of the class, and of the
// distribution unless it is nil, are valid.
func leastDomain(p *schemas.Problem, l *distribution.Distribution) uint64 {
	switch {
	case l != nil && l.LeastDomain != nil:
		return l.LeastDomain(p.Class)
	case p.Class == concept.Points:
		return 1
	}
	return 2
}

func checkDomain(p *schemas.Problem, least uint64) error {
	if p.Domain == 0 {
		return refuse("domain", "missing; state X, the numbers of a point being 0..X-1, for example 65536 or 2^16")
	}
	if p.Domain < least || p.Domain > concept.MaxDomain {
		return refuse("domain", "%d is outside [%d, 2^40]", p.Domain, least)
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

// checkTest checks the number of evaluation points. Problem.Test computes the default.
func checkTest(p *schemas.Problem, exact bool) error {
	switch {
	case exact && p.Test != 0:
		return refuse("test", "%d: the error is computed exactly here, without an evaluation sample; leave it out", p.Test)
	case p.Test < 0 || p.Test > MaxPoints:
		return refuse("test", "%d is outside [1, %d]", p.Test, MaxPoints)
	}
	return nil
}

// resolveData checks the keys of data, reads its file and fills in digest, format, features and d. The result is an
// error if there are earlier ones.
func resolveData(p *schemas.Problem, earlier error) (*population.Rows, error) {
	data := *p.Data
	p.Data = &data
	sides := resolveSides(p, nil)
	err := errors.Join(earlier, refuseTarget(p, "the labels are those of the data"), sides)
	if p.Test != 0 {
		err = errors.Join(err, refuse("test", "%d: the error is computed exactly here, over all rows; leave it out", p.Test))
	}
	if sides != nil { // values of the rows cannot be checked
		return nil, err
	}
	rows, unread := population.Read(&data, distribution.Spec(p, ""))
	switch err = errors.Join(err, unread); {
	case unread != nil:
		return nil, err
	case err != nil:
	case !concept.ShapeOf(p.Class).HasDim():
		return rows, nil
	case p.Dim != 0 && p.Dim != rows.Dim:
		err = refuse("d", "%d, but the data has %d numbers per row; leave it out", p.Dim, rows.Dim)
	case p.Disguise && rows.Dim > maxDisguisedDim:
		err = refuse("disguise", "%d numbers per row are more than the %d for which isometries are drawn; set it to "+
			"false, or use fewer columns", rows.Dim, maxDisguisedDim)
	}
	if err != nil {
		_ = rows.Close() // err is the cause
		return nil, err
	}
	p.Dim = rows.Dim
	return rows, nil
}

// resolveMatrix reads the file of a class matrix, returns its labels, and fills in digest, format
// and domain.
func resolveMatrix(p *schemas.Problem) (labels string, err error) {
	if p.Matrix == nil || p.Matrix.File == "" {
		return "", refuse("file", "missing; state the file of the class matrix: a row per hypothesis, a column per point, "+
			"each cell 0 or 1")
	}
	m := *p.Matrix
	p.Matrix = &m
	labels, points, err := population.ReadMatrix(&m, p.Domain)
	if err != nil {
		return "", err
	}
	p.Domain = uint64(points)
	return labels, nil
}
