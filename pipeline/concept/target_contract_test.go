package concept

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkTargets checks the description of targets of a class with at most 4096 hypotheses, whose
// labels b holds: the distributions against their weights, texts against functions.
func (b *brute) checkTargets(d *Definition, c Finite, s Spec) (breaches []error) {
	breach := func(format string, a ...any) {
		breaches = append(breaches, fmt.Errorf("  %+v: %s", s, fmt.Sprintf(format, a...)))
	}
	literals := min(DefaultLiterals, s.Dim)
	number := map[string]int{}
	for i, row := range b.rows {
		number[signs(row)] = i
	}
	weights, uniform := make([]float64, len(b.rows)), make([]float64, len(b.rows))
	sum := 0.0
	for i := range weights {
		weights[i] = d.Weight(s, literals, uint64(i))
		uniform[i] = 1 / float64(len(b.rows))
		sum += weights[i]
	}
	if math.Abs(sum-1) > 1e-9 || slices.Min(weights) < 0 {
		breach("Weight sums to %v, the least is %v", sum, slices.Min(weights))
		return breaches
	}
	if err := b.checkDistribution(d.Random(s, literals), number, weights); err != nil {
		breach("Random against Weight: %v", err)
	}
	switch all := d.Uniform; {
	case all != nil:
		if err := b.checkDistribution(all(s, uint64(len(b.rows))), number, uniform); err != nil {
			breach("Uniform: %v", err)
		}
	case slices.Max(weights)-slices.Min(weights) > 1e-12:
		breach("Uniform is missing: Random is not uniform")
	}
	if d.Shape == Bits {
		changed := false
		for i := range weights {
			changed = changed || s.Dim > 1 && d.Weight(s, 1, uint64(i)) != weights[i]
		}
		if changed != (d.Literals && s.Dim > 1) {
			breach("Literals %t, but the weights change with them: %t", d.Literals, changed)
		}
	} else if d.Literals {
		breach("Literals belong to conjunctions")
	}
	return append(breaches, b.checkTexts(d, c, s, number)...)
}

// checkDistribution checks that equal streams give equal targets, that drawing does not allocate,
// and that the frequencies of the hypotheses match weights, by chi-square.
func (b *brute) checkDistribution(target Target, number map[string]int, weights []float64) error {
	draw := func(r *rand.Rand) []float64 {
		target.Begin(r)
		row := make([]float64, len(b.points))
		for i, x := range b.points {
			row[i] = target.Label(x)
		}
		return row
	}
	if !slices.Equal(draw(rand.New(rand.NewPCG(3, 5))), draw(rand.New(rand.NewPCG(3, 5)))) {
		return errors.New("equal streams give other targets")
	}
	trials := 40 * len(weights)
	if len(weights) > 100 { // only their support is checked
		trials = 200
	}
	r, counts := rand.New(rand.NewPCG(1, 2)), make([]float64, len(weights))
	for range trials {
		row := draw(r)
		i, ok := number[signs(row)]
		if !ok {
			return fmt.Errorf("drew %s, which is not in the class", signs(row))
		}
		counts[i]++
	}
	chi, cells := 0.0, -1.0
	rest, restWeight := 0.0, 0.0 // total of the cells that are too rare for the test
	add := func(count, expected float64) { chi, cells = chi+(count-expected)*(count-expected)/expected, cells+1 }
	for i, w := range weights {
		switch expected := w * float64(trials); {
		case w == 0 && counts[i] > 0:
			return fmt.Errorf("drew hypothesis %d, of weight 0", i)
		case expected >= 5:
			add(counts[i], expected)
		default:
			rest, restWeight = rest+counts[i], restWeight+w
		}
	}
	if restWeight > 0 {
		add(rest, restWeight*float64(trials))
	}
	if most := cells + 6*math.Sqrt(2*max(cells, 1)) + 10; chi > most {
		return fmt.Errorf("chi-square %.1f of %v degrees of freedom", chi, cells)
	}
	x := b.points[0]
	if allocs := testing.AllocsPerRun(20, func() { target.Begin(r); target.Label(x) }); allocs > 0 {
		return fmt.Errorf("%v allocations a trial", allocs)
	}
	return nil
}

// checkTexts checks that each hypothesis has its own text, that parsing the text gives the
// hypothesis, and that it labels points in the same way as a target. It also checks the middle
// hypothesis.
func (b *brute) checkTexts(d *Definition, c Finite, s Spec, number map[string]int) (breaches []error) {
	breach := func(format string, a ...any) {
		breaches = append(breaches, fmt.Errorf("  %+v: %s", s, fmt.Sprintf(format, a...)))
	}
	texts := map[string]bool{}
	check := func(what string, h Hypothesis, row []float64) {
		target := fixed(s, h)
		for i, x := range b.points {
			if target.Label(x) != row[i] {
				breach("%s: as a target it labels %v %v", what, x, target.Label(x))
				return
			}
		}
	}
	for i, row := range b.rows {
		h := c.Member(uint64(i))
		text := d.Write(s, h)
		if texts[text] {
			breach("Write gives %q twice", text)
			return breaches
		}
		texts[text] = true
		read, err := d.Parse(s, text)
		if err != nil || d.Write(s, read) != text || !slices.Equal(b.labels(read), row) {
			breach("Parse of %q: %v, %v", text, read, err)
			return breaches
		}
		check("Parse of "+text, read, row)
		check("Member", h, row)
	}
	for _, wrong := range []string{"", "no hypothesis", "-1", "+1", "1e3", "99999999999999999999", "9..1", "x0>=1"} {
		if h, err := d.Parse(s, wrong); err == nil {
			breach("Parse takes %q: %v", wrong, h)
		}
	}
	if d.Middle == nil {
		return breaches
	}
	row := b.labels(d.Middle(s))
	if _, ok := number[signs(row)]; !ok {
		breach("Middle is not in the class: %v", row)
		return breaches
	}
	check("Middle", d.Middle(s), row)
	return breaches
}
