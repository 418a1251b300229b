package estimate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Form is the form of a function that is fitted through the cells of an algorithm. It has one
// coefficient for each term.
type Form struct {
	Name       string // value in the sweep file
	LogX, LogY bool
	Doc        string
}

// Forms returns all forms, in display order.
func Forms() []Form {
	return []Form{
		{"power", true, true, "y = C t1^a1 t2^a2 ...: the estimate of a term t is its exponent a"},
		{"sum", false, false, "y = c1 t1 + c2 t2 + ..., where the term 1 is a constant: the estimate of a term is its " +
			"coefficient c"},
		{"exponential", false, true, "y = C exp(r1 t1 + r2 t2 + ...): the estimate of a term is its rate r"},
	}
}

// FormNamed returns the form with a name, and reports whether it exists.
func FormNamed(name string) (Form, bool) {
	for _, f := range Forms() {
		if f.Name == name {
			return f, true
		}
	}
	return Form{}, false
}

// Constant reports whether the form has a constant factor, in addition to its terms.
func (f Form) Constant() bool { return f.LogY }

// Formula returns the form in words, with a text for each coefficient: "C epsilon^-1 d^0.5".
func (f Form) Formula(terms, coefficients []string) string {
	parts := make([]string, len(terms))
	for i, term := range terms {
		simple := !strings.ContainsAny(term, " /^")
		switch {
		case term == "1":
			parts[i] = coefficients[i]
		case f.LogX && simple:
			parts[i] = term + "^" + coefficients[i]
		case f.LogX:
			parts[i] = "(" + term + ")^" + coefficients[i]
		default:
			parts[i] = coefficients[i] + " " + term
		}
	}
	switch {
	case f.LogX:
		return "C " + strings.Join(parts, " ")
	case f.LogY:
		return "C exp(" + Sum(parts) + ")"
	}
	return Sum(parts)
}

// Sum joins summands, of which some begin with a minus sign: "2 d - 3".
func Sum(parts []string) string {
	return strings.ReplaceAll(strings.Join(parts, " + "), " + -", " - ")
}

// Place converts the value of a term to the scale on which the form is linear. It is not finite if
// the value has no place.
func (f Form) Place(x float64) float64 { return lnIf(f.LogX, x) }

func lnIf(log bool, v float64) float64 {
	if log {
		return math.Log(v)
	}
	return v
}

// An Observation is the measured value of one cell, with its trials.
type Observation struct {
	Y        float64
	Error    float64  // standard error of Y or, if Relative, of ln Y
	Relative bool     // the standard error is proportional to Y
	Data     [32]byte // data: cells with equal Data use the same data for equal sizes and repetitions
	Parts    []Repetitions
}

// Repetitions are the trials 0..Count-1 of one sample size.
type Repetitions struct {
	N       int64
	Count   int
	Success numeric.BitSet // repetitions that succeeded
	Effect  float64        // change of the estimate by a success instead of a miss
	Values  []float64      // one value per repetition, NaN if it failed; replaces Success and Effect
}

// deviations adds factor times the deviations of the repetitions' contributions from their mean.
func (r *Repetitions) deviations(to []float64, factor float64) {
	contribution := func(rep int) float64 {
		switch {
		case r.Values != nil:
			return r.Values[rep]
		case r.Success.Has(int64(rep)):
			return r.Effect
		}
		return 0
	}
	mean, n := 0.0, 0
	for rep := range r.Count {
		if v := contribution(rep); v == v {
			mean, n = mean+v, n+1
		}
	}
	mean /= float64(n)
	for rep := range r.Count {
		if v := contribution(rep); v == v {
			to[rep] += float64(factor * (v - mean))
		}
	}
}

// MeanError returns the standard error of the mean of the values.
func (r *Repetitions) MeanError() float64 {
	n := 0
	for _, v := range r.Values {
		if v == v {
			n++
		}
	}
	return math.Sqrt(r.square() / float64(n-1) / float64(n))
}

// A Coefficient is the estimate for one term.
type Coefficient struct {
	Value     float64 // NaN: none
	Error     float64 // standard error, including Regression.Inflation; NaN: none
	Low, High float64 // interval Value -+ z Error; NaN: none
	Theory    float64 // coefficient of the theory's values, with the same weights; NaN: none
}

