package render

import (
	"math"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// maxSentences is the maximum number of groups of fits that have a sentence.
const maxSentences = 20

// fitSentences returns a sentence for each group of the table of fits, with standard errors in
// parentheses, and a line that explains them; nil for other tables. With tex, they are in LaTeX.
func fitSentences(s *sheet.Sheet, tex bool) (lines []string) {
	if !hasFits(s) {
		return nil
	}
	same := func(text string) string { return text }
	words, formulas, number := same, same, same
	if tex {
		words, formulas = escapeTex, texFormula
		number = func(text string) string { return texValue(text, schemas.FloatColumn) }
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
		line := words(text(first, "algorithm"))
		if group := text(first, "group"); group != "" {
			if group = words(group); tex {
				group = lowerWord.ReplaceAllStringFunc(group, symbol)
			}
			line += " (" + group + ")"
		}
		form, ok := estimate.FormNamed(text(first, "model"))
		if len(terms) == 0 || !ok {
			if reason := text(first, "reason"); reason != "" {
				lines = append(lines, line+": no fit: "+words(reason))
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
		line += ": " + formulas(y+verb+formula(measured))
		if len(theory) == len(terms) {
			line += "; theory: " + formulas(formula(theory))
		}
		lines = append(lines, line+standing(s, first, end, words, formulas, number))
	}
	if len(lines) > 0 {
		what := "standard errors; estimate_low to estimate_high hold"
		if tex {
			what = "standard errors of the last digits; the intervals hold"
		}
		lines = append(lines, "in parentheses: "+what+" together for the terms of a group, with "+words("95 %")+
			" if the model is right")
	}
	return lines
}

// standing states whether the model of the fit in rows first to end-1 fits, and the verdicts on its claimed values.
// The functions format words, formulas and numbers.
func standing(s *sheet.Sheet, first, end int, words, formulas, number func(string) string) (line string) {
	text := func(row int, column string) string { return short(s.Value(row, column)) }
	p := s.Number(first, "goodness")
	shown := " (" + formulas("p") + " " + number(shortP(p)) + ")"
	switch {
	case p < 0.05:
		line += "; the model does not fit" + shown
	case p == p:
		line += "; the model is not rejected" + shown
	}
	for row := first; row < end; row++ {
		verdict := text(row, "verdict")
		switch {
		case verdict == "":
			continue
		case p < 0.05:
			verdict = "no verdict, because the model does not fit"
		}
		line += "; claimed " + number(text(row, "claimed"))
		if end-first > 1 {
			line += " for " + formulas(text(row, "term"))
		}
		line += ": " + words(verdict)
	}
	return line
}

// hasFits reports whether a sheet is the table of fits.
func hasFits(s *sheet.Sheet) bool { return s.Index("estimate_se") >= 0 && s.Index("term") >= 0 }

// shortP returns a p-value with two digits.
func shortP(p float64) string {
	if 0 < p && p < 1e-3 {
		return strconv.FormatFloat(p, 'e', 1, 64)
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
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
