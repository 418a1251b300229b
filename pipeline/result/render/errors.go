package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// errorSentences describes the cells without a goal in a curve: for each problem, the mean error of
// each algorithm at the smallest and the largest n, and the known errors of simple hypotheses.
func errorSentences(s *sheet.Sheet) (lines []string) {
	var problems []string
	of, known := map[string][]string{}, map[string]string{}
	for first := 0; first < s.Len(); {
		last := first // last row of the cell; sizes ascend
		for last+1 < s.Len() && s.Value(last+1, "cell") == s.Value(first, "cell") {
			last++
		}
		from, to := s.Number(first, "error_mean"), s.Number(last, "error_mean")
		if s.Value(first, "alpha") == nil && from+to >= 0 {
			problem, name := subject(s, first)
			if of[problem] == nil {
				problems = append(problems, problem)
			}
			text := fmt.Sprintf("%s errs on %s at n = %s", name, short(to), short(s.Value(last, "n")))
			if last > first {
				text += fmt.Sprintf(" (%s at n = %s)", short(from), short(s.Value(first, "n")))
			}
			of[problem], known[problem] = append(of[problem], text), knownErrors(s, first)
		}
		first = last + 1
	}
	for i, problem := range problems {
		if i == maxFindings {
			return append(lines, fmt.Sprintf("%d more problems are in the table", len(problems)-i))
		}
		parts := of[problem]
		if more := len(parts) - maxFindings; more > 0 {
			parts = append(parts[:maxFindings:maxFindings], fmt.Sprintf("%d more in the table", more))
		}
		lines = append(lines, problem+": "+strings.Join(parts, "; ")+known[problem])
	}
	return lines
}

// knownErrors describes the errors of the best constant and of the best hypothesis, if they are known.
func knownErrors(s *sheet.Sheet, row int) (text string) {
	for _, c := range [][2]string{{"constant_error", "constant"}, {"reference", "hypothesis"}} {
		if v := s.Number(row, c[0]); v == v {
			text += fmt.Sprintf("; the best %s errs on %s", c[1], short(v))
		}
	}
	return text
}

// risingErrors returns a note for each private algorithm whose mean error clearly rises with n or
// epsilon: by more than the widths of both confidence intervals.
func risingErrors(s *sheet.Sheet) (notes []string) {
	by := [2]sheet.Partition{s.Whole(), s.Whole()} // rows that differ in n alone, and in epsilon alone
	for _, c := range s.Columns {
		if isKey(c.Name) || trial.IsParam(c.Name) {
			for i, along := range []string{"n", "epsilon"} {
				if c.Name != along {
					by[i] = s.Refine(by[i], c.Name)
				}
			}
		}
	}
	told := map[string]bool{}
	for i, along := range []string{"n", "epsilon"} {
		rows := map[int][]int{}
		for row := range s.Len() {
			if s.Number(row, "epsilon") > 0 && !math.IsNaN(s.Number(row, "error_mean")) {
				rows[by[i].Of[row]] = append(rows[by[i].Of[row]], row)
			}
		}
		for row := range s.Len() {
			for _, before := range rows[by[i].Of[row]] {
				_, name := subject(s, row)
				width := s.Number(row, "error_high") - s.Number(row, "error_low") +
					s.Number(before, "error_high") - s.Number(before, "error_low")
				rise := s.Number(row, "error_mean") - s.Number(before, "error_mean")
				if !(rise > width) || s.Number(before, along) >= s.Number(row, along) || told[along+name] {
					continue
				}
				told[along+name] = true
				notes = append(notes, fmt.Sprintf("the mean error of %s rises with %s, from %s at %s to %s at %s: "+
					"parameters that depend on n or epsilon may not suit%s", name, along, short(s.Value(before, "error_mean")),
					at(s, before), short(s.Value(row, "error_mean")), at(s, row), fixedParams(s, row)))
			}
		}
	}
	return notes
}

// at names the n and epsilon of a row.
func at(s *sheet.Sheet, row int) string {
	return fmt.Sprintf("n = %s, epsilon %s", short(s.Value(row, "n")), short(s.Value(row, "epsilon")))
}

// fixedParams lists the numeric parameters of a row; 0 stands for one that the algorithm derives.
func fixedParams(s *sheet.Sheet, row int) string {
	var all []string
	for i, c := range s.Columns {
		v := s.At(row, i)
		isNumber := trial.IsParam(c.Name) && c.Type != schemas.TextColumn && v != nil
		if isNumber && s.Number(row, c.Name) != 0 {
			all = append(all, strings.TrimPrefix(c.Name, schemas.ParamPrefix)+" "+short(v))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}
