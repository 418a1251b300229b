package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// maxFindings is the maximum number of sentences, and of algorithms in one, of [Findings].
const maxFindings = 6

// A finding holds the decided cells of one algorithm at one budget.
type finding struct {
	name              string
	cells             int
	low, high         float64 // union of the brackets
	provedLow, proved float64 // least and largest bound; 0: none
	search            bool    // name is the whole sentence, about a search over another number than n
}

// A beyond holds the algorithms of one problem that have cells above the range of the search.
type beyond struct {
	names []string // each with its budget
	cells int
	n     float64 // sample size that is insufficient in all of these cells
}

func (b *beyond) add(name string, n float64) {
	b.cells++
	if b.n = min(b.n, n); !slices.Contains(b.names, name) {
		b.names = append(b.names, name)
	}
}

// describe names the algorithms. Some of them may have decided cells.
func (b *beyond) describe(decided []*finding) string {
	verb := " needs"
	if len(b.names) > 1 {
		verb = " need"
	}
	text := fmt.Sprintf("%s%s more than %.0f", wording.Few(b.names, maxFindings), verb, b.n)
	switch {
	case slices.ContainsFunc(decided, func(f *finding) bool { return slices.Contains(b.names, f.name) }):
		text += " in " + wording.Count(b.cells, "other cell")
	case b.cells > len(b.names):
		text += " in " + wording.Count(b.cells, "cell")
	}
	return text
}

// Findings answers how many examples suffice, from a table with brackets: a sentence for each class
// and distribution with decided cells. For a curve without a goal it states the errors, and for
// fits and audits their results. It returns nil for other tables.
func Findings(s *sheet.Sheet) (lines []string) {
	switch {
	case s.Name == "curve":
		return append(errorSentences(s), risingErrors(s)...)
	case s.Name == "fits":
		return fitSentences(s, false)
	case s.Index("epsilon_low") >= 0:
		return auditSentences(s)
	}
	if s.Index("n_low") < 0 || s.Index("class") < 0 {
		return nil
	}
	var problems []string
	of, above := map[string][]*finding{}, map[string]*beyond{}
	for row := range s.Len() {
		search := s.Index("search") >= 0 && s.Value(row, "search") != nil
		if !search && short(s.Value(row, "status")) == estimate.StatusAboveRange {
			problem, name := subject(s, row)
			if above[problem] == nil {
				above[problem] = &beyond{n: math.Inf(1)}
			}
			above[problem].add(name, s.Number(row, "n_low"))
		}
		if short(s.Value(row, "status")) != estimate.StatusDecided || !search && math.IsNaN(s.Number(row, "n_high")) {
			continue
		}
		problem, name := subject(s, row)
		if search {
			name = searchSentence(s, row)
		}
		if of[problem] == nil {
			problems = append(problems, problem)
		}
		i := slices.IndexFunc(of[problem], func(f *finding) bool { return f.name == name })
		if i < 0 {
			i = len(of[problem])
			of[problem] = append(of[problem],
				&finding{name: name, low: math.Inf(1), provedLow: math.Inf(1), search: search})
		}
		f := of[problem][i]
		f.cells++
		f.low, f.high = min(f.low, s.Number(row, "n_low")), max(f.high, s.Number(row, "n_high"))
		if bound := s.Number(row, "theory_n"); bound == bound {
			f.provedLow, f.proved = min(f.provedLow, bound), max(f.proved, bound)
		}
	}
	for i, problem := range problems {
		if i == maxFindings {
			return append(lines, fmt.Sprintf("%d more problems are in the table", len(problems)-i))
		}
		lines = append(lines, problem+": "+strings.Join(answers(of[problem], above[problem]), "; "))
	}
	return lines
}

// answers describes the findings of one problem; above is nil if no cell is above the range.
func answers(findings []*finding, above *beyond) (parts []string) {
	for i, f := range findings {
		if i == maxFindings {
			parts = append(parts, fmt.Sprintf("%d more in the table", len(findings)-i))
			break
		}
		parts = append(parts, f.String())
	}
	if above != nil {
		parts = append(parts, above.describe(findings))
	}
	return parts
}

// subject names the problem of a row, and its algorithm with the budget.
func subject(s *sheet.Sheet, row int) (problem, name string) {
	text := func(column string) string { return short(s.Value(row, column)) }
	problem = strings.Join(strings.Fields(strings.Join(
		[]string{text("class"), text("distribution"), text("file"), text("data")}, " ")), ", ")
	name = text("algorithm")
	if epsilon := text("epsilon"); epsilon != "" {
		name += " at epsilon " + epsilon
	}
	return problem, name
}

// searchSentence describes the result of the search that a row belongs to: "acme/one at n 4000: queries 2 suffices and
// 10 does not".
func searchSentence(s *sheet.Sheet, row int) string {
	text := func(column string) string { return short(s.Value(row, column)) }
	line := text("algorithm")
	for _, column := range []string{"epsilon", "search_n"} {
		if value := text(column); value != "" && column != text("search") {
			line += " at " + strings.TrimPrefix(column, "search_") + " " + value
		}
	}
	line += fmt.Sprintf(": %s %s suffices and %s does not", text("search"), text("search_sufficient"),
		text("search_insufficient"))
	if bound := text("search_theory"); bound != "" {
		line += " (bound " + bound + ")"
	}
	return line
}

func (f *finding) String() string {
	if f.search {
		return f.name
	}
	text := fmt.Sprintf("%s needs %.0f to %.0f examples", f.name, f.low+1, f.high)
	if f.cells > 1 {
		text = fmt.Sprintf("%s has %d cells, whose brackets span %.0f to %.0f examples", f.name, f.cells, f.low+1, f.high)
	}
	switch f.proved {
	case 0:
	case f.provedLow:
		text += fmt.Sprintf(" (bound %.0f)", f.proved)
	default:
		text += fmt.Sprintf(" (bounds %.0f to %.0f)", f.provedLow, f.proved)
	}
	return text
}

// auditSentences returns a sentence for each audit: whether it refutes the guarantee.
func auditSentences(s *sheet.Sheet) (lines []string) {
	for row := range s.Len() {
		if row == maxFindings {
			return append(lines, fmt.Sprintf("and %d more audits", s.Len()-row))
		}
		text := func(column string) string { return short(s.Value(row, column)) }
		verdict := "not refuted by"
		if text("refuted") == "true" {
			verdict = "refuted by"
		}
		line := fmt.Sprintf("%s: the guarantee of epsilon %s is %s %s pairs of trials", text("algorithm"), text("epsilon"),
			verdict, text("pairs"))
		var refuted []string
		for _, number := range []string{"epsilon", "mu", "rho"} {
			if low := text(number + "_low"); low != "" {
				refuted = append(refuted, number+" "+low)
			}
		}
		if refuted != nil {
			line += fmt.Sprintf(", which refute %s (%s)", strings.Join(refuted, ", "), text("event"))
		}
		if exact := text("epsilon_exact"); exact != "" {
			line += "; the exact epsilon of its samples is " + exact
		}
		lines = append(lines, line)
	}
	return lines
}
