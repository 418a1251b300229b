package sandbox

import (
	"bufio"
	"io"
	"strings"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// FirstLine returns the words after #! in the first line of the file at path: the interpreter of
// a script and its arguments. It returns none if the file does not begin with #! or cannot be
// read.
func FirstLine(path string) []string {
	f, _, err := disk.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return firstLine(f)
}

// firstLine returns the words after #! in the first line of a file; none if it does not begin
// with #!.
func firstLine(r io.Reader) []string {
	const longest = 256 // the kernel's limit
	line, _ := bufio.NewReaderSize(r, longest).ReadSlice('\n')
	text, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return nil
	}
	return strings.Fields(text)
}
