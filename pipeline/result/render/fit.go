package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// dropFirst lists the columns that a table drops if it is too wide for its terminal, in this order,
// except those that distinguish rows. Columns of one entry are dropped together; an entry that ends
// in an underscore is a prefix.
var dropFirst = []string{
	"mean_error", "unbiased_error", "error_p90", "error_low error_high", "mistakes_max", "privacy", "best_loss",
	"estimate_low estimate_high", "paper_n", "paper_regret", schemas.WithPrefix, "failed", "ok", "compared",
	"reason", "fails", "source", "less_error", schemas.ParamPrefix, "n_model", "trials", "cell", "n_star",
	"ratio_low ratio_high", schemas.MetricPrefix, "rate_low rate_high", "error_mean", "predictable", "lost",
	"queries_success", "prior_success", "constant_error", "theory_standing", "data", "distribution", "class", "theory_n",
	"theory_regret", "mistakes_mean",
}

// dropLast lists the columns that the narrowest tables keep.
var dropLast = []string{
	"algorithm", "epsilon", "n", "n_low", "n_high", "search_n", "search_insufficient", "search_sufficient", "status",
	"rate", "regret_mean", "name", "value", "estimate", "estimate_se", "term", "refuted",
	"audited",
}

// notedBelow lists the columns whose texts become notes when they are dropped.
var notedBelow = []string{"reason", "compared", "fails", "source"}

// fit limits the lines of the table to width characters; 0: unlimited. It drops columns in the
// order of dropFirst, shortens texts, drops the other columns from the right, then the columns that
// distinguish rows, and the columns of dropLast at the end. For a table of chosen columns it first
// shortens texts.
func (b *brief) fit(width int) {
	if b.width = width; width <= 0 {
		return
	}
	for _, entry := range dropFirst {
		if b.chosen || b.fits() {
			break
		}
		for _, name := range b.named(entry) {
			if i := b.index(name); !b.distinguishes(i) {
				b.drop(i)
			}
		}
	}
	b.shortenTexts(24)
	b.shortenTexts(16)
	b.dropOthers(false)
	b.shortenTexts(10)
	b.dropOthers(true)
	for !b.fits() && len(b.columns) > 1 {
		b.drop(len(b.columns) - 1)
	}
	if !b.fits() {
		c := &b.columns[0]
		if c.Name == "privacy" {
			b.noteTexts(c)
		}
		c.Name = cut(c.Name, width)
		b.shorten(c, width)
	}
}

// fits reports whether the lines of the table are short enough.
func (b *brief) fits() bool { return b.lineWidth() <= b.width }

// shortenTexts cuts texts to the given number of characters, column by column until the table fits.
// It does not cut names of columns.
func (b *brief) shortenTexts(longest int) {
	for i := range b.columns {
		if c := &b.columns[i]; !b.fits() && c.Type == schemas.TextColumn && c.Name != "privacy" {
			b.shorten(c, max(longest, utf8.RuneCountInString(c.Name)))
		}
	}
}

// dropOthers drops columns from the right until the table fits, except those of dropLast and, unless all is set,
// those that distinguish rows.
func (b *brief) dropOthers(all bool) {
	for i := len(b.columns) - 1; i > 0 && !b.fits() && !b.chosen; i-- {
		if !slices.Contains(dropLast, b.columns[i].Name) && (all || !b.distinguishes(i)) {
			b.drop(i)
		}
	}
}

// named returns the columns that an entry of dropFirst names.
func (b *brief) named(entry string) (names []string) {
	for _, c := range b.columns {
		prefixed := strings.HasSuffix(entry, "_") && strings.HasPrefix(c.Name, entry)
		if prefixed || slices.Contains(strings.Fields(entry), c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// distinguishes reports whether fewer rows would differ in their keys and parameters without column i.
func (b *brief) distinguishes(i int) bool {
	return identifies(b.columns[i].Name) && b.countRows(i) < b.countRows(-1)
}

// countRows returns how many rows differ in the keys and parameters that the table shows, except column without.
func (b *brief) countRows(without int) int {
	rows := map[string]bool{}
	for row := range b.sheet.Len() {
		var key strings.Builder
		for i, c := range b.columns {
			if i != without && identifies(c.Name) {
				key.WriteString(c.texts[row] + "\n")
			}
		}
		rows[key.String()] = true
	}
	return len(rows)
}

// identifies reports whether a column is a key or a parameter.
func identifies(name string) bool {
	return isKey(name) || trial.IsParam(name) || slices.Contains([]string{"fit", "group", "model", "term"}, name)
}

// drop removes column i. The lines below the table then show its texts or its name.
func (b *brief) drop(i int) {
	c := b.columns[i]
	b.remove(i)
	if slices.Contains(notedBelow, c.Name) || c.Name == "privacy" && b.unproved {
		b.noteTexts(&c)
	} else {
		b.omitted = append(b.omitted, c.Name)
	}
}

// noteTexts adds the texts of a column as notes, each with its algorithms.
func (b *brief) noteTexts(c *briefColumn) {
	b.below = append(b.below, byAlgorithm(b.sheet, c.from, c.Name)...)
}

// shorten cuts the texts of a column to at most the given number of characters.
func (b *brief) shorten(c *briefColumn, longest int) {
	for i, text := range c.texts {
		if short := cut(text, longest); short != text {
			c.texts[i], b.isCut = short, true
		}
	}
	c.measure()
}

// cut returns a text of at most the given number of characters, with an ellipsis in the middle if
// it was longer: names often differ at their ends.
func cut(text string, longest int) string {
	runes := []rune(text)
	if len(runes) <= longest {
		return text
	}
	head := longest / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(longest-1-head):])
}

// lineWidth returns the number of characters in a line of the table.
func (b *brief) lineWidth() int {
	sum := 2 * (len(b.columns) - 1) // gaps
	for _, c := range b.columns {
		sum += c.width
	}
	return sum
}
