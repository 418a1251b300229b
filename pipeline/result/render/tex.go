package render

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shatterlab/shatter/schemas"
)

// texWidth is the width of a tabular that fits a page, in characters of a table in text.
const texWidth = 100

var texFormat = Format{
	Name:  "tex",
	Doc:   "a tabular of LaTeX (booktabs) for papers, short",
	short: true,
	brief: writeTex,
}

// writeTex writes a tabular for \input in a document of any class that loads booktabs. The facts
// and notes become comments, for the caption, or on request notes below the table.
func writeTex(w *bufio.Writer, b *brief) error {
	columns := texColumns(b)
	packages := "booktabs"
	if b.siunitx {
		packages += ",siunitx"
	}
	if b.notes {
		packages += ",threeparttable"
	}
	if b.sheet.Title != "" {
		fmt.Fprintf(w, "%% %s\n", short(b.sheet.Title))
	}
	fmt.Fprintf(w, "%% needs \\usepackage{%s}\n", packages)
	notes := slices.Concat(b.aboveLines(false), b.belowLines())
	if i := slices.IndexFunc(notes, isLeftOut); b.notes && i >= 0 { // for the author, not for the paper
		fmt.Fprintf(w, "%% %s\n", notes[i])
		notes = slices.Delete(notes, i, i+1)
	}
	for _, line := range notes {
		if !b.notes {
			fmt.Fprintf(w, "%% %s\n", line)
		}
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
	if b.notes {
		fmt.Fprint(w, "\\begin{threeparttable}\n")
	}
	fmt.Fprintf(w, "\\begin{tabular}{@{}%s@{}}\n\\toprule\n%s \\\\\n\\midrule\n", align, strings.Join(header, " & "))
	for row := range b.sheet.Len() {
		line := make([]string, len(columns))
		for i, c := range columns {
			line[i] = c.values[row]
		}
		fmt.Fprintf(w, "%s \\\\\n", strings.Join(line, " & "))
	}
	fmt.Fprint(w, "\\bottomrule\n\\end{tabular}\n")
	if b.notes {
		formulas, inTex := map[string]string{}, fitSentences(b.sheet, true)
		for i, line := range fitSentences(b.sheet, false) {
			formulas[line] = inTex[i]
		}
		fmt.Fprint(w, "\\begin{tablenotes}\\footnotesize\n")
		for _, line := range notes {
			fmt.Fprintf(w, "\\item %s\n", cmp.Or(formulas[line], escapeTex(line)))
		}
		fmt.Fprint(w, "\\end{tablenotes}\n\\end{threeparttable}\n")
	}
	return nil
}

// A texColumn is a column of a tabular, or two columns that are aligned at a comma.
type texColumn struct {
	align, heading string
	values         []string
}

// rareInTex lists columns that a tabular has only if the user chooses them.
var rareInTex = []string{"cell", "trials", "mistakes_max", "best_loss", "reason"}

// texColumns returns the columns of a tabular. Unless the user chose the columns, the two ends of
// an interval form one column.
func texColumns(b *brief) (columns []texColumn) {
	hidden, intervals := map[string]bool{}, map[string]texColumn{} // intervals by column of lower ends
	if hasFits(b.sheet) {
		b.foldFits()
		hidden["estimate_se"] = !b.chosen
	}
	if !b.chosen {
		for i := len(b.columns) - 1; i >= 0; i-- {
			if name := b.columns[i].Name; slices.Contains(rareInTex, name) {
				b.omitted = append([]string{name}, b.omitted...)
				b.remove(i)
			}
		}
		for _, p := range pairs {
			if low, high := b.index(p.low), b.index(p.high); low >= 0 && high >= 0 {
				intervals[p.low] = p.column(b.columns[low], b.columns[high], b.siunitx)
				for _, name := range append(p.implies, p.high) {
					hidden[name] = true
				}
			}
		}
		if status := b.index("status"); hidden["n_high"] && status >= 0 { // it follows from the interval
			hidden["status"] = !slices.ContainsFunc(b.columns[status].texts, func(text string) bool {
				return !slices.Contains([]string{"decided", "above_range"}, text)
			})
		}
	}
	for _, c := range b.columns {
		interval, isInterval := intervals[c.Name]
		switch {
		case hidden[c.Name]:
		case isInterval:
			columns = append(columns, interval)
		case c.Type == schemas.IntColumn || c.Type == schemas.FloatColumn:
			columns = append(columns, texColumn{"r", heading(c.Name), texValues(c, b.siunitx)})
		default:
			columns = append(columns, texColumn{"l", heading(c.Name), texValues(c, false)})
		}
	}
	return columns
}

// notedInFits lists columns of the table of fits that a tabular has only if they distinguish rows.
// Notes have their values.
var notedInFits = []string{"cells", "y", "verdict", "goodness", "fit", "model", "group"}

// foldFits rounds the numbers of fits to the second digit of their standard errors. Unless the user
// chose the columns, these follow the estimates in parentheses, and notes replace some columns.
func (b *brief) foldFits() {
	for _, name := range notedInFits {
		if i := b.index(name); i >= 0 && !b.chosen && !b.distinguishes(i) {
			b.omitted = append(b.omitted, name)
			b.remove(i)
		}
	}
	for _, c := range b.columns {
		for row := range b.sheet.Len() {
			v, se := b.sheet.Number(row, c.Name), b.sheet.Number(row, "estimate_se")
			switch {
			case math.IsNaN(v):
			case c.Name == "goodness":
				c.texts[row] = shortP(v)
			case c.Name == "estimate" && !b.chosen && se > 0:
				digits := lastDigits(rounded(se, se))
				if b.siunitx {
					digits = strings.Replace(digits, ".", "", 1)
				}
				c.texts[row] = rounded(v, se) + "(" + digits + ")"
			case slices.Contains([]string{"estimate", "estimate_se", "estimate_low", "estimate_high",
				"theory_estimate"}, c.Name):
				c.texts[row] = rounded(v, se)
			}
		}
	}
}

// lastDigits returns the digits of a standard error: 63 of 0.0063, but 6.3 of 6.3.
func lastDigits(se string) string {
	if digits, ok := strings.CutPrefix(se, "0."); ok {
		return strings.TrimLeft(digits, "0")
	}
	return se
}

var (
	errorInText = regexp.MustCompile(` \(([0-9.]+)\)`)
	exponent    = regexp.MustCompile(`\^(-?[0-9.]+(\([0-9.]+\))?)`)
	numbers     = regexp.MustCompile(`([0-9)]) ([0-9])`)
	texWord     = regexp.MustCompile(`\\?[a-z][a-z_]*`)
)

// texFormula returns a formula of [estimate.Form] in mathematics.
func texFormula(text string) string {
	text = strings.NewReplacer("n*", `n^\star`, "grows as", `\propto`).Replace(text)
	text = errorInText.ReplaceAllStringFunc(text, func(m string) string {
		return "(" + lastDigits(errorInText.FindStringSubmatch(m)[1]) + ")"
	})
	text = exponent.ReplaceAllString(text, "^{$1}")
	text = numbers.ReplaceAllString(text, `$1 \cdot $2`)
	text = texWord.ReplaceAllStringFunc(text, func(word string) string {
		switch s := symbol(word); {
		case word[0] == '\\':
			return word
		case word == "ln", word == "exp":
			return `\` + word
		case s != word:
			return strings.Trim(s, "$")
		case len(word) == 1:
			return word
		}
		return `\mathrm{` + escapeTex(word) + `}`
	})
	return "$" + text + "$"
}

// column returns the column of intervals from the columns of their ends.
func (p pair) column(low, high briefColumn, siunitx bool) texColumn {
	c := texColumn{align: "r@{" + p.comma + "}l", heading: `\multicolumn{2}{c}{` + p.heading + `}`}
	from, to := texValues(low, siunitx), texValues(high, siunitx)
	for row := range from {
		switch lower, upper := low.texts[row] != "-", high.texts[row] != "-"; {
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

// texValues returns the values of a column in TeX, numbers as arguments of \num for siunitx.
func texValues(c briefColumn, siunitx bool) (values []string) {
	for _, text := range c.texts {
		value := texValue(text, c.Type)
		if size, err := strconv.ParseUint(text, 10, 64); c.Name == "domain" && err == nil &&
			size >= 1<<16 && size&(size-1) == 0 {
			value = fmt.Sprintf("$2^{%d}$", bits.Len64(size)-1)
		} else if siunitx && text != "-" {
			value = `\num{` + text + `}`
		}
		switch c.Name {
		case "term":
			if text != "-" {
				value = texFormula(text)
			}
		case "group":
			value = lowerWord.ReplaceAllStringFunc(value, symbol)
		case "y":
			value = strings.ReplaceAll(value, `n\_model`, headings["n_model"])
		case "status":
			value = strings.ReplaceAll(value, `\_`, " ")
		}
		values = append(values, value)
	}
	return values
}

var lowerWord = regexp.MustCompile(`[a-z]+`)

// symbol returns the symbol of a quantity, such as $\alpha$, or the word if it has none.
func symbol(word string) string {
	if h := heading(word); strings.HasPrefix(h, "$") && (len(word) > 1 || word == "d") {
		return h
	}
	return word
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
