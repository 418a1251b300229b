package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// leastFirst lists the columns that a narrow table may do without, in the order in which it drops
// them. Keys, brackets and regret stay. Privacy is listed twice: where some is not proved, it goes
// later, and is said below.
var leastFirst = []string{
	"mean_error", "error_p90", "error_low", "error_high", "mistakes_max", "privacy",
	"best_loss", "slope_low", "slope_high", "intercept",
	"paper_n", "paper_regret", schemas.WithPrefix, "failed", "ok", "compared", "reason", "fails", "source",
	"less_error", schemas.ParamPrefix, "n_model", "trials", "cell", "n_star", "privacy", "ratio_low", "ratio_high",
	schemas.MetricPrefix, "rate_low", "rate_high",
	"error_mean", "predictable", "lost", "queries_success", "prior_success", "constant_error", "theory_standing",
	"theory_n", "theory_regret", "mistakes_mean",
}

// keptLongest lists the columns that the narrowest tables keep.
var keptLongest = []string{
	"algorithm", "epsilon", "n", "n_low", "n_high", "status", "rate", "regret_mean", "name", "value", "slope",
}

// saidBelow lists the columns whose texts a narrow table says below.
var saidBelow = []string{"reason", "compared", "fails", "source"}

// briefOf returns the brief of a sheet: with the chosen columns, or with those that people ask for
// often. It is as wide as the view says: a table that would have to leave out much has a section for
// each class.
func (v View) briefOf(s *sheet.Sheet, chosen []int) *brief {
	b := briefOf(s, chosen)
	if !b.chosen {
		b.leaveRare()
	}
	b.fit(v.Width)
	if b.lacksMuch() {
		if parts := v.sectionsOf(s); len(parts.sections) > 1 {
			return parts
		}
	}
	return b
}

// lacksMuch reports whether a narrow table lacks columns that most people ask for.
func (b *brief) lacksMuch() bool {
	return !b.chosen && (b.isCut || slices.ContainsFunc(b.gone, func(name string) bool {
		return slices.Index(leastFirst, name) >= slices.Index(leastFirst, "ratio_high") ||
			isKey(name) && !slices.Contains(leastFirst, name)
	}))
}

// sectionsOf returns a brief with a section for the rows of each class and population. A column that
// matters less than ratios is in all sections or in none.
func (v View) sectionsOf(s *sheet.Sheet) *brief {
	whole := briefOf(s, nil)
	whole.leaveRare()
	groups, problems := problemsOf(s)
	whole.facts = slices.DeleteFunc(whole.facts, func(f fact) bool { return problems[f.of] })
	whole.columns, whole.width = nil, v.Width
	for _, rows := range groups {
		part := briefOf(s.Take(rows), nil)
		part.below = nil
		part.leaveRare()
		part.fit(v.Width)
		part.facts = slices.DeleteFunc(part.facts, func(f fact) bool { return slices.Contains(whole.facts, f) })
		whole.sections = append(whole.sections, part)
		for _, name := range part.gone {
			if !slices.Contains(whole.gone, name) {
				whole.gone = append(whole.gone, name)
			}
		}
		for _, n := range part.below {
			if !slices.ContainsFunc(whole.below, func(has note) bool { return has.text == n.text }) {
				whole.below = append(whole.below, n)
			}
		}
		whole.isCut = whole.isCut || part.isCut
	}
	lesser := leastFirst[:slices.Index(leastFirst, "ratio_low")]
	for _, part := range whole.sections {
		part.columns = slices.DeleteFunc(part.columns, func(c briefColumn) bool {
			return slices.Contains(lesser, c.Name) && slices.Contains(whole.gone, c.Name)
		})
	}
	return whole
}

// problemsOf returns the rows of each class and population, and what these, and laws, are called.
func problemsOf(s *sheet.Sheet) (groups [][]int, names map[string]bool) {
	place := map[string]int{}
	names = map[string]bool{}
	for row := range s.Len() {
		of := ""
		for _, name := range []string{"class", "data", "distribution"} {
			i := columnOf(s, name)
			if i < 0 || s.At(row, i) == nil {
				continue
			}
			said := short(s.At(row, i))
			names[said] = true
			if name != "distribution" {
				of += said + "\x00"
			}
		}
		if _, known := place[of]; !known {
			place[of] = len(groups)
			groups = append(groups, nil)
		}
		groups[place[of]] = append(groups[place[of]], row)
	}
	return groups, names
}

