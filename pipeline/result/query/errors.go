package query

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxSQL is the maximum length of a query in bytes.
const maxSQL = 1 << 16

// ErrSQL is in the chain of an error whose cause is the SQL: it is invalid, or it does more than
// read.
var ErrSQL = errors.New("sql refused")

// ErrLimit is in the chain of an error whose cause is a limit; ErrTime and ErrMemory are the limits
// of time and memory.
var (
	ErrLimit  = errors.New("limit exceeded")
	ErrTime   = fmt.Errorf("time: %w", ErrLimit)
	ErrMemory = fmt.Errorf("memory: %w", ErrLimit)
)

// ErrNoEngine reports that this build has no SQL engine.
var ErrNoEngine = errors.New("this binary was built without cgo, and DuckDB, which answers SQL, needs it: " +
	"build it with CGO_ENABLED=1 and a C compiler, or open the Parquet files with any other tool")

// A blame is an error with its complete text and one of the kinds above.
type blame struct {
	text string
	kind error
}

func (b *blame) Error() string { return b.text }
func (b *blame) Unwrap() error { return b.kind }

func refuse(format string, a ...any) error { return &blame{fmt.Sprintf(format, a...), ErrSQL} }

var (
	kindOfError = regexp.MustCompile(`^[A-Za-z ]+ Error: `)
	whereInText = regexp.MustCompile(`(?s)\n\nLINE (\d+): (.*?)\n( *)\^.*`)
	blanks      = regexp.MustCompile(`\s*\n\s*`)
)

// plain returns DuckDB's message on one line: without its kind, its advice to change settings, and
// its excerpt of the SQL. The position becomes a line number and, if DuckDB shows the whole line, a
// column.
func plain(message string) string {
	text := kindOfError.ReplaceAllString(message, "")
	text, _, _ = strings.Cut(text, "\nPossible solutions")
	text, _, _ = strings.Cut(text, "\n\nStack Trace")
	text, _, _ = strings.Cut(text, "\n\tCandidate functions")
	place := ""
	if m := whereInText.FindStringSubmatch(text); m != nil {
		place = " (line " + m[1] + ")"
		if !strings.HasPrefix(m[2], "...") {
			place = fmt.Sprintf(" (line %s, column %d)", m[1], len(m[3])-len("LINE : ")-len(m[1])+1)
		}
		text = whereInText.ReplaceAllString(text, "")
	}
	text = blanks.ReplaceAllString(strings.TrimSpace(text), "; ")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "!; ", "; "), ".; ", "; ")
	if text != "" && (len(text) < 2 || text[1] < 'A' || text[1] > 'Z') {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return strings.TrimSuffix(text, ".") + place
}

// ofView matches messages about a missing view.
var ofView = regexp.MustCompile(`(?i)^table with name "?([^ "]+)"? does not exist`)

// explain returns the error for a message about the SQL, with a remedy if there is one.
func explain(message string) error {
	text := plain(message)
	if m := ofView.FindStringSubmatch(text); m != nil {
		return refuse("there is no table %q; the result has %s, and %s for \"table\"", m[1],
			strings.Join(names, ", "), Alias)
	}
	if strings.Contains(text, `at or near "table"`) {
		text += fmt.Sprintf(`; table is a reserved word: write "table" in quotes, or %s`, Alias)
	}
	return refuse("%s", text)
}

// unsafeWords matches the names of functions that have side effects although they are allowed in a
// select: they change settings, run SQL from a text, read pointers, or sleep. Some crash DuckDB if
// its configuration is locked.
var unsafeWords = regexp.MustCompile(`(?i)\b(query|query_table|json_execute_serialized_sql|arrow_scan\w*|` +
	`(enable|disable|truncate)_\w+|(force_)?checkpoint|write_log|sleep_ms|setseed)\b`)

// readable returns an error for SQL that is too long, is not text, or contains an unsafe word.
func readable(sql string) error {
	if len(sql) > maxSQL {
		return refuse("the SQL has %d bytes: at most %d are read", len(sql), maxSQL)
	}
	if !utf8.ValidString(sql) || strings.ContainsRune(sql, 0) {
		return refuse("the SQL is not valid UTF-8 text")
	}
	if word := unsafeWords.FindString(sql); word != "" {
		return refuse("the word %q is not allowed, because a function of that name does more than read", word)
	}
	return nil
}

// firstWord matches the first word of a statement, after comments.
var firstWord = regexp.MustCompile(`(?s)^(?:\s|;|--[^\n]*\n|/\*.*?\*/)*(\w+)`)

// readOnly returns the error for a statement other than select.
func readOnly(sql string) error {
	kind := "other"
	if m := firstWord.FindStringSubmatch(sql); m != nil {
		kind = strings.ToLower(m[1])
	}
	return refuse("%q: results are read-only, only select and explain select are answered", kind)
}
