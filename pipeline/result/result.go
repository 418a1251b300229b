package result

import (
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// TableRow is one row of the table: a cell's n*.
type TableRow struct {
	Cell         *trial.Cell
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
	Cell                    *trial.Cell
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
	Cell   *trial.Cell
	Name   string
	Value  float64 // +Inf: no finite one, written as null
	Proved bool
	Source string
	With   map[string]float64 // intermediate values: columns w_<name>
}

// TimingRow is one message of a worker.
type TimingRow struct {
	Cell            *trial.Cell
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
	Cell   *trial.Cell
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
