package schemas

import "fmt"

// Rechecks tells which trials were run a second time, in a process, an order and a company of their
// own, and whether they came out as recorded, bit for bit.
type Rechecks struct {
	Share          float64         `json:"share"`                    // asked for, of each cell's trials; 0: none
	Cells          []CellRechecks  `json:"cells"`                    // those that are decided
	Contradictions []Contradiction `json:"contradictions,omitempty"` // at most one for each cell
	Notes          []string        `json:"notes,omitempty"`          // what else a reader of the table has to know
}

// CellRechecks counts the rechecks of a cell's trials.
type CellRechecks struct {
	Cell   string `json:"cell"` // first digits of its key
	Trials int64  `json:"trials"`
	Due    int64  `json:"due"`           // trials that were chosen for a recheck
	Equal  int64  `json:"equal"`         // those that came out as recorded
	Left   int64  `json:"left"`          // those that could not be rechecked
	Why    string `json:"why,omitempty"` // why there are such, or why fewer were chosen than asked for
}

// Contradiction describes a trial whose recheck came out differently, and of its cell, whose
// numbers are withheld.
type Contradiction struct {
	Cell       string `json:"cell"`  // first digits of its key
	Trial      string `json:"trial"` // ID
	What       string `json:"what"`  // its algorithm and problem, in words
	Cause      Cause  `json:"cause"`
	Difference string `json:"difference"`
	Worker     string `json:"worker,omitempty"` // that made the recorded outcome
	Second     string `json:"second,omitempty"` // worker that ran the trial again
	Rechecked  int64  `json:"rechecked"`        // trials of the cell that were rechecked
	Different  int64  `json:"different"`        // those that came out differently
	Note       string `json:"note,omitempty"`   // limit that was exceeded, or why the cause is unknown
}

// Cause says what the outcome of a trial depends on beside the trial.
type Cause string

// The causes. They are found by running the trial twice alone, each time in a fresh process: chance
// where the two differ; earlier where they agree and the record differs; else points.
const (
	CausePoints  Cause = "points"  // other points that answers were asked for
	CauseEarlier Cause = "earlier" // earlier trials in the process; or the record is wrong
	CauseChance  Cause = "chance"  // chance that the trial's seed does not give
	CauseLimit   Cause = "limit"   // a limit that the first run kept, and the recheck exceeded even when doubled
	CauseUnknown Cause = "unknown"

	// CauseDeclared is also the kind of the failure of a trial whose model answers otherwise than its declared
	// hypothesis.
	CauseDeclared Cause = "declaration"
)

// String returns the cause in words.
func (c Cause) String() string {
	switch c {
	case CausePoints:
		return "answers depend on other points"
	case CauseEarlier:
		return "answers depend on earlier trials, or the record is wrong"
	case CauseChance:
		return "answers depend on chance of its own"
	case CauseDeclared:
		return "answers differ from the declared hypothesis"
	case CauseLimit:
		return "twice the limits of the first run are not enough for it"
	}
	return "what it depends on is not known"
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
	case c.Cause == CauseEarlier && !apart && named && c.Worker != "":
		cause += fmt.Sprintf(" (worker %q made it)", c.Worker)
	case c.Cause == CauseLimit && named && c.Note != "":
		cause += fmt.Sprintf(" (%s)", c.Note)
	case c.Cause == CauseUnknown && named && c.Note != "":
		cause += fmt.Sprintf(" (run alone it was lost: %s)", c.Note)
	}
	return fmt.Sprintf("the recheck of trial %s came out differently (%s): %s; %d of %d rechecked trials differ",
		c.Trial, c.Difference, cause, c.Different, c.Rechecked)
}

// Footer returns the lines that stand below a table of the given cells; nil: of all.
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
		lines = append(lines, fmt.Sprintf("rechecks: fewer than asked for at trials of %d of these cells", fewer))
	}
	return lines
}

// mostNamed is the most cells whose contradictions are told one by one.
const mostNamed = 5
