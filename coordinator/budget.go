package coordinator

import (
	"fmt"
	"time"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Budget limits what one run spends: trials, or worker time, which is the wall-clock time that slots
// work on them, summed over all slots. When it is spent, no more jobs are sent, and the run ends when
// the jobs in work have come back. Outcomes from the cache cost nothing,
// and trials that are run again to compare plugin files are not counted. The zero Budget is no
// limit.
type Budget struct {
	Trials int64
	Time   time.Duration
}

// Given reports whether there is a limit.
func (b Budget) Given() bool { return b.Trials > 0 || b.Time > 0 }

// String returns "50000 trials" or "2h of worker time".
func (b Budget) String() string {
	if b.Trials > 0 {
		return fmt.Sprintf("%d trials", b.Trials)
	}
	return fmt.Sprintf("%s of worker time", wording.RoughDuration(b.Time))
}
