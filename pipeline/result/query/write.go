package query

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shatterlab/shatter/pipeline/result/render"
)

// Answer is an answer that can be shown, such as Rows.
type Answer interface {
	render.Answer
	Plan() bool // reports whether it is an explanation, whose texts have several lines
}

// Formats returns the names of the formats that Write knows.
func Formats() []string { return render.AnswerNames() }

// Write writes an answer: as table and md, which are for people, at most 10,000 rows; as json, csv,
// arrow (an IPC stream) and parquet any number, batch by batch. All have every column and every
// digit; json has null for numbers that are not finite.
func Write(w io.Writer, a Answer, format string) error {
	var err error
	if a.Plan() && (format == "table" || format == "md") {
		err = writePlan(w, a)
	} else {
		err = render.WriteAnswer(w, a, format)
	}
	var long *render.TooLongError
	if errors.As(err, &long) {
		return refuse("%v", long)
	}
	return err
}

// writePlan writes the texts of an explanation as they stand.
func writePlan(w io.Writer, a Answer) error {
	s, err := render.Collect(a)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, row := range s.Rows {
		fmt.Fprintln(&text, strings.TrimRight(fmt.Sprint(row[len(row)-1]), "\n"))
	}
	_, err = io.WriteString(w, text.String())
	return err
}
