package schemas

import "fmt"

// Rechecks lists the trials that were run a second time, in a separate process, in another order
// and with other trials, and whether they reproduced the record, bit for bit.
type Rechecks struct {
	Share          float64         `json:"share"`                    // requested share of each cell's trials; 0: none
	Cells          []CellRechecks  `json:"cells"`                    // decided cells
	Contradictions []Contradiction `json:"contradictions,omitempty"` // at most one for each cell
	Notes          []string        `json:"notes,omitempty"`          // further notes for readers of the table
}

// CellRechecks counts the rechecks of a cell's trials.
type CellRechecks struct {
	Cell   string `json:"cell"` // first digits of its key
	Trials int64  `json:"trials"`
	Due    int64  `json:"due"`           // trials that were chosen for a recheck
	Equal  int64  `json:"equal"`         // trials that reproduced the record
	Left   int64  `json:"left"`          // trials that could not be rechecked
	Why    string `json:"why,omitempty"` // reason for such trials, or for fewer rechecks than requested
}

// Contradiction describes a trial whose recheck differed from the record. The numbers of its cell
// are withheld.
type Contradiction struct {
	Cell       string `json:"cell"`  // first digits of its key
	Trial      string `json:"trial"` // ID
	What       string `json:"what"`  // its algorithm and problem, as text
	Cause      Cause  `json:"cause"`
	Difference string `json:"difference"`
	Worker     string `json:"worker,omitempty"` // worker that made the recorded outcome
	Second     string `json:"second,omitempty"` // worker that ran the trial again
	Rechecked  int64  `json:"rechecked"`        // trials of the cell that were rechecked
	Different  int64  `json:"different"`        // rechecked trials that differed
	Note       string `json:"note,omitempty"`   // limit that was exceeded, or reason why the cause is unknown
}

// Cause is something other than the trial on which its outcome depends.
type Cause string

// The causes. To find them, Shatter runs the trial alone ten times, each time in a fresh process, and
// repeats two other sessions: after earlier trials, and with its points in another order. The cause
// is chance if identical sessions differ. Another cause is named only if the runs alone agree, and
// both runs of the other session differ from them.
const (
	CausePoints  Cause = "points"  // other points in the requests
	CauseEarlier Cause = "earlier" // earlier trials in the process
	CauseChance  Cause = "chance"  // randomness other than the trial's seed
	CauseLimit   Cause = "limit"   // a limit that the recheck exceeded even when doubled, and the first run did not
	CauseUnknown Cause = "unknown"

	// CauseProblem is also the kind of the failure of a trial if the plugin of its problem draws
	// different examples in two processes.
	CauseProblem Cause = "problem"

	// CauseDeclared is also the kind of the failure of a trial whose model answers differently from
	// its declared hypothesis.
	CauseDeclared Cause = "declaration"
)

// String returns a description of the cause.
func (c Cause) String() string {
	switch c {
	case CausePoints:
		return "answers depend on other points"
	case CauseEarlier:
		return "answers depend on earlier trials"
	case CauseChance:
		return "answers depend on randomness other than the seed"
	case CauseDeclared:
		return "answers differ from the declared hypothesis"
	case CauseProblem:
		return "its problem does not draw the same examples again"
	case CauseLimit:
		return "twice the limits of the first run are not enough for it"
	}
	return "the cause is not determined"
}

// Sentence describes the contradiction. It names workers only if named is set: result files do not contain their
// names.
func (c Contradiction) Sentence(named bool) string {
	cause := c.Cause.String()
	apart := named && c.Worker != "" && c.Second != "" && c.Second != c.Worker
	if apart {
		cause += fmt.Sprintf(" (first run by worker %q, second by %q)", c.Worker, c.Second)
	}
	switch {
	case !named || c.Note == "":
	case c.Cause == CauseUnknown && !apart && c.Worker != "":
		cause += fmt.Sprintf(" (%s; worker %q made the record)", c.Note, c.Worker)
	default:
		cause += fmt.Sprintf(" (%s)", c.Note)
	}
	return fmt.Sprintf("the recheck of trial %s differs from the record (%s): %s; %d of %d rechecked trials differ",
		c.Trial, c.Difference, cause, c.Different, c.Rechecked)
}

// Footer returns the lines below a table of the given cells; nil: of all.
func (l *Rechecks) Footer(shown map[string]bool) (lines []string) {
	has := func(cell string) bool { return shown == nil || shown[cell] }
	var told []Contradiction
	for _, c := range l.Contradictions {
		if has(c.Cell) {
			told = append(told, c)
		}
	}
	for i, c := range told {
		if i == mostNamed {
			lines = append(lines, fmt.Sprintf("integrity alarm: n* of %d more cells is withheld", len(told)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("integrity alarm: n* of %s is withheld: %s", c.What, c.Sentence(true)))
	}
	fewer, all := 0, true
	for _, c := range l.Cells {
		all = all && has(c.Cell)
		if c.Why != "" && has(c.Cell) {
			fewer++
		}
	}
	switch {
	case all:
		return append(lines, l.Notes...)
	case l.Share == 0:
		return append(lines, l.Notes[:min(1, len(l.Notes))]...)
	case fewer > 0:
		lines = append(lines, fmt.Sprintf("rechecks: fewer than requested for trials of %d of these cells", fewer))
	}
	return lines
}

// mostNamed is the maximum number of cells whose contradictions are listed individually.
const mostNamed = 5
