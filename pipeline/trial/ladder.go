package trial

import (
	"fmt"
	"strconv"
	"strings"
)

// A Ladder describes a search over a number other than n, at one sample size. Its rungs are cells that differ in this
// number only. The search finds the first rung that suffices.
type Ladder struct {
	Axis       string    // column of the number, such as "epsilon"
	Rises      bool      // success rises with the number; false: it falls
	Values     []float64 // values of the rungs, from the least to the most likely success
	Within     int64     // maximal number of steps between the ends of a final bracket
	Confidence float64   // probability that the whole table is right
	Monotone   bool      // skip the trials that test whether success drops outside the bracket
}

// A Rung is the position of a cell on a ladder.
type Rung struct {
	*Ladder
	Value    float64
	Position int64 // position of Value in the ladder, from 1
}

// OverRounds reports whether the search is over the number of rounds of task online.
func (l *Ladder) OverRounds() bool { return l.Axis == RoundsAxis }

// RoundsAxis names the number of rounds of task online in searches and fits.
const RoundsAxis = "rounds"

// Describe names the value at a position, such as "epsilon = 0.5".
func (l *Ladder) Describe(position int64) string {
	return fmt.Sprintf("%s = %s", l.Axis, strconv.FormatFloat(l.Values[position-1], 'g', -1, 64))
}

// Direction returns how success changes along the axis: "rises" or "falls".
func (l *Ladder) Direction() string {
	if l.Rises {
		return "rises"
	}
	return "falls"
}

// DescribeFall describes a violation of the direction, such as "success does not rise as epsilon grows".
func (l *Ladder) DescribeFall() string {
	return fmt.Sprintf("success does not %s as %s grows", strings.TrimSuffix(l.Direction(), "s"), l.Axis)
}

// Sampled returns the content of a cell's data and adversary keys. sampled is the canonical JSON of the part of the
// problem that the sample depends on, and all of it without a rung. Rungs of a ladder share no data even if they
// share the problem, because the search requires independent evidence from different rungs.
func (r *Rung) Sampled(sampled Fragment) (Fragment, error) {
	if r == nil {
		return sampled, nil
	}
	return Canonical(map[string]any{keySearch: r.Axis, "problem": sampled, "value": r.Value})
}
