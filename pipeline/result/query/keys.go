//go:build cgo

package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// withKeys are the views whose files tell cells by their ids alone, and which have the key columns of
// the table beside them.
var withKeys = []string{"trials", "failures"}

// isKey reports whether a column says what a cell is, beside its id.
func isKey(column string) bool { return column != "cell" && trial.TellsCell(column) }

// keyed returns the SQL of a view of a file with the key columns of the table, whose columns are
// given. In task online the table has several rows for a cell.
func keyed(file string, table []schemas.Column) string {
	var keys []string
	for _, c := range table {
		if isKey(c.Name) {
			keys = append(keys, quoted(c.Name))
		}
	}
	if len(keys) == 0 {
		return file
	}
	list := strings.Join(keys, ", ")
	return fmt.Sprintf(`select file.*, %s from (%s) file `+
		`left join (select distinct on (cell) cell, %s from "table") keys using (cell)`, list, file, list)
}

// quoted returns the name of a column as SQL has it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// A mention says how a question uses the view trials.
type mention struct {
	trials  bool        // it reads the view
	table   bool        // it reads the table too, which has the key columns itself
	all     bool        // it may use any column
	columns [][2]string // that it uses: the name of the view or an empty text, and that of the column; in small letters
	names   []string    // what it calls the view, in small letters
}

// usesKeys reports whether the answer needs the key columns of the view. To join them in takes
// several times as long as to read a column, and would make names ambiguous in a question that
// joins the table itself.
func (m *mention) usesKeys() bool {
	if m.all && !m.table {
		return true
	}
	return slices.ContainsFunc(m.columns, func(c [2]string) bool {
		from, name := c[0], c[1]
		if from == "" {
			return isKey(name) && !m.table || slices.Contains(m.names, name)
		}
		return (name == "*" || isKey(name)) && slices.Contains(m.names, from)
	})
}

// read collects what the syntax tree of a question mentions.
func (m *mention) read(node any) {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			m.read(child)
		}
	case map[string]any:
		m.readNode(node)
		for _, child := range node {
			m.read(child)
		}
	}
}

// readNode collects what a node itself mentions.
func (m *mention) readNode(node map[string]any) {
	word := func(v any) string {
		s, _ := v.(string)
		return strings.ToLower(s)
	}
	switch word(node["type"]) {
	case "star":
		if from := word(node["relation_name"]); from != "" {
			m.columns = append(m.columns, [2]string{from, "*"})
			break
		}
		m.all = true
	case "show_ref", "pivot":
		m.all = true
	case "join":
		m.all = m.all || word(node["ref_type"]) == "natural"
	case "base_table":
		switch word(node["table_name"]) {
		case "trials":
			m.trials, m.names = true, append(m.names, "trials", word(node["alias"]))
		case "table", Alias:
			m.table = true
		}
	case "column_ref":
		names, _ := node["column_names"].([]any)
		switch n := len(names); {
		case n == 1:
			m.columns = append(m.columns, [2]string{"", word(names[0])})
		case n > 1:
			m.columns = append(m.columns, [2]string{word(names[n-2]), word(names[n-1])})
		}
	}
}
