package coordinator

import (
	"fmt"
	"time"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Budget limits the trials or the worker time of one run. Worker time is the wall-clock time that
// slots spend on trials, summed over all slots. When the budget is spent, the run publishes no more
// jobs and ends after the running jobs have returned. Outcomes from the cache are free, and trials
// that are run again to compare plugin files are not counted. The zero Budget means no limit.
type Budget struct {
	Trials int64
	Time   time.Duration
}

// Limited reports whether b sets a limit.
func (b Budget) Limited() bool { return b.Trials > 0 || b.Time > 0 }

// String returns "50000 trials" or "2h of worker time".
func (b Budget) String() string {
	if b.Trials > 0 {
		return fmt.Sprintf("%d trials", b.Trials)
	}
	return fmt.Sprintf("%s of worker time", wording.RoughDuration(b.Time))
}
