package concept

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// TestDefinitions checks every class against the contract of Definition.
func TestDefinitions(t *testing.T) {
	testkit.Serial(t)
	for _, d := range definitions {
		if err := contract(d); err != nil {
			t.Errorf("%s:\n%v", d.Name, err)
		}
	}
	names := Names()
	slices.Sort(names)
	if len(slices.Compact(names)) != len(definitions) {
		t.Errorf("two classes have the same name: %v", names)
	}
}

// contract returns every breach of the contract by a definition.
func contract(d *Definition) error {
	var breaches []error
	breach := func(format string, a ...any) { breaches = append(breaches, fmt.Errorf("  "+format, a...)) }
	present := map[string]bool{
		"Name": d.Name != "", "Doc": d.Doc != "", "Shape": d.Shape != 0, "New": d.New != nil, "VC": d.VC != nil,
		"Examples":                     len(d.Examples) > 0,
		"Littlestone or NoLittlestone": (d.Littlestone != nil) != (d.NoLittlestone != ""),
		"Standard or NoSeparator":      (d.Standard != nil) != (d.NoSeparator != ""),
		"WholeDomain or NoSeparator":   (d.WholeDomain != nil) != (d.NoSeparator != ""),
		"Rank":                         (d.Rank != nil) == (d.Shape == InfiniteOrder),
		"Place":                        (d.Place != nil) == (d.Shape == InfiniteOrder),
		"PointsDoc":                    (d.PointsDoc != "") == (d.Shape == InfiniteOrder),
		"Last":                         (d.Last > 0) == (d.Shape == InfiniteOrder),
		"Random":                       (d.Random != nil) == (d.Shape != InfiniteOrder),
		"RandomDoc":                    (d.RandomDoc != "") == (d.Random != nil),
		"Weight":                       (d.Weight != nil) == d.Shape.Finite(),
		"Uniform":                      d.Uniform == nil || d.Shape.Finite(),
		"MiddleDoc": (d.MiddleDoc != "") == (d.Middle != nil) &&
			(d.Middle == nil || d.Shape.Finite()),
		"Parse":    (d.Parse != nil) == d.Shape.Finite(),
		"Write":    (d.Write != nil) == d.Shape.Finite(),
		"Notation": (d.Notation != "") == d.Shape.Finite(),
	}
	for field, ok := range present {
		if !ok {
			breach("%s is missing, or does not belong to the shape of the points", field)
		}
	}
	if len(breaches) > 0 {
		return errors.Join(breaches...)
	}
	made, widest := 0, 0
	for _, s := range slices.Concat(contractSpecs(d), d.Examples) {
		s.Name = d.Name
		c, err := d.New(s)
		switch {
		case err != nil && slices.Contains(d.Examples, s):
			breach("example %+v: %v", s, err)
		case err != nil: // too small for this class
		default:
			made++
			widest = max(widest, s.Dim)
			breaches = append(breaches, checkClass(d, c, s)...)
		}
	}
	if d.Shape.HasDim() && widest < 2 {
		breach("New makes points of one number only, in a shape that has more")
	}
	if made <= len(d.Examples) {
		breach("New makes none of the points and sizes that a class of this shape has")
	}
	if len(breaches) == 0 && d.Shape.Finite() {
		breaches = checkFacts(d)
	}
	return errors.Join(append(breaches, checkRefusals(d)...)...)
}

// contractSpecs returns small classes, whose hypotheses and points can be listed; New may reject
// some of them.
func contractSpecs(d *Definition) (all []Spec) {
	switch d.Shape {
	case Scalar:
		for x := range uint64(6) {
			all = append(all, Spec{Domain: x + 1})
		}
	case Grid:
		for _, x := range []uint64{1, 2, 3, 4} {
			all = append(all, Spec{Domain: x, Dim: 1}, Spec{Domain: x, Dim: 2})
		}
		all = append(all, Spec{Domain: 5, Dim: 1}, Spec{Domain: 2, Dim: 3}, Spec{Domain: 3, Dim: 3})
	case Bits:
		all = []Spec{{Dim: 1}, {Dim: 2}, {Dim: 3}, {Dim: 4}}
	case Column:
		all = []Spec{
			{Domain: 1, Matrix: "0"}, {Domain: 1, Matrix: "01"}, {Domain: 2, Matrix: "0111"},
			{Domain: 5, Matrix: "01101"},
			{Domain: 5, Matrix: "101101001111101"}, {Domain: 4, Matrix: "000011110101011011001001"},
			{Domain: 11, Matrix: "00000000000" + "11111111111" + "10101010101" + "00000000111" + "11100000000" +
				"00011000010"},
		}
	case Ball:
		all = []Spec{{Dim: 1}, {Dim: 2}, {Dim: 3}}
	case InfiniteOrder:
		all = []Spec{{}}
	}
	if d.NoConstant {
		for _, s := range slices.Clone(all) {
			s.NoConstant = true
			all = append(all, s)
		}
	}
	for i := range all {
		all[i].Name = d.Name
	}
	return all
}

