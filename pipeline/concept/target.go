package concept

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// Target labels the points of a problem in successive trials. It serves one goroutine and does
// not allocate.
type Target interface {
	// Begin starts a trial: it draws a new target, unless the target is the same in all trials.
	Begin(r *rand.Rand)
	// Label returns the label, -1 or +1, of one point of the domain.
	Label(x []float64) float64
	// Labels fills y with the labels of the len(y) points in x, row-major.
	Labels(x, y []float64)
}

// LabelEach fills y with the labels of the len(y) points in x, row-major, one by one.
func LabelEach(x, y []float64, label func(x []float64) float64) {
	dim := len(x) / max(len(y), 1)
	for i := range y {
		y[i] = label(x[i*dim : (i+1)*dim])
	}
}

// Targets describes the hypotheses of a class as targets. It is empty for classes on an
// InfiniteOrder.
type Targets struct {
	// Random creates a target that is drawn for each trial from the class's distribution of
	// targets. A learner without data cannot guess a hypothesis of this distribution. literals is
	// the number of literals of a target if Literals is true, at most Dim. RandomDoc describes
	// the distribution in a phrase.
	Random    func(s Spec, literals int) Target
	RandomDoc string
	Literals  bool // the distribution is over conjunctions of a given number of literals

	// Weight returns the probability of hypothesis number i under the distribution, which sums to
	// 1 over all Size of them; two numbers never represent the same function. Uniform creates a
	// target that is a uniform hypothesis of size; nil if Random already does. Only finite
	// classes have both.
	Weight  func(s Spec, literals int, i uint64) float64
	Uniform func(s Spec, size uint64) Target

	// Prior returns the best answer of a learner without data for uniform points, see NewPrior.
	// It returns false if there is no formula for the arguments; nil: there is none.
	Prior func(s Spec, distribution Drawn, ok Allowed) (Prior, bool)

	// Middle is a hypothesis in the middle of the class, the same in all trials, and MiddleDoc
	// describes it in a phrase; a class without one has neither.
	Middle    func(s Spec) Hypothesis
	MiddleDoc string

	// Parse parses a hypothesis in the syntax of sweep files, and Write writes its canonical
	// text: equal functions have equal texts. The error of Parse describes the syntax error.
	// Notation describes the syntax, with an example. Only finite classes have these fields.
	Parse    func(s Spec, text string) (Hypothesis, error)
	Write    func(s Spec, h Hypothesis) string
	Notation string
}

// Names of targets in sweep files. Any other text is that of a hypothesis; EachTarget lists all
// hypotheses and does not name a single one.
const (
	RandomTarget  = "random"
	UniformTarget = "uniform"
	MiddleTarget  = "middle"
	EachTarget    = "each"
)

// The number of literals of a random conjunction: DefaultLiterals if there are as many bits, and
// MaxLiterals at most.
const (
	DefaultLiterals = 2
	MaxLiterals     = 64
)

// ParseTarget parses the target of a sweep file: a name, or the text of a hypothesis of the class
// that New creates from s. It returns the canonical text, and a function that creates such
// targets. literals, which only a random conjunction uses, is between 1 and Dim. The error names
// the problem and valid texts.
func ParseTarget(s Spec, text string, literals int) (canonical string, makeTarget func() Target, err error) {
	d, _ := Lookup(s.Name)
	switch {
	case d == nil || d.Random == nil:
		return "", nil, fmt.Errorf("the class %s has no distribution of targets: an adversary chooses the labels", s.Name)
	case text == RandomTarget:
		return text, func() Target { return d.Random(s, literals) }, nil
	case d.Parse == nil:
		return "", nil, fmt.Errorf("the class %s has infinitely many hypotheses, of which none has a text: write %s",
			s.Name, RandomTarget)
	case text == UniformTarget:
		makeTarget, err = uniformTargets(d, s)
		return text, makeTarget, err
	case text == MiddleTarget && d.Middle == nil:
		return "", nil, fmt.Errorf("the class %s has no hypothesis in its middle: write %s, %s or %s",
			s.Name, RandomTarget, UniformTarget, d.Notation)
	case text == MiddleTarget:
		return text, func() Target { return fixed(s, d.Middle(s)) }, nil
	}
	if _, err := New(s); err != nil {
		return "", nil, err
	}
	h, err := d.Parse(s, text)
	if err != nil {
		return "", nil, d.explain(err, text)
	}
	return d.Write(s, h), func() Target { return fixed(s, h) }, nil
}

// explain adds the valid texts to the error of Parse.
func (d *Definition) explain(err error, text string) error {
	names := []string{RandomTarget, UniformTarget, MiddleTarget, EachTarget}
	if d.Middle == nil {
		names = slices.DeleteFunc(names, func(name string) bool { return name == MiddleTarget })
	}
	if nearest, ok := wording.Nearest(text, names); ok {
		return fmt.Errorf("%w; did you mean %q?", err, nearest)
	}
	return fmt.Errorf("%w; write %s, or %s", err, d.Notation, wording.Or(names[:len(names)-1]))
}

// uniformTargets returns a function that creates uniform targets of a finite class.
func uniformTargets(d *Definition, s Spec) (func() Target, error) {
	c, err := New(s)
	switch {
	case err != nil:
		return nil, err
	case d.Uniform == nil:
		return func() Target { return d.Random(s, min(DefaultLiterals, s.Dim)) }, nil
	case !c.Size().IsUint64():
		return nil, fmt.Errorf("the class %s has more than 2^64 hypotheses here, too many to draw a uniform one: write %s",
			s.Name, RandomTarget)
	}
	size := c.Size().Uint64()
	return func() Target { return d.Uniform(s, size) }, nil
}

