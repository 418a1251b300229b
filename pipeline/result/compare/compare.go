package compare

import (
	"fmt"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Comparison holds the pairs of cells of a [Matching] and what was found about each of them.
type Comparison struct {
	*Matching
	level      float64 // of all tests together
	pairs      [][2]int
	evidence   []*evidence // of each pair
	judgements []estimate.Judgement
}

// Compare tests the trials of each pair of cells and judges it. The tests share level as in Holm's
// method.
//
// It returns an [IncomparableError] if there are no pairs, and a [ReadError] if the trials of a
// result cannot be read.
func (m *Matching) Compare(level float64) (*Comparison, error) {
	c := &Comparison{Matching: m, level: level, pairs: m.pairs()}
	if len(c.pairs) == 0 {
		return nil, m.noPairs()
	}
	for _, t := range []*Table{m.a, m.b} {
		if err := t.readTrials(); err != nil {
			return nil, err
		}
	}
	pairs := make([]estimate.Pair, len(c.pairs))
	for k, ij := range c.pairs {
		e := m.evidence(ij[0], ij[1])
		c.evidence = append(c.evidence, e)
		pairs[k] = estimate.Pair{A: m.a.side(ij[0]), B: m.b.side(ij[1]), Tests: e.tests}
	}
	c.judgements = estimate.Compare(pairs, level)
	for k, ij := range c.pairs {
		if m.a == m.b && ij[0] == ij[1] {
			c.judgements[k].Verdict = estimate.NotToldApart // itself, decided or not
		}
	}
	return c, nil
}

// Differ reports whether any pair of cells was told apart.
func (c *Comparison) Differ() bool { return c.count(estimate.Differ) > 0 }

// count returns the number of pairs with a verdict.
func (c *Comparison) count(verdict string) (n int) {
	for _, j := range c.judgements {
		n += oneIf(j.Verdict == verdict)
	}
	return n
}

// Summary says in one line what was found and how sure that is.
func (c *Comparison) Summary() string {
	what := wording.CountOf(len(c.pairs), "pair of cells", "pairs of cells")
	switch {
	case len(c.by) == 0 && c.a.online:
		what = wording.Count(len(c.pairs), "row")
	case len(c.by) == 0:
		what = wording.Count(len(c.pairs), "cell")
	}
	line := fmt.Sprintf("%s compared, %d not told apart, %d differ, %d unknown",
		what, c.count(estimate.NotToldApart), c.count(estimate.Differ), c.count(estimate.Unknown))
	for side, t := range []*Table{c.a, c.b} {
		if n := t.sheet.Len() - c.rowsUsed(side); n > 0 && len(c.by) == 0 {
			line += fmt.Sprintf(", %d only in %s", n, []string{"A", "B"}[side])
		}
	}
	return line + "; " + c.confidence()
}

// rowsUsed returns the number of rows of a side that are in a pair.
func (c *Comparison) rowsUsed(side int) int {
	rows := map[int]bool{}
	for _, ij := range c.pairs {
		rows[ij[side]] = true
	}
	return len(rows)
}

// confidence says how sure everything together is: the levels of both tables and of the tests add
// up.
func (c *Comparison) confidence() string {
	together := 1.0
	var parts []string
	add := func(confidence float64, what string) {
		together -= 1 - confidence
		parts = append(parts, fmt.Sprintf("%.4g of %s", confidence, what))
	}
	switch a, b := c.a.sheet.Confidence, c.b.sheet.Confidence; {
	case c.a == c.b && a > 0:
		add(a, "the brackets")
	case a > 0 && b > 0:
		add(a, "the brackets of A")
		add(b, "those of B")
	}
	tests := 0
	for _, e := range c.evidence {
		tests += len(e.tests)
	}
	if tests > 0 {
		add(1-c.level, fmt.Sprintf("the tests (%d)", tests))
	}
	if len(parts) == 0 {
		return "no tests, no brackets"
	}
	return fmt.Sprintf("confidence %.4g for all of them together: %s", max(0, together), strings.Join(parts, ", "))
}
