package render

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Formats is what Render can write.
func Formats() []string { return []string{"table", "md", "csv", "json", "tex", "arrow", "parquet"} }

// Render writes the sheet. csv and json have every column and every digit: json is an array of objects, one to a line, null where
// there is no value, csv has nothing there. arrow (the file format of Arrow IPC) and parquet have the same with the types of the columns. table,
// for terminals, md and tex (booktabs) are for reading: four digits, no column that is empty, and what is the same in all rows said once.
func Render(s *sheet.Sheet, w io.Writer, format string) error {
	if format == "table" {
		return Table(s, w, 0)
	}
	return renderTo(s, w, format, func(out *bufio.Writer) error {
		switch format {
		case "md":
			briefOf(s).renderMarkdown(out)
		case "csv":
			return writeCSV(s, out)
		case "json":
			return writeJSON(s, out)
		case "tex":
			briefOf(s).renderTex(out, s.Title)
		case "arrow":
			return writeArrow(s, out)
		case "parquet":
			return s.WriteParquet(out)
		default:
			return fmt.Errorf("unknown format: must be one of %s", strings.Join(Formats(), ", "))
		}
		return nil
	})
}

// Table writes the sheet as the format table does, in lines of at most so many characters if that can be had by leaving out columns; it
// says which. A width of 0 leaves all in.
func Table(s *sheet.Sheet, w io.Writer, width int) error {
	return renderTo(s, w, "table", func(out *bufio.Writer) error {
		b := briefOf(s)
		if width > 0 {
			b.fit(width)
		}
		b.renderTable(out)
		return nil
	})
}

func renderTo(s *sheet.Sheet, w io.Writer, format string, write func(*bufio.Writer) error) error {
	out := bufio.NewWriter(w)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("show %s as %s: %w", s.Name, format, err)
	}
	return nil
}

