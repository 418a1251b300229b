package result

import (
	"encoding/hex"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// Cell is what result files say about a cell; see schemas.KeyColumns. Zero means "does not apply" and is written as null, but for
// Alpha, Beta, Above and Replica, which always apply.
type Cell struct {
	Key          [32]byte // the column cell is its first 10 hex digits
	Task         string
	Algorithm    string // its "as"
	Class        string
	File         string // of the class matrix
	D            int
	Domain       uint64
	Distribution string
	Mass         float64
	Minority     float64
	Margin       float64
	Noise        string  // none, random, adversarial
	NoiseRate    float64 // null where Noise is none
	Data         string
	Queries      int
	Adversary    string
	Epsilon      float64
	Delta        float64
	Privacy      string // pure, approximate, not certified
	Alpha        float64
	Beta         float64
	Above        float64
	Replica      int
	DataKey      [32]byte       // of seed and problem: the column sample is its first 10 hex digits
	Params       map[string]any // as resolved: int64, float64, bool, string
}

// TableRow is one row of the table: a cell's n*.
type TableRow struct {
	Cell         *Cell
	NLow         int64   // largest n shown insufficient; 0: none
	NHigh        int64   // smallest n shown sufficient; 0: none
	NStar        int64   // NHigh when decided; else 0
	NModel       float64 // point estimate of n*, and its interval; 0: none
	NModelLow    float64
	NModelHigh   float64
	Status       string
	Reason       string
	TheoryN      float64 // least proved bound; 0, NaN or infinite: none
	TheorySource string
	PaperN       float64 // first bound that is only printed; 0, NaN or infinite: none
	PaperSource  string
	Ratio        float64 // NStar / TheoryN; 0, NaN or infinite: none
	Trials       int64   // consumed
	Fixed        bool    // no search chose them
	Failed       int64
	MeanError    float64 // over the ok trials at n_high (at the largest n where there is none); NaN: none
	Evaluation   string  // "exact" or the size of the evaluation sample
}

// CurveRow is one row of the curve: a cell at one sample size.
type CurveRow struct {
	Cell                    *Cell
	N                       int64
	Trials                  int64 // consumed
	OK, Failed              int64
	Successes               int64
	Rate, RateLow, RateHigh float64            // NaN: none
	ErrorMean, ErrorP90     float64            // over the ok trials; NaN: none
	Metrics                 map[string]float64 // means over the trials that reported them
}

// BoundRow is one of the theory's sample sizes for a cell.
type BoundRow struct {
	Cell   *Cell
	Name   string
	Value  float64 // +Inf: no finite one, written as null
	Proved bool
	Source string
	With   map[string]float64 // intermediate values: columns w_<name>
}

// TimingRow is one message of a worker.
type TimingRow struct {
	Cell            *Cell
	N               int64
	First, Rows     int64 // its first repetition, and how many
	Seconds         float64
	Worker          string
	Digest, Profile string
}

// Point says that repetitions 0..Consumed-1 at sample size N enter the result.
type Point struct{ N, Consumed int64 }

// Consumed is the points of one cell, ascending in N.
type Consumed struct {
	Cell   *Cell
	Points []Point
}

// Result is what the files are made from. The order of the rows is kept.
type Result struct {
	Source  []byte    // the sweep file, as it was given
	Metrics []string  // names that the sweep's algorithms declare
	Games   []GameRow // task online: the table in place of Table
	Table   []TableRow
	Curve   []CurveRow
	Bounds  []BoundRow
	Fits    []FitRow
	Timing  []TimingRow
	Trials  []Consumed
	Ledger  *ledger.Ledger // the trials are read from it

	Confidence float64 // that no bracket of the table is wrong; 0: it has none
}

// value is what stands in the key's or a parameter's column; known is false where the column is neither.
func (c *Cell) value(column string) (v any, known bool) {
	if name, ok := strings.CutPrefix(column, schemas.ParamPrefix); ok {
		return sheet.Clean(c.Params[name]), true
	}
	switch column {
	case "cell":
		return c.id(), true
	case "task":
		return some(c.Task), true
	case "algorithm":
		return some(c.Algorithm), true
	case "class":
		return some(c.Class), true
	case "file":
		return some(c.File), true
	case "d":
		return some(int64(c.D)), true
	case "domain":
		return some(int64(c.Domain)), true
	case "distribution":
		return some(c.Distribution), true
	case "mass":
		return some(c.Mass), true
	case "minority":
		return some(c.Minority), true
	case "margin":
		return some(c.Margin), true
	case "noise":
		return some(c.Noise), true
	case "noise_rate":
		return some(c.NoiseRate), true
	case "data":
		return some(c.Data), true
	case "queries":
		return some(int64(c.Queries)), true
	case "adversary":
		return some(c.Adversary), true
	case "epsilon":
		return some(c.Epsilon), true
	case "delta":
		return some(c.Delta), true
	case "privacy":
		return some(c.Privacy), true
	case "alpha":
		return some(c.Alpha), true
	case "beta":
		return some(c.Beta), true
	case "above":
		if !c.goal() {
			return nil, true
		}
		return sheet.Clean(c.Above), true
	case "replica":
		return int64(c.Replica), true
	case "sample":
		if c.DataKey == [32]byte{} {
			return nil, true
		}
		return hex.EncodeToString(c.DataKey[:5]), true
	}
	return nil, false
}

// goal says that a trial can succeed: not in task online.
func (c *Cell) goal() bool { return c.Alpha > 0 }

// id is the cell's key as result files show it.
func (c *Cell) id() string { return hex.EncodeToString(c.Key[:5]) }

func (r *TableRow) value(column string) any {
	if v, ok := r.Cell.value(column); ok {
		return v
	}
	switch column {
	case "n_low":
		return some(r.NLow)
	case "n_high":
		return some(r.NHigh)
	case "n_star":
		return some(r.NStar)
	case "n_model":
		return some(r.NModel)
	case "n_model_low":
		return some(r.NModelLow)
	case "n_model_high":
		return some(r.NModelHigh)
	case "status":
		return some(r.Status)
	case "reason":
		return some(r.Reason)
	case "theory_n":
		return some(sheet.Finite(r.TheoryN))
	case "theory_source":
		return some(r.TheorySource)
	case "paper_n":
		return some(sheet.Finite(r.PaperN))
	case "paper_source":
		return some(r.PaperSource)
	case "ratio":
		return some(sheet.Finite(r.Ratio))
	case "trials":
		return r.Trials
	case "fixed":
		return r.Fixed
	case "failed":
		return r.Failed
	case "mean_error":
		return sheet.Clean(r.MeanError)
	case "evaluation":
		return some(r.Evaluation)
	}
	panic("ledger: table has no column " + column)
}

func (r *CurveRow) value(column string) any {
	if v, ok := r.Cell.value(column); ok {
		return v
	}
	if name, ok := strings.CutPrefix(column, schemas.MetricPrefix); ok {
		return lookup(r.Metrics, name)
	}
	switch column {
	case "n":
		return r.N
	case "trials":
		return r.Trials
	case "ok":
		return r.OK
	case "failed":
		return r.Failed
	case "successes":
		if !r.Cell.goal() {
			return nil
		}
		return r.Successes
	case "rate":
		return sheet.Clean(r.Rate)
	case "rate_low":
		return sheet.Clean(r.RateLow)
	case "rate_high":
		return sheet.Clean(r.RateHigh)
	case "error_mean":
		return sheet.Clean(r.ErrorMean)
	case "error_p90":
		return sheet.Clean(r.ErrorP90)
	}
	panic("ledger: curve has no column " + column)
}

func (r *BoundRow) value(column string) any {
	if name, ok := strings.CutPrefix(column, schemas.WithPrefix); ok {
		return lookup(r.With, name)
	}
	switch column {
	case "cell":
		return r.Cell.id()
	case "name":
		return r.Name
	case "value":
		return sheet.Clean(sheet.Finite(r.Value))
	case "proved":
		return r.Proved
	case "source":
		return some(r.Source)
	}
	panic("ledger: bounds has no column " + column)
}

func (r *TimingRow) value(column string) any {
	switch column {
	case "cell":
		return r.Cell.id()
	case "n":
		return r.N
	case "first":
		return r.First
	case "rows":
		return r.Rows
	case "seconds":
		return sheet.Clean(r.Seconds)
	case "worker":
		return some(r.Worker)
	case "digest":
		return some(r.Digest)
	case "profile":
		return some(r.Profile)
	}
	panic("ledger: timing has no column " + column)
}

// some is v, or nil where it is zero or NaN.
func some[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return sheet.Clean(v)
}

func lookup(m map[string]float64, name string) any {
	if v, ok := m[name]; ok {
		return sheet.Clean(sheet.Finite(v))
	}
	return nil
}