// fit leaves columns out and cuts texts until the lines of the table are at most width characters
// long, and notes what. It says below the table what columns of reasons said. A width of 0 is any.
func (b *brief) fit(width int) {
	if b.width = width; width <= 0 {
		return
	}
	for !b.chosen && b.lineWidth() > width {
		i := b.least()
		if i < 0 {
			break
		}
		if slices.Contains(saidBelow, b.columns[i].Name) || b.unproved && isPrivacy(b.columns[i]) {
			b.sayBelow(i)
		} else {
			b.gone = append(b.gone, b.columns[i].Name)
		}
		other := otherEnd(b.columns[i].Name)
		b.leaveOut(i)
		if j := b.index(other); j >= 0 {
			b.gone = append(b.gone, other)
			b.leaveOut(j)
		}
	}
	b.cutTexts(16)
	b.cutTexts(10)
	for b.lineWidth() > width && len(b.columns) > 1 {
		i := len(b.columns) - 1
		if first := slices.IndexFunc(b.columns, isDispensable); first >= 0 && !b.chosen {
			i = first
		}
		b.gone = append(b.gone, b.columns[i].Name)
		b.leaveOut(i)
	}
	if b.lineWidth() > width {
		c := &b.columns[0]
		if isPrivacy(*c) {
			b.sayBelow(0)
		}
		c.Name = cut(c.Name, width)
		b.cutColumn(c, width)
	}
}

// otherEnd returns the column of the other end of an interval, and "" for a column that is no end.
func otherEnd(column string) string {
	if of, ok := strings.CutSuffix(column, "_low"); ok {
		return of + "_high"
	}
	if of, ok := strings.CutSuffix(column, "_high"); ok {
		return of + "_low"
	}
	return ""
}

func isPrivacy(c briefColumn) bool { return c.Name == "privacy" }

func isDispensable(c briefColumn) bool { return !slices.Contains(keptLongest, c.Name) }

// least returns the column that may go first, or -1 where none may.
func (b *brief) least() int {
	for place, name := range leastFirst {
		early := place < slices.Index(leastFirst, "n_star")
		if name == "privacy" && b.unproved && early || name == "cell" && b.namesCells() {
			continue
		}
		for i := len(b.columns) - 1; i >= 0; i-- {
			c := b.columns[i].Name
			if c == name || strings.HasSuffix(name, "_") && strings.HasPrefix(c, name) && !b.needed[c] {
				return i
			}
		}
	}
	return -1
}

// namesCells reports whether some line below the table tells cells by their ids.
func (b *brief) namesCells() bool {
	return slices.ContainsFunc(b.below, func(n note) bool {
		return slices.ContainsFunc(saidBelow, func(name string) bool { return strings.HasPrefix(n.text, name+" of ") })
	})
}

// sayBelow notes below the table what stands in column i: each text once, with the cells that it is
// of, or with what else the rows are about.
func (b *brief) sayBelow(i int) {
	of := map[string][]string{}
	var order []string
	for row := range b.len() {
		said := b.columns[i].texts[row]
		if said == "-" {
			continue
		}
		if of[said] == nil {
			order = append(order, said)
		}
		if about := b.about(row, b.columns[i].Name); !slices.Contains(of[said], about) {
			of[said] = append(of[said], about)
		}
	}
	for _, said := range order {
		b.say(b.columns[i].Name + " of " + strings.Join(of[said], ", ") + ": " + said)
	}
}

// about tells what a column says something about in a row: a bound, a cell, or an algorithm.
func (b *brief) about(row int, column string) string {
	names := []string{"name", "cell", "cell_a", "algorithm"}
	if column == "privacy" {
		names = []string{"algorithm"}
	}
	for _, name := range names {
		if i := b.index(name); i >= 0 {
			return b.columns[i].texts[row]
		}
	}
	return b.columns[0].texts[row]
}

// cutTexts cuts the texts of the widest columns until the table fits, but none to less than the given
// number of characters, or than the name of its column.
func (b *brief) cutTexts(least int) {
	for over := b.lineWidth() - b.width; over > 0; over = b.lineWidth() - b.width {
		var widest *briefColumn
		for i := range b.columns {
			c := &b.columns[i]
			cuttable := c.Type == schemas.TextColumn && !isPrivacy(*c) && c.width > max(least, utf8.RuneCountInString(c.Name))
			if cuttable && (widest == nil || c.width > widest.width) {
				widest = c
			}
		}
		if widest == nil {
			return
		}
		b.cutColumn(widest, max(least, utf8.RuneCountInString(widest.Name), widest.width-over))
	}
}

// cutColumn cuts the texts of a column to at most the given number of characters.
func (b *brief) cutColumn(c *briefColumn, most int) {
	for i, text := range c.texts {
		if short := cut(text, most); short != text {
			c.texts[i], b.isCut = short, true
		}
	}
	c.measure()
}

// cut returns a text of at most the given number of characters, with an ellipsis in the middle if
// something is missing: names often differ at their ends.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head := most / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-1-head):])
}

// lineWidth returns the number of characters in a line of the table.
func (b *brief) lineWidth() int {
	sum := 2 * (len(b.columns) - 1) // gaps
	for _, c := range b.columns {
		sum += c.width
	}
	return sum
}
