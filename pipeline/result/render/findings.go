package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// maxFindings is the maximum number of sentences, and of algorithms in one, of [Findings].
const maxFindings = 6

// A finding holds the decided cells of one algorithm at one budget.
type finding struct {
	name              string
	cells             int
	low, high         float64 // union of the brackets
	provedLow, proved float64 // least and largest bound; 0: none
}

// Findings answers how many examples suffice, from a table with brackets: a sentence for each class
// and distribution with decided cells. For a curve without a goal it states the errors, and for
// fits and audits their results. It returns nil for other tables.
func Findings(s *sheet.Sheet) (lines []string) {
	switch {
	case s.Name == "curve":
		return append(errorSentences(s), risingErrors(s)...)
	case s.Name == "fits":
		return fitSentences(s)
	case s.Index("epsilon_low") >= 0:
		return auditSentences(s)
	}
	if s.Index("n_low") < 0 || s.Index("class") < 0 {
		return nil
	}
	var problems []string
	of := map[string][]*finding{}
	for row := range s.Len() {
		if short(s.Value(row, "status")) != estimate.StatusDecided || math.IsNaN(s.Number(row, "n_high")) {
			continue
		}
		problem, name := subject(s, row)
		if of[problem] == nil {
			problems = append(problems, problem)
		}
		var f *finding
		for _, known := range of[problem] {
			if known.name == name {
				f = known
			}
		}
		if f == nil {
			f = &finding{name: name, low: math.Inf(1), provedLow: math.Inf(1)}
			of[problem] = append(of[problem], f)
		}
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
		var parts []string
		for j, f := range of[problem] {
			if j == maxFindings {
				parts = append(parts, fmt.Sprintf("%d more in the table", len(of[problem])-j))
				break
			}
			parts = append(parts, f.String())
		}
		lines = append(lines, problem+": "+strings.Join(parts, "; "))
	}
	return lines
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

func (f *finding) String() string {
	text := fmt.Sprintf("%s needs %.0f to %.0f examples", f.name, f.low+1, f.high)
	if f.cells > 1 {
		text += fmt.Sprintf(" in %d cells", f.cells)
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
