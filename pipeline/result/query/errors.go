package query

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ErrSQL is in the chain of an error that blames the question: it cannot be understood, or it asks
// for more than reading.
var ErrSQL = errors.New("sql refused")

// ErrLimit is in the chain of an error that blames the limits on time and memory.
var ErrLimit = errors.New("limit exceeded")

// ErrNoEngine says that this build has no SQL.
var ErrNoEngine = errors.New("this binary was built without cgo, and DuckDB, which answers SQL, needs it: " +
	"build it with CGO_ENABLED=1 and a C compiler, or open the Parquet files with any other tool")

// blame is an error with its whole text, of one of the kinds above.
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
// its picture of the place. The place becomes a line and, where DuckDB shows the line whole, a
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

// ofView matches messages about a view that is missing.
var ofView = regexp.MustCompile(`(?i)^table with name "?([^ "]+)"? does not exist`)

// explain returns the error for a message about the question, with a remedy where there is one.
// missing names the views that the result lacks.
func explain(message string, missing []string) error {
	text := plain(message)
	if m := ofView.FindStringSubmatch(text); m != nil {
		if slices.Contains(missing, strings.ToLower(m[1])) {
			return refuse("this result was written before there was %s.parquet; run its sweep again with this release, which "+
				"adds the file", m[1])
		}
		return refuse("there is no table %q; the result has %s, and %s for \"table\"", m[1], strings.Join(names, ", "), Alias)
	}
	if strings.Contains(text, `at or near "table"`) {
		text += fmt.Sprintf(`; table is a reserved word: write "table" in quotes, or %s`, Alias)
	}
	if text == "interrupted!" { // by another of its own threads: await knows of all other interrupts
		text = "a part of the question failed while others ran, and the engine does not say why; one thread alone does: " +
			"--threads 1"
	}
	return refuse("%s", text)
}