// A Regression is a form that is fitted through several cells.
type Regression struct {
	Coefficients []Coefficient // one for each term
	Constant     float64       // factor C of the form; NaN: none
	Freedom      int           // number of cells less the number of coefficients, with the constant
	ChiSquare    float64       // sum of squared residuals, each divided by its standard error; NaN: none
	PValue       float64       // probability of a ChiSquare as large if the form is right; NaN: none

	// Inflation is sqrt(max(1, ChiSquare/Freedom)), or NaN if there is none. Above 1, the cells
	// scatter more than their trials explain, or have another form.
	Inflation float64
	Reason    string // missing results, with the reason

	level float64
}

// Fits reports whether the cells are compatible with the form.
func (r *Regression) Fits() bool { return !(r.PValue < r.level) }

// Verdict compares the interval of a coefficient with a claimed value. It is empty if there is no
// interval.
func (r *Regression) Verdict(term int, claimed float64) string {
	c := r.Coefficients[term]
	switch {
	case math.IsNaN(c.Low):
		return ""
	case !r.Fits():
		return "none: the model does not fit"
	case claimed < c.Low || claimed > c.High:
		return fmt.Sprintf("rejected at %.4g %%", 100*(1-r.level))
	}
	return "not rejected"
}

// Errors returns the number of standard errors from an estimate to the ends of its interval, if
// the intervals of several terms miss any true value with probability at most level together.
func Errors(terms int, level float64) float64 {
	return mathext.NormalQuantile(1 - level/float64(2*terms))
}

// Regress fits a form by weighted least squares. x holds the values of the terms for each cell, and
// theory holds the theory's values or NaN. The intervals of all coefficients together miss a
// true value with probability near level if the form is right.
//
// The weights are the inverse variances of the cells. For sample sizes, variances come from the
// likelihood of the trials, see [Effects]. The standard errors of the coefficients account for
// cells that share data: the deviations of a repetition from the mean of its size are summed over
// the cells that used it, and each cell's sum is scaled to the cell's own standard error.
//
// The standard error of a single cell is itself uncertain, and weights by errors that chance made
// small would be too unequal. Therefore the square of each relative error is averaged with the
// square of the median error. Relative errors of a form that is not logarithmic refer to the
// fitted values, because measured values would give more weight to cells that are too low by
// chance.
func Regress(
	form Form, x [][]float64, terms int, cells []*Observation, theory []float64, level float64,
) Regression {
	nan := math.NaN()
	r := Regression{Constant: nan, ChiSquare: nan, PValue: nan, Inflation: nan, level: level}
	r.Coefficients = slices.Repeat([]Coefficient{{nan, nan, nan, nan, nan}}, terms)
	if len(x) == 0 {
		r.Reason = "no cell has a value to fit"
		return r
	}
	columns := designOf(form, x)
	if r.Freedom = len(cells) - len(columns); r.Freedom < 0 {
		r.Reason = fmt.Sprintf("%s cannot determine %s", wording.Count(len(cells), "cell"),
			wording.Count(len(columns), "coefficient"))
		return r
	}
	y, expected := make([]float64, len(cells)), make([]float64, len(cells))
	for i, o := range cells {
		if y[i] = lnIf(form.LogY, o.Y); !isNumber(y[i]) {
			r.Reason = fmt.Sprintf("the value %.4g of a cell has no logarithm", o.Y)
			return r
		}
		expected[i] = o.Y
	}
	var se []float64
	var scatter bool
	var rows [][]float64
	for range 4 { // until the fitted values, which determine relative errors, have settled
		se, scatter = errorsOf(form, cells, expected)
		if rows = leastSquares(columns, se); rows == nil {
			r.Reason = "the terms are collinear in these cells"
			return r
		}
		if form.LogY {
			break
		}
		for i, fitted := range apply(columns, product(rows, y)) {
			if fitted > 0 {
				expected[i] = fitted
			}
		}
	}
	values := product(rows, y)
	for k := range terms {
		r.Coefficients[k].Value = values[k]
	}
	if form.Constant() {
		r.Constant = math.Exp(values[terms])
	}
	r.addTheory(form, rows, theory)
	r.addErrors(rows, cells, se, scatter, residuals(columns, values, y, se))
	return r
}

