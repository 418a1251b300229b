package population

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// maxLine is the largest number of bytes of a line, or of a row that has several.
const maxLine = 32 << 20

// A textReader reads a text file. Readers of lines set N of the limit to maxLine before each line:
// they keep a line without an end out of memory.
type textReader struct {
	*bufio.Reader
	limit *io.LimitedReader
}

// openText opens a text file: UTF-8, with or without a byte order mark, plain or compressed by
// gzip.
func (t *table) openText(file io.Reader) (x textReader, err error) {
	plain := bufio.NewReader(file)
	x.limit = &io.LimitedReader{R: plain, N: maxLine}
	if mark, _ := plain.Peek(2); string(mark) == "\x1f\x8b" {
		if x.limit.R, err = gzip.NewReader(plain); err != nil {
			return x, t.unread(err)
		}
	}
	x.Reader = bufio.NewReaderSize(x.limit, 64<<10)
	start, _ := x.Peek(64)
	begins := func(marks ...string) bool {
		return slices.ContainsFunc(marks, func(mark string) bool { return bytes.HasPrefix(start, []byte(mark)) })
	}
	switch {
	case begins("\uFEFF"):
		_, _ = x.Discard(3)
	case begins("\xFF\xFE", "\xFE\xFF"):
		return x, refuse("data.file", "%s is UTF-16; %s", t.spec.File, t.toUTF8("UTF-16"))
	case len(start) > 1 && start[1] == 0 && start[0] != 0:
		return x, refuse("data.file", "%s is UTF-16; %s", t.spec.File, t.toUTF8("UTF-16LE"))
	case begins("PAR1"):
		return x, refuse("data.file", "%s is Parquet, not text; rename it to end in .parquet", t.spec.File)
	case begins("ARROW1", "\xFF\xFF\xFF\xFF"):
		return x, refuse("data.file", "%s is Arrow, not text; rename it to end in .arrow", t.spec.File)
	case begins("PK\x03\x04"):
		return x, refuse("data.file", "%s is a zip file or a spreadsheet; unzip it, or save the sheet as CSV", t.spec.File)
	}
	return x, nil
}

// toUTF8 returns the command that converts the file from an encoding.
func (t *table) toUTF8(from string) string {
	return fmt.Sprintf("convert it: iconv -f %s -t UTF-8 %s > utf8.csv", from, wording.ShellWord(t.spec.File))
}

// unread returns the error of a text file that cannot be read further.
func (t *table) unread(err error) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return refuse("data.file", "%s: a row has more than %d bytes; is it a text file, with a quote at the end of "+
			"each cell that begins with one?", t.spec.File, maxLine)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
		return t.damaged(fmt.Errorf("gzip: %w", err))
	}
	return refuse("data.file", "%s: %v", t.spec.File, err)
}

// missingWords are the texts that stand for a missing number, in lower case.
var missingWords = []string{"", "?", "-", ".", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "(null)", "none",
	`\n`, "missing", "#div/0!", "#value!", "1.#ind", "-1.#ind", "1.#qnan"}

// isMissing reports whether a text in a column of numbers stands for a missing one.
func isMissing(text string) bool { return slices.Contains(missingWords, strings.ToLower(text)) }

// parse returns the number that a text stands for: true is 1 and false is 0.
func (t *table) parse(text string) (v float64, ok bool) {
	switch {
	case strings.EqualFold(text, "true"):
		return 1, true
	case strings.EqualFold(text, "false"):
		return 0, true
	}
	if t.spec.Decimal == "," {
		if strings.Contains(text, ".") {
			return 0, false
		}
		text = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}

// notNumbers lists reasons why a text is no number.
var notNumbers = []struct {
	is     *regexp.Regexp
	points bool // only if the decimal sign is a point
	remedy string
}{
	{regexp.MustCompile(`^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}`), false, ", a date; write dates as numbers"},
	{regexp.MustCompile(`^\d{1,2}:\d{2}`), false, ", a time; write times as numbers"},
	{regexp.MustCompile(`^-?\d{1,3}(,\d{3})+(\.\d+)?$`), true, "; write numbers without commas between thousands"},
	{regexp.MustCompile(`^-?\d*,\d+$`), true, `; for decimal commas set problem.data.decimal: ","`},
	{regexp.MustCompile(`^[-−(]?[$€£]?[\s\d.,'’\x{a0}\x{202f}]*\d[\s\d.,'’\x{a0}\x{202f}]*[%$€£)]?$`), false,
		"; write numbers without signs and separators"},
}

// notNumber returns the reason why a text is no number, if it can be guessed, and the remedy.
func (t *table) notNumber(text string) string {
	for _, n := range notNumbers {
		if n.is.MatchString(text) && !(n.points && t.spec.Decimal == ",") {
			return n.remedy
		}
	}
	return ""
}
