package sandbox

import (
	"bufio"
	"io"
	"strings"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// FirstLine returns the words that follow #! in the first line of the file at path: the interpreter of a
// script and its arguments. There are none if it begins otherwise, or is no file that can be read.
func FirstLine(path string) []string {
	f, _, err := disk.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return firstLine(f)
}

// firstLine returns the words that follow #! in the first line of a file; none if it begins
// otherwise.
func firstLine(r io.Reader) []string {
	const longest = 256 // as in the kernel
	line, _ := bufio.NewReaderSize(r, longest).ReadSlice('\n')
	text, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return nil
	}
	return strings.Fields(text)
}
