package render

import (
	"bufio"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/shatterlab/shatter/schemas"
)

var texFormat = Format{
	Name:  "tex",
	Doc:   "a tabular of LaTeX (booktabs) for papers, short",
	short: true,
	brief: writeTex,
}

// writeTex writes a tabular for \input in a document of any class that loads booktabs. The facts
// and notes become comments, for the caption.
func writeTex(w *bufio.Writer, b *brief) error {
	columns := texColumns(b)
	notes := append(append([]string{`needs \usepackage{booktabs}`}, b.aboveLines(false)...), b.belowLines()...)
	if b.sheet.Title != "" {
		notes = append([]string{short(b.sheet.Title)}, notes...)
	}
	for _, line := range notes {
		fmt.Fprintf(w, "%% %s\n", line)
	}
	if b.sheet.Len() == 0 || len(columns) == 0 {
		fmt.Fprint(w, "% no rows\n")
		return nil
	}
	align, header := "", make([]string, len(columns))
	for i, c := range columns {
		align += c.align
		header[i] = c.heading
	}
	fmt.Fprintf(w, "\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n\\midrule\n", align, strings.Join(header, " & "))
	for row := range b.sheet.Len() {
		line := make([]string, len(columns))
		for i, c := range columns {
			line[i] = c.values[row]
		}
		fmt.Fprintf(w, "%s \\\\\n", strings.Join(line, " & "))
	}
	fmt.Fprint(w, "\\bottomrule\n\\end{tabular}\n")
	return nil
}

// A texColumn is a column of a tabular, or two columns that are aligned at a comma.
type texColumn struct {
	align, heading string
	values         []string
}

// rareInTex lists columns that a tabular has only if the user chooses them.
var rareInTex = []string{"cell", "trials", "mistakes_max", "best_loss"}

// texColumns returns the columns of a tabular. Unless the user chose the columns, the two ends of
// an interval form one column.
func texColumns(b *brief) (columns []texColumn) {
	hidden := map[string]bool{}
	if !b.chosen {
		for i := len(b.columns) - 1; i >= 0; i-- {
			if name := b.columns[i].Name; slices.Contains(rareInTex, name) {
				b.omitted = append([]string{name}, b.omitted...)
				b.remove(i)
			}
		}
		b.foldIntervals(hidden)
	}
	for i, c := range b.columns {
		if hidden[c.Name] {
			continue
		}
		if j := b.upperEnd(i); j >= 0 {
			columns = append(columns, b.interval(i, j))
			continue
		}
		values := texValues(c)
		if c.Type == schemas.IntColumn || c.Type == schemas.FloatColumn {
			columns = append(columns, texColumn{"r", heading(c.Name), values})
		} else {
			columns = append(columns, texColumn{"l", heading(c.Name), values})
		}
	}
	return columns
}

// foldIntervals hides the columns that follow from intervals: their upper ends, and status if it is decided
// or above_range in all rows.
func (b *brief) foldIntervals(hidden map[string]bool) {
	for i := range b.columns {
		if j := b.upperEnd(i); j >= 0 {
			hidden[b.columns[j].Name] = true
			for _, name := range pairs[b.pairAt(i)].implies {
				hidden[name] = true
			}
		}
	}
	status := b.index("status")
	if hidden["n_high"] && status >= 0 {
		hidden["status"] = !slices.ContainsFunc(b.columns[status].texts, func(text string) bool {
			return !slices.Contains([]string{"decided", "above_range"}, text)
		})
	}
}

// pairAt returns the index of the pair whose lower end is column i, or -1.
func (b *brief) pairAt(i int) int {
	for k, p := range pairs {
		if p.low == b.columns[i].Name {
			return k
		}
	}
	return -1
}

// upperEnd returns the column that holds the upper ends of the intervals whose lower ends are in
// column i, or -1 if the two ends have columns of their own.
func (b *brief) upperEnd(i int) int {
	k := b.pairAt(i)
	if k < 0 || b.chosen {
		return -1
	}
	return b.index(pairs[k].high)
}

// interval returns the column of intervals from columns low and high.
func (b *brief) interval(low, high int) texColumn {
	p := pairs[b.pairAt(low)]
	c := texColumn{align: "r@{" + p.comma + "}l", heading: `\multicolumn{2}{c}{` + p.heading + `}`}
	from, to := texValues(b.columns[low]), texValues(b.columns[high])
	for row := range b.sheet.Len() {
		switch lower, upper := b.columns[low].texts[row] != "-", b.columns[high].texts[row] != "-"; {
		case !lower && !upper, !upper && p.none == "":
			c.values = append(c.values, `\multicolumn{2}{c}{--}`)
		case !upper:
			c.values = append(c.values, p.open+from[row]+" & "+p.none)
		case !lower:
			c.values = append(c.values, p.open+"0 & "+to[row]+p.shut)
		default:
			c.values = append(c.values, p.open+from[row]+" & "+to[row]+p.shut)
		}
	}
	return c
}

// texValues returns the values of a column in TeX.
func texValues(c briefColumn) (values []string) {
	for _, text := range c.texts {
		values = append(values, texValue(text, c.Type))
	}
	return values
}

var scientific = regexp.MustCompile(`^(-?[0-9.]+)e([+-])0*([0-9]+)$`)

// texValue formats a short value in TeX: negative numbers and powers of ten in mathematics.
func texValue(v string, t schemas.ColumnType) string {
	switch {
	case v == "-":
		return "--"
	case t != schemas.IntColumn && t != schemas.FloatColumn:
		return escapeTex(v)
	}
	if m := scientific.FindStringSubmatch(v); m != nil {
		return fmt.Sprintf(`$%s \times 10^{%s%s}$`, m[1], strings.TrimPrefix(m[2], "+"), m[3])
	}
	if strings.HasPrefix(v, "-") {
		return "$" + v + "$"
	}
	return v
}

// texNames maps characters that TeX or its fonts would misinterpret to their replacements. A
// bracket could be an argument of the command before it.
var texNames = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`,
	'^': `\textasciicircum{}`,
	'~': `\textasciitilde{}`, '<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`, '"': `''`, '[': `{[}`,
	']': `{]}`, '*': `{*}`,
	'`': "{`}",
	'–': `--`, '—': `---`, '‘': "{`}", '’': `{'}`, '“': "``", '”': `''`, '…': `\dots{}`,
	'×': `$\times$`, '≤': `$\leq$`, '≥': `$\geq$`,
	'ε': `$\varepsilon$`, 'δ': `$\delta$`, 'α': `$\alpha$`, 'β': `$\beta$`, 'γ': `$\gamma$`,
	'η': `$\eta$`, 'λ': `$\lambda$`, 'σ': `$\sigma$`,
}

// escapeTex returns text that LaTeX prints as s with its default fonts. Characters that these lack are given by
// number.
func escapeTex(s string) string {
	var b strings.Builder
	last := ' '
	for _, r := range s {
		if r == '-' && last == '-' {
			b.WriteString("{}") // two hyphens, no dash
		}
		switch name, ok := texNames[r]; {
		case ok:
			b.WriteString(name)
		case r >= ' ' && r <= '~', r >= 'À' && r <= 'ÿ' && unicode.IsLetter(r) && !strings.ContainsRune("ÐðÞþ", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\texttt{U+%04X}`, r)
		}
		last = r
	}
	return b.String()
}