// checkRefusals checks that New rejects parameters that a class of this shape does not have, and
// requires its other parameters.
func checkRefusals(d *Definition) (breaches []error) {
	refuse := func(s Spec, why string) {
		s.Name = d.Name
		if _, err := d.New(s); err == nil {
			breaches = append(breaches, fmt.Errorf("  New takes %+v: %s", s, why))
		}
	}
	s := Spec{}
	if len(d.Examples) > 0 {
		s = d.Examples[0]
	}
	other := s
	if other.Domain = 4; d.Shape.HasDomain() {
		other.Domain = 0
	}
	refuse(other, "a domain that is missing or does not apply")
	other = s
	if other.Dim = 2; d.Shape == Bits || d.Shape == Ball {
		other.Dim = 0
	}
	if d.Shape != Grid {
		refuse(other, "a dimension that is missing or does not apply")
	}
	return breaches
}

// checkClass checks one class of a definition.
func checkClass(d *Definition, c Class, s Spec) (breaches []error) {
	breach := func(format string, a ...any) {
		breaches = append(breaches, fmt.Errorf("  %+v: %s", s, fmt.Sprintf(format, a...)))
	}
	if c.Name() != d.Name {
		breach("its points are those of a class named %q", c.Name())
		return breaches
	}
	width := max(1, s.Dim)
	if c.Dim() != width {
		breach("points of %d numbers, want %d", c.Dim(), width)
	}
	if d.Shape == Ball { // the acceptance suite draws points around it
		if l, ok := d.Random(s, 0).(*Linear); !ok || len(l.W) != s.Dim {
			breach("Random makes a %T", d.Random(s, 0))
			return breaches
		}
	}
	f, finite := c.(Finite)
	switch {
	case finite != (c.Size() != nil) || finite != (d.Standard != nil) || finite != d.Shape.Finite():
		breach("a finite class must have Size, Standard and a shape with finitely many points")
	case !finite && d.Littlestone == nil:
		breach("Littlestone of an infinite class cannot be found by searching")
	case !finite:
		breaches = append(breaches, checkInfinite(d, c, s)...)
	default:
		breaches = append(breaches, checkFinite(d, f, s)...)
	}
	return breaches
}

// checkInfinite checks the contract of an infinite class.
func checkInfinite(d *Definition, c Class, s Spec) (breaches []error) {
	vc, ldim := d.VC(c, s), d.Littlestone(c, s)
	if vc != exactly(c.VC()) || !(c.VC() <= ldim.Low && ldim.Low <= ldim.High) {
		breaches = append(breaches, fmt.Errorf("  VC %v, Littlestone %v", vc, ldim))
	}
	if !math.IsInf(c.LogSize(), 1) {
		breaches = append(breaches, fmt.Errorf("  LogSize %v", c.LogSize()))
	}
	if d.Shape != InfiniteOrder {
		return breaches
	}
	if !d.Thresholds {
		return append(breaches, errors.New("  Thresholds: on an infinite order the acceptance suite draws thresholds"))
	}
	breaches = append(breaches, checkOrder(d)...)
	const n = 50
	before := uint64(0)
	var x []float64
	for i := range uint64(n) {
		v := d.Place(i, n)
		rank, ok := d.Rank(v)
		if !ok || i > 0 && rank <= before {
			return append(breaches, fmt.Errorf("  Rank of Place(%d, %d) = %v: %d, %t, after %d", i, n, v, rank, ok,
				before))
		}
		before, x = rank, append(x, v)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), -1} {
		if _, ok := d.Rank(v); ok {
			breaches = append(breaches, fmt.Errorf("  Rank takes %v", v))
		}
	}
	labels := make([]float64, n)
	Threshold(x[n/3]).Labels(x, labels)
	switch least, err := FewestErrors(c, x, labels); {
	case err != nil:
		breaches = append(breaches, fmt.Errorf("  FewestErrors of a sample that a threshold labels: %w", err))
	case least != 0:
		breaches = append(breaches, fmt.Errorf("  FewestErrors %v of a sample that a threshold labels", least))
	}
	return breaches
}