// addErrors sets the standard errors, the intervals and the goodness of fit.
func (r *Regression) addErrors(rows [][]float64, cells []*Observation, se []float64, scatter bool, chi float64) {
	terms := len(r.Coefficients)
	factor, width := 1.0, Errors(terms, r.level)
	var variances []float64
	switch freedom := float64(r.Freedom); {
	case scatter && r.Freedom == 0:
		variances = variancesOf(rows[:terms], cells, se)
		r.Reason = "as many coefficients as cells: the form is not tested"
	case scatter:
		variances = variancesOf(rows[:terms], cells, se)
		r.ChiSquare, r.PValue = chi, distuv.ChiSquared{K: freedom}.Survival(chi)
		r.Inflation = math.Sqrt(max(1, chi/freedom))
		factor = r.Inflation
	case r.Freedom == 0:
		r.Reason = "no standard error: the repetitions do not scatter, and as many coefficients as cells leave no residuals"
		return
	default:
		variances = variancesOf(rows[:terms], make([]*Observation, len(cells)), se)
		factor = math.Sqrt(chi / freedom)
		width = distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(1 - r.level/float64(2*terms))
		r.Reason = "the repetitions do not scatter: the standard errors are those of the residuals"
	}
	for k := range r.Coefficients {
		c := &r.Coefficients[k]
		c.Error = float64(factor * math.Sqrt(variances[k]))
		half := float64(width * c.Error)
		c.Low, c.High = c.Value-half, c.Value+half
	}
}

// addTheory sets the coefficients of the theory's values, if all cells have one.
func (r *Regression) addTheory(form Form, rows [][]float64, theory []float64) {
	y := make([]float64, len(theory))
	for i, v := range theory {
		if y[i] = lnIf(form.LogY, v); !isNumber(y[i]) {
			return
		}
	}
	for k, v := range product(rows[:len(r.Coefficients)], y) {
		r.Coefficients[k].Theory = v
	}
}

// designOf returns the columns of the design matrix: the terms on the form's scale, and 1 for the
// constant.
func designOf(form Form, x [][]float64) (columns [][]float64) {
	for k := range x[0] {
		column := make([]float64, len(x))
		for i := range x {
			column[i] = form.Place(x[i][k])
		}
		columns = append(columns, column)
	}
	if form.Constant() {
		columns = append(columns, slices.Repeat([]float64{1}, len(x)))
	}
	return columns
}

// errorsOf returns the standard errors of the cells on the form's scale, after the average that
// [Regress] describes, and whether any cell scatters. A cell without scatter gets the least error
// of the cells that scatter; if none does, all errors are 1.
func errorsOf(form Form, cells []*Observation, expected []float64) (se []float64, scatter bool) {
	se = make([]float64, len(cells))
	var relative []float64
	for _, o := range cells {
		if o.Relative {
			relative = append(relative, o.Error)
		}
	}
	slices.Sort(relative)
	least := math.Inf(1)
	for i, o := range cells {
		se[i] = o.Error
		if o.Relative {
			se[i] = math.Hypot(o.Error, relative[len(relative)/2]) / math.Sqrt2
		}
		switch {
		case form.LogY && !o.Relative:
			se[i] /= math.Abs(o.Y)
		case !form.LogY && o.Relative:
			se[i] *= expected[i]
		}
		if se[i] > 0 {
			least = min(least, se[i])
		}
	}
	scatter = !math.IsInf(least, 1)
	for i := range se {
		switch {
		case !scatter:
			se[i] = 1
		case !(se[i] > 0):
			se[i] = least
		}
	}
	return se, scatter
}

