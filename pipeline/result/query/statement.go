//go:build cgo

package query

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/shatterlab/shatter/schemas"
)

// statement is a prepared statement of SQL.
type statement struct {
	conn    *conn
	stmt    duck.PreparedStatement
	columns []column
	params  int
	plan    bool // explain: the answer is a drawing
}

// column describes one column of an answer.
type column struct {
	name string
	typ  schemas.ColumnType
	cast string // the SQL type that it has to be cast to first; empty: none
}

func (s *statement) close() { duck.DestroyPrepare(&s.stmt) }

// ask prepares a question of a user, which it checks first.
func (c *conn) ask(sql string) (*statement, error) {
	s, err := c.checked(sql)
	if err != nil && strings.Contains(err.Error(), "syntax error") {
		if quoted := quoteTable(sql); quoted != sql {
			s, err = c.checked(quoted)
		}
	}
	return s, err
}

// checked prepares sql if it is one statement that only reads, with the columns cast to the types
// of result files.
func (c *conn) checked(sql string) (*statement, error) {
	body := sql[len(explained.FindString(sql)):] // explain analyze runs what it explains
	if err := c.inspect(sql, body); err != nil {
		return nil, err
	}
	s, err := c.statement(sql)
	if err != nil {
		return nil, err
	}
	kind := duck.PreparedStatementType(s.stmt)
	s.plan = kind == duck.StatementTypeExplain
	if kind != duck.StatementTypeSelect && !(s.plan && body != sql) { // a second opinion
		s.close()
		return nil, readOnly(sql)
	}
	if !slices.ContainsFunc(s.columns, func(c column) bool { return c.cast != "" }) {
		return s, nil
	}
	s.close()
	return c.statement(s.wrap(sql))
}

var (
	// explained matches what stands before the statement that explain is about. It matches no
	// comments: DuckDB decides where one ends, and a disagreement would hide a statement from the
	// checks.
	explained = regexp.MustCompile(`(?i)^\s*explain\s+(analyze\s+)?(\([\w\s,]*\)\s*)?`)
	// firstWord is the first word of a statement, behind comments.
	firstWord = regexp.MustCompile(`(?s)^(?:\s|;|--[^\n]*\n|/\*.*?\*/)*(\w+)`)
)

// readOnly refuses a statement that does more than select.
func readOnly(sql string) error {
	kind := "other"
	if m := firstWord.FindStringSubmatch(sql); m != nil {
		kind = strings.ToLower(m[1])
	}
	return refuse("%q: results are read-only, only select and explain select are answered", kind)
}

// wrap returns a question around sql that casts its columns.
func (s *statement) wrap(sql string) string {
	var list []string
	for i, c := range s.columns {
		item := fmt.Sprintf("#%d", i+1)
		if c.cast != "" {
			item = fmt.Sprintf("cast(#%d as %s)", i+1, c.cast)
		}
		list = append(list, fmt.Sprintf(`%s as "%s"`, item, strings.ReplaceAll(c.name, `"`, `""`)))
	}
	from := "query(" + text(sql) + ")"
	if s.params > 0 { // which do not reach into a text
		from = "(" + strings.TrimRight(sql, "; \t\r\n") + "\n)"
	}
	return "select " + strings.Join(list, ", ") + " from " + from
}

// statement prepares one statement without checks.
func (c *conn) statement(sql string) (*statement, error) {
	s := &statement{conn: c}
	if err := s.prepare(sql); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *statement) prepare(sql string) error {
	if duck.Prepare(s.conn.conn, sql, &s.stmt) == duck.StateError {
		message := duck.PrepareError(s.stmt)
		return s.conn.failed(kindOf(message), message)
	}
	s.params = int(duck.NParams(s.stmt))
	seen := map[string]int{}
	for i := range duck.PreparedStatementColumnCount(s.stmt) {
		col := columnOf(duck.PreparedStatementColumnType(s.stmt, i))
		col.name = unique(seen, duck.PreparedStatementColumnName(s.stmt, i))
		s.columns = append(s.columns, col)
	}
	return nil
}

// kindOf finds the kind of an error in its message, where DuckDB does not state it otherwise.
func kindOf(message string) duck.ErrorType {
	switch {
	case strings.HasPrefix(message, "Out of Memory Error"):
		return duck.ErrorTypeOutOfMemory
	case strings.HasPrefix(message, "Permission Error"):
		return duck.ErrorTypePermission
	}
	return duck.ErrorTypeInvalid
}

// unique returns the name, followed by a number where it was seen before: the columns of files and
// the keys of JSON objects need names that differ.
func unique(seen map[string]int, name string) string {
	n := seen[name]
	seen[name] = n + 1
	if n == 0 {
		return name
	}
	return unique(seen, fmt.Sprintf("%s_%d", name, n))
}