// checkOrder compares First, Last and Dense of a class on an infinite order with the ranks of
// points.
func checkOrder(d *Definition) (breaches []error) {
	rank := func(i, n uint64) uint64 {
		rank, _ := d.Rank(d.Place(i, n))
		return rank
	}
	const all = 1 << 53 // large enough for Place to reach the largest point
	if first, last := rank(0, all), rank(all-1, all); d.First != first || d.Last != last+1 {
		breaches = append(breaches, fmt.Errorf("  First %d, Last %d of ranks %d to %d", d.First, d.Last, first, last))
	}
	for i := range uint64(10) {
		between := rank(i, 10) < rank(2*i+1, 20) && rank(2*i+1, 20) < rank(i+1, 10)
		if d.Dense != between || !d.Dense && rank(i, 10) != d.First+i {
			breaches = append(breaches, fmt.Errorf("  Dense %t, but ranks %d and %d", d.Dense, rank(i, 10),
				rank(i+1, 10)))
		}
	}
	return breaches
}

// brute holds a small class with the labels of all hypotheses at all points.
type brute struct {
	points [][]float64
	rows   [][]float64 // labels, by hypothesis
}

// checkFinite compares all properties of a finite class with brute force. For large classes it
// only checks the labels.
func checkFinite(d *Definition, c Finite, s Spec) (breaches []error) {
	breach := func(format string, a ...any) {
		breaches = append(breaches, fmt.Errorf("  %+v: %s", s, fmt.Sprintf(format, a...)))
	}
	b := &brute{points: slices.Collect(domainOf(d, c, s))}
	if !c.Size().IsInt64() || c.Size().Int64() > 1<<12 {
		return breaches
	}
	inside := map[string]bool{}
	for i := range c.Size().Uint64() {
		row := b.labels(c.Member(i))
		if slices.ContainsFunc(row, func(y float64) bool { return y != -1 && y != 1 }) {
			breach("labels %v of hypothesis %d", row, i)
		}
		inside[signs(row)] = true
		b.rows = append(b.rows, row)
	}
	if len(inside) != len(b.rows) || math.Abs(c.LogSize()-math.Log(float64(len(b.rows)))) > 1e-12 {
		breach("Size %d and LogSize %v of %d distinct hypotheses", len(b.rows), c.LogSize(), len(inside))
	}
	breaches = append(breaches, b.checkTargets(d, c, s)...)
	if len(b.rows) > 64 || len(b.points) > 9 {
		return breaches
	}
	vc, ldim := b.vc(), b.littlestone()
	if got := d.VC(c, s); got.Low > vc || got.High < vc || c.VC() < vc {
		breach("VC %v and %d, by brute force %d", got, c.VC(), vc)
	}
	if d.Littlestone != nil {
		if got := d.Littlestone(c, s); got.Low > ldim || got.High < ldim {
			breach("Littlestone %v, by brute force %d", got, ldim)
		}
	}
	return breaches
}