func writeCSV(s *sheet.Sheet, w io.Writer) error {
	c := csv.NewWriter(w)
	line := make([]string, len(s.Columns))
	for i, column := range s.Columns {
		line[i] = column.Name
	}
	if err := c.Write(line); err != nil {
		return err
	}
	for _, row := range s.Rows {
		for i, v := range row {
			line[i] = sheet.Text(v)
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func writeJSON(s *sheet.Sheet, w *bufio.Writer) error {
	fmt.Fprint(w, "[")
	for i, row := range s.Rows {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprint(w, "\n{")
		for j, v := range row {
			if j > 0 {
				fmt.Fprint(w, ", ")
			}
			name, err := json.Marshal(s.Columns[j].Name)
			if err != nil {
				return err
			}
			if f, ok := v.(float64); ok {
				v = schemas.Clean(sheet.Finite(f)) // a file from elsewhere may hold what JSON has no number for
			}
			value, err := json.Marshal(v)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s: %s", name, value)
		}
		fmt.Fprint(w, "}")
	}
	fmt.Fprint(w, "\n]\n")
	return nil
}

// brief is a sheet made short for people.
type brief struct {
	above   []string // what is the same in all rows, and the parameters of each algorithm
	below   []string // how sure it is, where the theory's values come from, what was left out
	columns []schemas.Column
	rows    [][]string
}

// brief drops empty columns, and says above what is the same in all rows, in all rows of an algorithm (its parameters) or in all
// that have a value of a class (what describes its problem), unless it is a measured number.
func briefOf(s *sheet.Sheet) brief {
	var b brief
	var same []string
	classes, algorithms := notes{by: "class", of: map[string][]string{}}, notes{by: "algorithm", of: map[string][]string{}}
	var shown []int
	for i, c := range s.Columns {
		c.Name = short(c.Name)
		values := distinct(s, i)
		if len(values) == 0 || c.Name == "sample" || c.Name == "fixed" { // these two are for programs
			continue
		}
		if source, ok := strings.CutSuffix(c.Name, "_source"); ok {
			b.below = append(b.below, sourced(s, source)+": "+strings.Join(values, "; "))
		} else if aside(c) && len(values) == 1 && isFull(s, i) {
			same = append(same, c.Name+" "+values[0])
		} else if !(describes(c) && classes.take(s, i)) && !(isParam(c) && algorithms.take(s, i)) {
			shown = append(shown, i)
			b.columns = append(b.columns, c)
		}
	}
	if len(same) > 0 {
		b.above = append(b.above, strings.Join(same, ", "))
	}
	b.above = append(append(b.above, classes.lines()...), algorithms.lines()...)
	if s.Confidence > 0 && slices.ContainsFunc(b.columns, isBracket) {
		b.below = append([]string{fmt.Sprintf("confidence %s that no bracket (n_low, n_high] of the table misses its n*", short(s.Confidence))}, b.below...)
	}
	for _, row := range s.Rows {
		line := make([]string, len(shown))
		for j, i := range shown {
			if line[j] = short(row[i]); line[j] == "" {
				line[j] = "-"
			}
		}
		b.rows = append(b.rows, line)
	}
	return b
}

// notes is the columns that depend on nothing but the column by.
type notes struct {
	by    string
	order []string
	of    map[string][]string
}

// take takes column i if it is such a column: where it has a value at all, it is the same for the same value of by.
func (n *notes) take(s *sheet.Sheet, i int) bool {
	by := slices.IndexFunc(s.Columns, func(c schemas.Column) bool { return c.Name == n.by })
	if by < 0 {
		return false
	}
	values := map[string]any{}
	var order []string
	for _, row := range s.Rows {
		of := short(row[by])
		v, seen := values[of]
		if seen && v != nil && row[i] != nil && v != row[i] {
			return false
		}
		if !seen {
			order = append(order, of)
		}
		if v == nil {
			values[of] = row[i]
		}
	}
	n.order = order
	for of, v := range values {
		if v != nil {
			n.of[of] = append(n.of[of], strings.TrimPrefix(short(s.Columns[i].Name), schemas.ParamPrefix)+" "+short(v))
		}
	}
	return true
}

func (n *notes) lines() []string {
	var lines []string
	for _, of := range n.order {
		if len(n.of[of]) > 0 {
			lines = append(lines, of+": "+strings.Join(n.of[of], ", "))
		}
	}
	return lines
}

func isBracket(c schemas.Column) bool { return c.Name == "n_low" || c.Name == "n_high" }

func isParam(c schemas.Column) bool { return strings.HasPrefix(c.Name, schemas.ParamPrefix) }

// describes says whether a column describes the problem or what counts as success, beside the class itself.
func describes(c schemas.Column) bool {
	return c.Name == "evaluation" || slices.ContainsFunc(trial.KeyColumns(), func(k trial.KeyColumn) bool {
		return k.Name == c.Name && k.Has(trial.Describes)
	})
}

// sourced is the column whose source it is: theory_n, or theory_regret.
func sourced(s *sheet.Sheet, source string) string {
	for _, c := range s.Columns {
		if c.Name == source+"_n" || c.Name == source+"_regret" {
			return c.Name
		}
	}
	return source
}

// aside says whether a column may be said above: a key, the way of evaluation, or that none (or all the same number) failed.
func aside(c schemas.Column) bool {
	return c.Name == "evaluation" || c.Name == "failed" || c.Name != "cell" && trial.IsKeyColumn(c.Name)
}

// distinct is the values of column i, each once, in order.
func distinct(s *sheet.Sheet, i int) []string {
	var values []string
	seen := map[string]bool{}
	for _, row := range s.Rows {
		if v := short(row[i]); row[i] != nil && !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// full says whether column i has a value in each row.
func isFull(s *sheet.Sheet, i int) bool {
	return !slices.ContainsFunc(s.Rows, func(row []any) bool { return row[i] == nil })
}

// short is a value for people, on one line.
func short(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	return oneLine(sheet.Text(v))
}

// oneLine is a text without line breaks and characters that move a terminal's cursor or turn text around.
func oneLine(v string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(v), " "))
}

func (b brief) renderTable(w *bufio.Writer) {
	if len(b.rows) == 0 {
		fmt.Fprintln(w, "no rows")
		return
	}
	if len(b.above) > 0 {
		fmt.Fprintf(w, "%s\n\n", strings.Join(b.above, "\n"))
	}
	widths := b.widths()
	header := make([]string, len(b.columns))
	for i, c := range b.columns {
		header[i] = c.Name
	}
	for _, row := range append([][]string{header}, b.rows...) {
		var line strings.Builder
		for i, v := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v))
			if b.columns[i].Type == schemas.TextColumn {
				line.WriteString(v + gap + "  ")
			} else {
				line.WriteString(gap + v + "  ")
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
	if len(b.below) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(b.below, "\n"))
	}
}

func (b brief) renderMarkdown(w *bufio.Writer) {
	if len(b.rows) == 0 {
		fmt.Fprintln(w, "no rows")
		return
	}
	for _, line := range b.above {
		fmt.Fprintf(w, "%s\n\n", paragraph(line))
	}
	fmt.Fprint(w, "|")
	for _, c := range b.columns {
		fmt.Fprintf(w, " %s |", escape(c.Name))
	}
	fmt.Fprint(w, "\n|")
	for _, c := range b.columns {
		if c.Type == schemas.TextColumn {
			fmt.Fprint(w, " --- |")
		} else {
			fmt.Fprint(w, " ---: |")
		}
	}
	fmt.Fprint(w, "\n")
	for _, row := range b.rows {
		fmt.Fprint(w, "|")
		for _, v := range row {
			fmt.Fprintf(w, " %s |", escape(v))
		}
		fmt.Fprint(w, "\n")
	}
	for _, line := range b.below {
		fmt.Fprintf(w, "\n%s\n", paragraph(line))
	}
}

// escape keeps text from being read as Markdown or HTML.
func escape(s string) string {
	var b strings.Builder
	runes := []rune(" " + s + " ")
	for i, r := range runes[:len(runes)-1] {
		switch {
		case i == 0:
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '_' && isWord(runes[i-1]) && isWord(runes[i+1]): // no emphasis inside a word
			b.WriteRune(r)
		case strings.ContainsRune("\\|*_`[]~$", r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// paragraph is a line that begins nothing else.
func paragraph(line string) string {
	if line != "" && strings.Contains("#>+-=", line[:1]) {
		return `\` + escape(line)
	}
	return escape(line)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
