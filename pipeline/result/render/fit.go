package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/schemas"
)

// leastFirst lists the columns that a narrow table may do without, in the order in which it drops
// them. Keys, brackets and regret stay, and so does privacy where it is not proved.
var leastFirst = []string{
	"rho", "mu", "evaluation", "pulled_share", "positive_share", "mean_error", "error_p90", "mistakes_max", "privacy",
	"best_loss",
	"n_model_low", "n_model_high",
	"paper_n", "paper_regret", schemas.WithPrefix, schemas.MetricPrefix, "failed", "ok", "compared", "reason",
	"less_error", "ratio_model", schemas.ParamPrefix, "n_model", "trials", "ratio_low", "ratio_high",
	"error_mean", "predictable", "lost", "queries_success", "prior_success", "constant_error", "theory_standing",
	"theory_n", "theory_regret", "mistakes_mean",
}

// fit leaves columns out until the lines of the table are at most width characters long, or no
// column is left that may go, and notes which. It notes below the table what the columns reason and
// compared said.
func (b *brief) fit(width int) {
	var gone []string
	for b.lineWidth() > width {
		i := b.least()
		if i < 0 {
			break
		}
		if c := b.columns[i].Name; c == "reason" || c == "compared" {
			b.sayBelow(i)
		} else {
			gone = append(gone, b.columns[i].Name)
		}
		b.columns = slices.Delete(b.columns, i, i+1)
		for j := range b.rows {
			b.rows[j] = slices.Delete(b.rows[j], i, i+1)
		}
	}
	if len(gone) > 0 {
		b.below = append(b.below, "columns left out for want of width (-o csv has all): "+strings.Join(gone, ", "))
	}
}

// least returns the column that may go first, or -1 where none may.
func (b *brief) least() int {
	for _, name := range leastFirst {
		if name == "privacy" && b.unproved {
			continue
		}
		for i := len(b.columns) - 1; i >= 0; i-- {
			if c := b.columns[i].Name; c == name || strings.HasSuffix(name, "_") && strings.HasPrefix(c, name) {
				return i
			}
		}
	}
	return -1
}

// sayBelow notes below the table what stands in column i: each text once, with the cells that it is
// of.
func (b *brief) sayBelow(i int) {
	id := max(0, slices.IndexFunc(b.columns, func(c schemas.Column) bool { return strings.HasPrefix(c.Name, "cell") }))
	cells := map[string][]string{}
	var order []string
	for _, row := range b.rows {
		said := row[i]
		if said == "-" {
			continue
		}
		if cells[said] == nil {
			order = append(order, said)
		}
		cells[said] = append(cells[said], row[id])
	}
	for _, said := range order {
		b.below = append(b.below, b.columns[i].Name+" of "+strings.Join(cells[said], ", ")+": "+said)
	}
}

// widths returns, for each column, the number of characters of its widest value, or of its name.
func (b *brief) widths() []int {
	widths := make([]int, len(b.columns))
	for i, c := range b.columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, row := range b.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// lineWidth returns the number of characters in a line of the table.
func (b *brief) lineWidth() int {
	sum := 2 * (len(b.columns) - 1) // gaps
	for _, w := range b.widths() {
		sum += w
	}
	return sum
}
