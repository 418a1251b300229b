package trial

import (
	"fmt"
	"strconv"
	"strings"
)

// Ladder describes a search over another number than n, at one sample size: cells that differ in
// that number alone are its rungs. The search looks for the first rung on which trials succeed.
type Ladder struct {
	Axis       string    // the column of the number: "epsilon"
	Rises      bool      // success rises with the number; else it falls
	Values     []float64 // of the rungs, from where success is least likely to where it is most likely
	Within     int64     // number of steps between the ends of a bracket that is narrow enough
	Confidence float64   // that the whole table is right
	Monotone   bool      // no trials look for a fall of success outside of the bracket
}

// Rung says which value of a ladder a cell has.
type Rung struct {
	*Ladder
	Value    float64
	Position int64 // of Value among the ladder's, from 1 on
}

// OverRounds reports whether the search is over the number of rounds of task online, so that each rung
// has another one.
func (l *Ladder) OverRounds() bool { return l.Axis == RoundsAxis }

// RoundsAxis names the number of rounds of task online where it is searched, or fitted against.
const RoundsAxis = "rounds"

// Words names the value at a position: "epsilon = 0.5".
func (l *Ladder) Words(position int64) string {
	return fmt.Sprintf("%s = %s", l.Axis, strconv.FormatFloat(l.Values[position-1], 'g', -1, 64))
}

// Direction says in a word how success goes with the axis: "rises" or "falls".
func (l *Ladder) Direction() string {
	if l.Rises {
		return "rises"
	}
	return "falls"
}

// Fall says that success goes against the direction: "success does not rise as epsilon grows".
func (l *Ladder) Fall() string {
	return fmt.Sprintf("success does not %s as %s grows", strings.TrimSuffix(l.Direction(), "s"), l.Axis)
}

// Sampled returns what the keys of the cell's data and adversary are made of, where sampled is the
// canonical JSON of what its sample depends on. The rungs of a ladder share no data, though they may
// share the problem: what the search sees on different rungs counts as independent evidence.
func (c *Cell) Sampled(sampled Fragment) (Fragment, error) {
	if c.Rung == nil {
		return sampled, nil
	}
	return Canonical(Object{}.With("find", c.Rung.Axis).With("problem", sampled).With("value", c.Rung.Value))
}
