package render

import (
	"bufio"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

var texFormat = Format{
	Name:  "tex",
	Doc:   "a tabular of LaTeX (booktabs) for papers, short",
	sheet: func(w *bufio.Writer, s *sheet.Sheet) error { return writeTex(w, briefOf(s), s.Title) },
}

// writeTex writes a tabular for \input in a document of any class that loads booktabs. What stands
// above and below a table on a terminal is in comments, for the caption.
func writeTex(w *bufio.Writer, b brief, title string) error {
	notes := append(append([]string{"needs \\usepackage{booktabs}"}, b.above...), b.below...)
	if title != "" {
		notes = append([]string{short(title)}, notes...)
	}
	for _, line := range notes {
		fmt.Fprintf(w, "%% %s\n", line)
	}
	if len(b.rows) == 0 {
		fmt.Fprint(w, "% no rows\n")
		return nil
	}
	header := make([]string, len(b.columns))
	var align strings.Builder
	for i, c := range b.columns {
		header[i] = escapeTex(c.Name)
		if c.Type == schemas.TextColumn {
			align.WriteByte('l')
		} else {
			align.WriteByte('r')
		}
	}
	fmt.Fprintf(w, "\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n\\midrule\n", align.String(), strings.Join(header, " & "))
	for _, row := range b.rows {
		line := make([]string, len(row))
		for i, v := range row {
			line[i] = texValue(v, b.columns[i].Type)
		}
		fmt.Fprintf(w, "%s \\\\\n", strings.Join(line, " & "))
	}
	fmt.Fprint(w, "\\bottomrule\n\\end{tabular}\n")
	return nil
}

var scientific = regexp.MustCompile(`^(-?[0-9.]+)e([+-])0*([0-9]+)$`)

// texValue returns a short value in TeX: negative numbers and powers of ten in mathematics.
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

// texNames are what stands for characters that TeX or its fonts take for something else. A bracket
// could be an argument of the command before it.
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

// escapeTex returns text that LaTeX, with the fonts that it starts with, prints as s stands.
// Characters that these lack are given by number.
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
