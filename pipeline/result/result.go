// Package result makes the files of a result from the outcomes in a ledger, and checks and reads
// them.
//
// It promises that the files are a function of the ledger's outcomes, the cells and the sweep file,
// byte for byte; that they are replaced together or not at all; and that a difference from what
// they should be is named by file, row and column. It needs the open ledger of a sweep.
//
// Start with Rows, Result, WriteResult and CheckResult. A column stands with its name, its doc and the
// way its value is read in columns.go, or in package trial where it says what a cell is.
package result

import (
	"iter"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// TableRow is a row of the table: the n* of a cell.
type TableRow struct {
	Cell        *trial.Cell
	NLow        int64   // largest n shown insufficient; 0: none
	NHigh       int64   // smallest n shown sufficient; 0: none
	NStar       int64   // NHigh when decided; else 0
	NModel      float64 // point estimate of n*, and its interval; 0: none
	NModelLow   float64
	NModelHigh  float64
	Status      string
	Reason      string
	Falls       bool // the reason is that success falls where it should rise
	Theory      Theory
	PaperN      float64 // first bound that is only printed; 0, NaN or infinite: none
	PaperSource string
	Trials      int64 // consumed
	Fixed       bool  // no search chose them
	Failed      int64
	// QueriesSuccess is the success rate of baseline/queries against the same adversary; NaN: none.
	QueriesSuccess float64
	Found          Found   // of a rung: what the search over its ladder has found
	MeanError      float64 // over the ok trials at n_high (at the largest n where there is none); NaN: none
}

// Found is what a search over another number than n has found: values of that number. It stands in
// the rows of all rungs.
type Found struct {
	Ladder                           string  // id of the first rung, which names the search
	Insufficient, Sufficient, Proved float64 // NaN: none
}

// Theory is what the proved bounds of an algorithm say beside a row.
type Theory struct {
	Value       float64 // the least bound that holds; 0, NaN or infinite: none
	Source      string  // its name and theorem
	Standing    string  // trial.Proved or trial.Declared
	Missing     string  // why there is none, though the algorithm states some; else ""
	Contradicts string  // the bounds that the row refutes, with the numbers; "": none
}

// CurveRow is a row of the curve: the rates of a cell at one sample size.
type CurveRow struct {
	Cell                    *trial.Cell
	N                       int64
	Trials                  int64 // consumed
	OK, Failed, Lost        int64
	Successes               int64
	Rate, RateLow, RateHigh float64      // NaN: none
	ErrorMean, ErrorP90     float64      // over the ok trials; NaN: none
	ErrorLow, ErrorHigh     float64      // interval of ErrorMean; infinite: none
	Metrics                 []MetricMean // of those that trials reported, in any order
}

// MetricMean is the mean of a metric over the trials that reported it.
type MetricMean struct {
	Metric string
	Mean   float64
}

// BoundRow is a sample size that the theory states for a cell.
type BoundRow struct {
	Cell   *trial.Cell
	Name   string
	Value  float64 // +Inf: no finite one, written as null
	Source string
	With   map[string]float64 // intermediate values: columns w_<name>

	Standing     string // trial.Proved, trial.Declared or trial.Printed
	Order        bool   // an order of magnitude alone
	Fails        string // why it says nothing of the cell; "": it holds
	Contradicted bool   // the cell's n_low refutes it
}

// TimingRow describes a message of a worker.
type TimingRow struct {
	Cell            *trial.Cell
	N               int64
	First, Rows     int64 // its first repetition, and how many
	Seconds         float64
	PluginSeconds   float64
	Worker          string
	Digest, Profile string
}

// Point says that repetitions 0..Consumed-1 at sample size N enter the result. Those in Lost,
// ascending, have no outcome.
type Point struct {
	N, Consumed int64
	Lost        []int64
	Spot        bool // see estimate.Point
}

// Consumed holds the points of a cell, ascending in N.
type Consumed struct {
	Cell    *trial.Cell
	Points  []Point
	Refused bool // the algorithm refuses the cell
}

// Result holds what the files are made from. They keep the order of its rows.
type Result struct {
	Source  []byte    // the sweep file, as it was given
	Metrics []string  // names that the sweep's algorithms declare
	Games   []GameRow // task online: the table in place of Table
	Table   []TableRow
	Curve   []CurveRow
	Bounds  iter.Seq[BoundRow] // may be gone through several times; nil: none
	Fits    []FitRow
	Trials  []Consumed
	Ledger  *ledger.Ledger // trials and messages are read from it

	Confidence float64 // that no bracket of the table is wrong; 0: it has none
	State      State
}
