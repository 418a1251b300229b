package render

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// sheetOf returns a sheet of text columns, whose first row holds the values and whose second holds
// "x" in each column.
func sheetOf(values ...string) *sheet.Sheet {
	var columns []schemas.Column
	rows := [2][]any{}
	for i, v := range values {
		columns = append(columns, schemas.Column{Name: "c" + strconv.Itoa(i), Type: schemas.TextColumn})
		rows[0], rows[1] = append(rows[0], v), append(rows[1], "x")
	}
	return sheet.Of("table", columns, rows[:]...)
}

func rendered(t *testing.T, s *sheet.Sheet, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Render(s, &b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Text with a meaning for a terminal, Markdown, HTML or LaTeX is shown literally.
func TestSpecialCharacters(t *testing.T) {
	for _, c := range []struct{ text, table, md, tex string }{
		{"a\x1b[31mred\x07", "a\uFFFD[31mred\uFFFD", "a\uFFFD\\[31mred\uFFFD", `a\texttt{U+FFFD}{[}31mred\texttt{U+FFFD}`},
		{"\u202eevil", "\uFFFDevil", "\uFFFDevil", `\texttt{U+FFFD}evil`},
		{"two\nlines\r\n", "two lines", "two lines", "two lines"},
		{"<b>&amp;</b>", "<b>&amp;</b>", "&lt;b>&amp;amp;&lt;/b>",
			`\textless{}b\textgreater{}\&amp;\textless{}/b\textgreater{}`},
		{"a|b*c_d_ _e", "a|b*c_d_ _e", `a\|b\*c_d\_ \_e`, `a\textbar{}b{*}c\_d\_ \_e`},
		{"[x](http://y)", "[x](http://y)", `\[x\](http://y)`, `{[}x{]}(http://y)`},
		{"`$x^2$` ~ 5% #1", "`$x^2$` ~ 5% #1", "\\`\\$x^2\\$\\` \\~ 5% #1",
			"{`}\\$x\\textasciicircum{}2\\${`} \\textasciitilde{} 5\\% \\#1"},
		{`\input{/etc/passwd}`, `\input{/etc/passwd}`, `\\input{/etc/passwd}`, `\textbackslash{}input\{/etc/passwd\}`},
		{"Pál -- Kivinen–Warmuth, ε ≥ 1, 中", "Pál -- Kivinen–Warmuth, ε ≥ 1, 中", "Pál -- Kivinen–Warmuth, ε ≥ 1, 中",
			`Pál -{}- Kivinen--Warmuth, $\varepsilon$ $\geq$ 1, \texttt{U+4E2D}`},
	} {
		s := sheetOf(c.text)
		if got := rendered(t, s, "table"); !strings.Contains(got, "\n"+c.table+"\n") {
			t.Errorf("table: %q lacks %q", got, c.table)
		}
		if got := rendered(t, s, "md"); !strings.Contains(got, "\n| "+c.md+" |\n") {
			t.Errorf("md: %q lacks %q", got, c.md)
		}
		if got := rendered(t, s, "tex"); !strings.Contains(got, "\n"+c.tex+" \\\\\n") {
			t.Errorf("tex: %q lacks %q", got, c.tex)
		}
	}
	s := sheetOf("x", "y")
	s.Columns[0], s.Title = schemas.Column{Name: "task", Type: schemas.TextColumn}, "sweep x\n\\end{document}"
	s.Columns[1] = schemas.Column{Name: "class", Type: schemas.TextColumn}
	s = s.Replace(1, func(row int) any { return []string{"y", "# heading"}[row] })
	if got := rendered(t, s, "md"); !strings.Contains(got, "task x\n") {
		t.Error(got)
	}
	for _, line := range strings.Split(rendered(t, s, "tex"), "\n")[:3] {
		if !strings.HasPrefix(line, "% ") {
			t.Errorf("%q is no comment", line)
		}
	}
	if paragraph("# x") != `\# x` || paragraph("- x_1") != `\- x_1` {
		t.Error("a line begins a heading or a list")
	}
}

// An unproved standing appears next to the kind of privacy, even in narrow tables.
func TestPrivacySaysWhatIsNotProved(t *testing.T) {
	column := func(name string) schemas.Column { return schemas.Column{Name: name, Type: schemas.TextColumn} }
	columns := []schemas.Column{
		column("algorithm"), column("privacy"), column("privacy_standing"), column("privacy_source"),
	}
	rows := [][]any{
		{"a", "pure", "proved", "Theorem 1"},
		{"b", "pure", "declared", "my word"},
		{"c", "approximate", "unproved", "none"},
		{"d", nil, nil, nil},
	}
	for _, c := range []struct {
		rows [][]any
		want string // expected table of 30 characters width
	}{
		{rows, `
algorithm
a
b
c
d

privacy of a: Theorem 1
privacy of b: declared: my
  word
privacy of a: pure
privacy of b: pure (declared)
privacy of c: approximate
  (unproved)
`},
		{rows[1:2], `
algorithm b, privacy pure
  (declared)


privacy: declared: my word
`},
		{[][]any{rows[0], rows[3]}, `
algorithm  privacy
a          pure
d          -

privacy: Theorem 1
`},
	} {
		var b strings.Builder
		shown := sheet.Of("", columns, c.rows...)
		if err := (View{Width: 30}).Render(shown, &b, "table"); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + b.String(); got != c.want {
			t.Errorf("got:%s\nwant:%s", got, c.want)
		}
	}
}
