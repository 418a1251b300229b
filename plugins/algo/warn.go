package algo

import (
	"fmt"
	"os"
	"sync"
)

// Warn counts a warning. Shatter shows how many warnings each algorithm gave, and the text of the first one. Warnings
// never affect results.
func Warn(format string, args ...any) {
	warned.Lock()
	defer warned.Unlock()
	if warned.count++; warned.count == 1 {
		warned.first = text(fmt.Sprintf(format, args...))
		fmt.Fprintln(os.Stderr, "warning:", warned.first)
	}
}

// warned holds the warnings since the last session ended. A process serves one session at a time.
var warned struct {
	sync.Mutex
	count uint64
	first string
}

// takeWarnings returns and resets the warnings.
func takeWarnings() (count uint64, first string) {
	warned.Lock()
	defer warned.Unlock()
	count, first = warned.count, warned.first
	warned.count, warned.first = 0, ""
	return count, first
}
