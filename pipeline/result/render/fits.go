package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// maxSentences is the maximum number of groups of fits that have a sentence.
const maxSentences = 20

// fitSentences returns a sentence for each group of the table of fits, with standard errors in
// parentheses, and a line that explains them; nil for other tables.
func fitSentences(s *sheet.Sheet) (lines []string) {
	if s.Index("estimate_se") < 0 || s.Index("term") < 0 {
		return nil
	}
	text := func(row int, column string) string { return short(s.Value(row, column)) }
	end := 0
	for first := 0; first < s.Len(); first = end {
		var terms, measured, theory []string
		for ; end < s.Len() && sameFit(s, first, end); end++ {
			value, se := s.Number(end, "estimate"), s.Number(end, "estimate_se")
			if math.IsNaN(value) {
				continue
			}
			terms = append(terms, text(end, "term"))
			measured = append(measured, withError(value, se))
			if text(end, "theory_estimate") != "" {
				theory = append(theory, rounded(s.Number(end, "theory_estimate"), se))
			}
		}
		if len(lines) == maxSentences {
			lines = append(lines, "the table has more fits")
			break
		}
		line := text(first, "algorithm")
		if group := text(first, "group"); group != "" {
			line += " (" + group + ")"
		}
		form, ok := estimate.FormNamed(text(first, "model"))
		if len(terms) == 0 || !ok {
			if reason := text(first, "reason"); reason != "" {
				lines = append(lines, line+": no fit: "+reason)
			}
			continue
		}
		y := "n*"
		if text(first, "y") == "regret_mean" {
			y = "regret"
		}
		verb := " = "
		if form.LogY {
			verb = " grows as "
		}
		formula := func(values []string) string { return strings.TrimPrefix(form.Formula(terms, values), "C ") }
		line += ": " + y + verb + formula(measured)
		if len(theory) == len(terms) {
			line += "; theory: " + formula(theory)
		}
		switch p := s.Number(first, "goodness"); {
		case p < 0.05:
			line += fmt.Sprintf("; the model does not fit (p %.2g)", p)
		case p == p:
			line += fmt.Sprintf("; the model is not rejected (p %.2g)", p)
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		lines = append(lines, "in parentheses: standard errors; estimate_low to estimate_high hold together for the terms "+
			"of a group, with 95 % if the model is right")
	}
	return lines
}

// sameFit reports whether two rows of the table of fits are terms of one fit.
func sameFit(s *sheet.Sheet, a, b int) bool {
	for _, column := range []string{"folder", "fit", "group", "algorithm"} {
		if s.Index(column) >= 0 && s.Value(a, column) != s.Value(b, column) {
			return false
		}
	}
	return true
}

// withError returns a value and its standard error: "-1.074 (0.019)".
func withError(v, se float64) string {
	if math.IsNaN(se) {
		return rounded(v, se)
	}
	return rounded(v, se) + " (" + rounded(se, se) + ")"
}

// rounded returns a value to the second significant digit of its standard error.
func rounded(v, se float64) string {
	if !(se > 0) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, 1-int(math.Floor(math.Log10(se)))), 64)
}