// ErrTooMany means that a class has more hypotheses than the limit of a list.
var ErrTooMany = errors.New("too many hypotheses to list")

// Hypotheses lists the texts of all hypotheses of the class that New creates from s, by their
// numbers. The error wraps ErrTooMany if there are more than most, or infinitely many.
func Hypotheses(s Spec, most int) ([]string, error) {
	c, err := New(s)
	if err != nil {
		return nil, err
	}
	d := definitionOf(c)
	finite, ok := c.(Finite)
	switch {
	case !ok:
		return nil, fmt.Errorf("the class %s has infinitely many hypotheses: %w", d.Name, ErrTooMany)
	case !c.Size().IsInt64() || c.Size().Int64() > int64(most):
		return nil, fmt.Errorf("the class %s has %s hypotheses here, and %d is the most: %w",
			d.Name, c.Size(), most, ErrTooMany)
	}
	texts := make([]string, c.Size().Int64())
	for i := range texts {
		texts[i] = d.Write(s, finite.Member(uint64(i)))
	}
	return texts, nil
}

// fixed returns the target that is h, a hypothesis of the finite class of s, in all trials.
func fixed(s Spec, h Hypothesis) Target {
	switch h := h.(type) {
	case Parity:
		return &parityTarget{Parity: h}
	case Row:
		return &rowTarget{row: h}
	}
	if b, ok := BoxOf(s, h); ok {
		return b
	}
	panic(fmt.Sprintf("concept: no target for a %T", h))
}

// Box is a Target that labels the points with Low <= x <= High in every coordinate +1: an
// axis-parallel box, or nothing. Low and High are the ends in the current trial.
type Box struct {
	Low, High    []float64
	top          float64                    // upper end of each coordinate of a point; 0: unknown
	distribution func(b *Box, r *rand.Rand) // draws the ends; nil: they are the same in all trials
}

// wholeBox returns the box of all points of dim numbers 0..side-1.
func wholeBox(dim int, side uint64) *Box {
	b := &Box{Low: make([]float64, dim), High: make([]float64, dim), top: float64(side - 1)}
	for j := range b.High {
		b.High[j] = b.top
	}
	return b
}

// drawn sets the distribution of b and returns b.
func (b *Box) drawn(distribution func(b *Box, r *rand.Rand)) *Box {
	b.distribution = distribution
	return b
}

// Begin implements Target.
func (b *Box) Begin(r *rand.Rand) {
	if b.distribution != nil {
		b.distribution(b, r)
	}
}

// Label implements Target.
func (b *Box) Label(x []float64) float64 {
	for j, v := range x {
		if v < b.Low[j] || v > b.High[j] {
			return -1
		}
	}
	return 1
}

// Labels implements Target.
func (b *Box) Labels(x, y []float64) {
	dim := len(b.Low)
	for i := range y {
		y[i] = 1
	}
	for j := range b.Low {
		r := Range{b.Low[j], b.High[j]}
		if b.top > 0 && r.Lo <= 0 && r.Hi >= b.top {
			continue // this coordinate contains the whole domain
		}
		at := j
		for i, label := range y {
			y[i] = math.Float64frombits(math.Float64bits(label) | r.outside(x[at]))
			at += dim
		}
	}
}

// limit sets the ends of coordinate j, which must be unlimited, to those of r within the domain.
// An empty r gives an end below its start.
func (b *Box) limit(j int, r Range) {
	top := b.High[j]
	b.Low[j], b.High[j] = min(max(r.Lo, 0), top+1), max(min(r.Hi, top), -1)
}

// cut restricts the box, which must be unlimited, to that of a stump.
func (b *Box) cut(s Stump) {
	if s.Above > 0 {
		b.limit(s.Axis, Range{s.T, math.Inf(1)})
	} else {
		b.limit(s.Axis, Range{math.Inf(-1), s.T - 1})
	}
}

// require restricts the box, which must be unlimited, to that of a conjunction.
func (b *Box) require(c Conjunction) {
	for j := range b.Low {
		b.Low[j], b.High[j] = float64(c.Ones>>j&1), float64(1-c.Zeros>>j&1)
	}
}

// parityTarget is a parity of a set of coordinates.
type parityTarget struct {
	Parity
	random bool // a new set in each trial, every set equally likely
}

// Begin implements Target.
func (t *parityTarget) Begin(r *rand.Rand) {
	if !t.random {
		return
	}
	t.Set = 0
	for j := range t.Dim {
		t.Set |= r.Uint64() >> 63 << j
	}
}

// Label implements Target.
func (t *parityTarget) Label(x []float64) float64 {
	var y [1]float64
	t.Labels(x, y[:])
	return y[0]
}

// rowTarget is a row of a class matrix.
type rowTarget struct {
	row    Row
	spec   Spec
	random bool // a new row in each trial, every row equally likely
}

// Begin implements Target.
func (t *rowTarget) Begin(r *rand.Rand) {
	if t.random {
		t.row = rowAt(t.spec, r.Uint64N(rowsIn(t.spec)))
	}
}

// Label implements Target.
func (t *rowTarget) Label(x []float64) float64 { return t.row.label(x[0]) }

// Labels implements Target.
func (t *rowTarget) Labels(x, y []float64) { t.row.Labels(x, y) }

// differs returns the share of the points at which the label of the row is not label, '0' or '1',
// of the point.
func (t *rowTarget) differs(label func(point int) byte) float64 {
	n := 0
	for v := range len(t.row) {
		if t.row[v] != label(v) {
			n++
		}
	}
	return float64(n) / float64(len(t.row))
}