// columnOf says how a column of DuckDB becomes one of the types of result files.
func columnOf(t duck.Type) column {
	switch t {
	case duck.TypeVarchar:
		return column{typ: schemas.TextColumn}
	case duck.TypeBigInt:
		return column{typ: schemas.IntColumn}
	case duck.TypeDouble:
		return column{typ: schemas.FloatColumn}
	case duck.TypeBoolean:
		return column{typ: schemas.BoolColumn}
	case duck.TypeTinyInt, duck.TypeSmallInt, duck.TypeInteger, duck.TypeUTinyInt, duck.TypeUSmallInt, duck.TypeUInteger,
		duck.TypeUBigInt, duck.TypeHugeInt, duck.TypeUHugeInt: // exact, or an error that names the value
		return column{typ: schemas.IntColumn, cast: "bigint"}
	case duck.TypeFloat, duck.TypeDecimal:
		return column{typ: schemas.FloatColumn, cast: "double"}
	}
	return column{typ: schemas.TextColumn, cast: "varchar"}
}

// tableFunctions are the functions that may stand in place of a table. Others read files, log,
// profile, or run SQL that they are given as text.
var tableFunctions = []string{
	"range", "generate_series", "unnest", "repeat", "json_each", "json_tree", "histogram", "histogram_values",
	"pragma_table_info", "duckdb_columns", "duckdb_functions", "duckdb_types", "duckdb_keywords", "duckdb_views",
}

// refusedFunctions are refused although they look like values: they do more than return one, or tell
// of this machine.
var refusedFunctions = []string{"write_log", "sleep_ms", "nextval", "currval", "setseed", "current_setting"}

// inspect reads the syntax tree of body, which is sql without its explain, before anything is
// bound. It refuses statements that do not select and functions that do more than that. Where the
// answer does not need the key columns of trials, it gives the connection the view without them.
func (c *conn) inspect(sql, body string) error {
	if err := c.single(sql); err != nil {
		return err
	}
	raw, err := c.value("select json_serialize_sql(" + text(body) + ")")
	if err != nil {
		return err
	}
	var tree struct {
		Error      bool  `json:"error"`
		Statements []any `json:"statements"`
	}
	if err := json.Unmarshal([]byte(raw), &tree); err != nil {
		return refuse("the SQL cannot be checked (%v): write it as a plain select", err)
	}
	if tree.Error || len(tree.Statements) != 1 {
		return readOnly(sql)
	}
	if err := inspectNode(tree.Statements, false); err != nil {
		return err
	}
	var m mention
	if m.read(tree.Statements); m.trials && !m.usesKeys() {
		return c.exec("create or replace temp view trials as " + c.engine.trials)
	}
	return nil
}

// single parses the SQL and refuses all but one statement.
func (c *conn) single(sql string) error {
	var all duck.ExtractedStatements
	count := duck.ExtractStatements(c.conn, sql, &all)
	defer duck.DestroyExtracted(&all)
	switch {
	case count == 0:
		if message := duck.ExtractStatementsError(all); message != "" {
			return c.failed(duck.ErrorTypeParser, message)
		}
		return refuse("there is no SQL in it")
	case count > 1:
		return refuse("%d statements: a query is one (a pivot that does not list its values with in (...) counts as two)",
			count)
	}
	return nil
}

// value returns the text that answers a question of this package.
func (c *conn) value(sql string) (string, error) {
	s, err := c.statement(sql)
	if err != nil {
		return "", err
	}
	defer s.close()
	var r duck.Result
	defer duck.DestroyResult(&r)
	if duck.ExecutePrepared(s.stmt, &r) == duck.StateError {
		return "", c.failed(duck.ResultErrorType(&r), duck.ResultError(&r))
	}
	chunk := duck.FetchChunk(r)
	defer duck.DestroyDataChunk(&chunk)
	return texts(duck.DataChunkGetVector(chunk, 0), 1)[0].String(), nil
}

// inspectNode walks the tree. A node of the type TABLE_FUNCTION has its function below it.
func inspectNode(node any, table bool) error {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			if err := inspectNode(child, false); err != nil {
				return err
			}
		}
	case map[string]any:
		if name, ok := node["function_name"].(string); ok {
			if table && !slices.Contains(tableFunctions, name) {
				return refuse("the table function %q: a query reads the views of this result and nothing else", name)
			}
			if slices.Contains(refusedFunctions, name) {
				return refuse("the function %q: a query only reads the result", name)
			}
		}
		for key, child := range node {
			if err := inspectNode(child, key == "function" && node["type"] == "TABLE_FUNCTION"); err != nil {
				return err
			}
		}
	}
	return nil
}