// leastSquares returns the matrix that maps the values of cells with the standard errors se to the
// coefficients of the columns. It returns nil if the columns are collinear. It orthogonalizes the
// columns by the method of Gram and Schmidt.
func leastSquares(columns [][]float64, se []float64) (rows [][]float64) {
	// Relative length of the part of a column that is orthogonal to the others.
	const rank = 1e-9
	q, upper := make([][]float64, len(columns)), make([][]float64, len(columns)) // columns = q upper
	for k, column := range columns {
		v := make([]float64, len(column))
		for i := range v {
			v[i] = column[i] / se[i]
		}
		length := math.Sqrt(numeric.Dot(v, v))
		upper[k] = make([]float64, len(columns))
		for range 2 { // the second pass removes rounding errors of the first
			for j := range k {
				along := numeric.Dot(q[j], v)
				upper[j][k] += along
				for i := range v {
					v[i] -= float64(along * q[j][i])
				}
			}
		}
		upper[k][k] = math.Sqrt(numeric.Dot(v, v))
		if !(upper[k][k] > rank*length) {
			return nil
		}
		for i := range v {
			v[i] /= upper[k][k]
		}
		q[k] = v
	}
	rows = make([][]float64, len(columns))
	for k := len(columns) - 1; k >= 0; k-- {
		rows[k] = make([]float64, len(se))
		for i := range se {
			v := q[k][i] / se[i]
			for j := k + 1; j < len(columns); j++ {
				v -= float64(upper[k][j] * rows[j][i])
			}
			rows[k][i] = v / upper[k][k]
		}
	}
	return rows
}

// product returns the products of the rows with y.
func product(rows [][]float64, y []float64) []float64 {
	out := make([]float64, len(rows))
	for k, row := range rows {
		out[k] = numeric.Dot(row, y)
	}
	return out
}

// apply returns the fitted values of the cells.
func apply(columns [][]float64, values []float64) []float64 {
	out := make([]float64, len(columns[0]))
	for k, column := range columns {
		for i := range column {
			out[i] += float64(values[k] * column[i])
		}
	}
	return out
}

// residuals returns the sum of squared residuals, each divided by its standard error.
func residuals(columns [][]float64, values, y, se []float64) (sum float64) {
	for i, fitted := range apply(columns, values) {
		residual := (y[i] - fitted) / se[i]
		sum += float64(residual * residual)
	}
	return sum
}

// A pool holds the repetitions of one sample size of shared data.
type pool struct {
	parts []*Repetitions
	cells []int
}

// variancesOf returns the variance of each row's product with the cells' values. nil cells, and
// cells without repetitions, are independent of the others.
func variancesOf(rows [][]float64, cells []*Observation, se []float64) []float64 {
	type key struct {
		data [32]byte
		n    int64
	}
	known := map[key]*pool{}
	var pools []*pool
	scales := make([]float64, len(cells)) // standard error by length of the vector of deviations
	out := make([]float64, len(rows))
	for i, o := range cells {
		square := 0.0
		for j := 0; o != nil && j < len(o.Parts); j++ {
			part := &o.Parts[j]
			square += part.square()
			p := known[key{o.Data, part.N}]
			if p == nil {
				p = &pool{}
				known[key{o.Data, part.N}] = p
				pools = append(pools, p)
			}
			p.parts, p.cells = append(p.parts, part), append(p.cells, i)
		}
		if square > 0 {
			scales[i] = se[i] / math.Sqrt(square)
			continue
		}
		for k, row := range rows {
			out[k] += float64(float64(row[i]*se[i]) * float64(row[i]*se[i]))
		}
	}
	for _, p := range pools {
		for k, row := range rows {
			out[k] += p.square(row, scales)
		}
	}
	return out
}

// square returns the sum of the squared deviations of the repetitions.
func (r *Repetitions) square() float64 {
	p := pool{[]*Repetitions{r}, []int{0}}
	return p.square([]float64{1}, []float64{1})
}

// square returns the sum over repetitions of the squared sum over cells of their deviations.
func (p *pool) square(row, scales []float64) (sum float64) {
	most := 0
	for _, part := range p.parts {
		most = max(most, part.Count)
	}
	total := make([]float64, most)
	for j, part := range p.parts {
		part.deviations(total, float64(row[p.cells[j]]*scales[p.cells[j]]))
	}
	for _, v := range total {
		sum += float64(v * v)
	}
	return sum
}

func isNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