// checkFacts compares the claims of a definition with the labels of small classes. Each claim
// must hold in all of them, and the negation of each missing claim must hold in one.
func checkFacts(d *Definition) (breaches []error) {
	thresholds, covers := true, true
	for _, s := range contractSpecs(d) {
		made, err := d.New(s)
		if err != nil {
			continue
		}
		c := made.(Finite)
		columns := map[string]bool{} // labels of all hypotheses at some point of Standard
		if c.Size().Uint64() > 1 {
			z, err := d.Standard(c, s)
			if err != nil {
				return append(breaches, fmt.Errorf("  Standard of %+v: %w", s, err))
			}
			for i := range z.Len() {
				columns[columnAt(c, z.Points[i*z.Dim:(i+1)*z.Dim])] = true
			}
		}
		for x := range domainOf(d, c, s) {
			column := columnAt(c, x)
			if !columns[column] && strings.Contains(column, "+") && strings.Contains(column, "-") {
				covers = false
			}
			above := min(int(x[0])+1, len(column))
			if len(x) > 1 || column != strings.Repeat("+", above)+strings.Repeat("-", len(column)-above) {
				thresholds = false
			}
			if got := make([]uint8, len(column)); d.Column != nil {
				for i := range got {
					got[i] = 2 // makes elements visible that Column does not write
				}
				if d.Column(x, got); bitString(got) != column {
					breaches = append(breaches, fmt.Errorf("  Column of %+v at %v: %v, labels %s", s, x, got, column))
				}
			}
		}
	}
	if d.Thresholds != thresholds {
		breaches = append(breaches, fmt.Errorf("  Thresholds %t, by brute force %t", d.Thresholds, thresholds))
	}
	if d.Covers != covers {
		breaches = append(breaches, fmt.Errorf("  Covers %t, by brute force %t", d.Covers, covers))
	}
	return breaches
}

// columnAt returns the labels of all hypotheses of a class at one point, as '-' and '+'.
func columnAt(c Finite, x []float64) string {
	labels := make([]float64, c.Size().Uint64())
	for i := range labels {
		c.Member(uint64(i)).Labels(x, labels[i:i+1])
	}
	return signs(labels)
}

// bitString writes the labels of a Column as '-' and '+', and other numbers as '?'.
func bitString(column []uint8) string {
	text := make([]byte, len(column))
	for i, v := range column {
		text[i] = "-+?"[min(v, 2)]
	}
	return string(text)
}

// domainOf yields all points of a finite class, in an unspecified order.
func domainOf(d *Definition, c Class, s Spec) func(yield func([]float64) bool) {
	side := s.Domain
	if d.Shape == Bits {
		side = 2
	}
	return func(yield func([]float64) bool) {
		x := make([]float64, c.Dim())
		for {
			if !yield(slices.Clone(x)) {
				return
			}
			j := 0
			for ; j < len(x); j++ {
				if x[j]++; x[j] < float64(side) {
					break
				}
				x[j] = 0
			}
			if j == len(x) {
				return
			}
		}
	}
}

// labels returns the labels of all points, computed one at a time.
func (b *brute) labels(h Hypothesis) []float64 {
	y := make([]float64, len(b.points))
	for i, x := range b.points {
		h.Labels(x, y[i:i+1])
	}
	return y
}

// signs writes labels as '-' and '+'.
func signs(y []float64) string {
	text := make([]byte, len(y))
	for i, v := range y {
		if text[i] = '-'; v > 0 {
			text[i] = '+'
		}
	}
	return string(text)
}

// vc returns the size of the largest set of points on which all patterns of labels occur.
func (b *brute) vc() (most int) {
	for set := range 1 << len(b.points) {
		patterns := map[int]bool{}
		for _, row := range b.rows {
			pattern := 0
			for i, y := range row {
				if y > 0 {
					pattern |= 1 << i
				}
			}
			patterns[pattern&set] = true
		}
		if size := bits.OnesCount(uint(set)); len(patterns) == 1<<size {
			most = max(most, size)
		}
	}
	return most
}

// littlestone returns the Littlestone dimension by its definition: the largest number of mistakes
// that an adversary forces by splitting the remaining hypotheses at one point after another.
func (b *brute) littlestone() int {
	known := map[uint64]int{}
	var depth func(set uint64) int
	depth = func(set uint64) int {
		if bits.OnesCount64(set) < 2 {
			return bits.OnesCount64(set) - 1
		}
		if d, ok := known[set]; ok {
			return d
		}
		most := 0
		for v := range b.points {
			plus := uint64(0)
			for i, row := range b.rows {
				if row[v] > 0 {
					plus |= 1 << i
				}
			}
			if plus&set != 0 && set&^plus != 0 {
				most = max(most, 1+min(depth(set&plus), depth(set&^plus)))
			}
		}
		known[set] = most
		return most
	}
	return depth(1<<len(b.rows) - 1)
}
