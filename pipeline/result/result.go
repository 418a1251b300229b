// Package result makes the files of a result from the outcomes in a ledger, and checks and reads
// them.
//
// The files are a function of the ledger's outcomes, the cells and the sweep file, byte for byte.
// They are replaced together or not at all. A check names a difference by file, row and column. The
// package needs the open ledger of a sweep.
//
// Start with [Rows], [Result], [WriteResult] and [CheckResult]. The file columns.go defines each
// column with its name, doc and value; package trial defines the columns that identify a cell.
package result

import (
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A TableRow is a row of the table: the n* of a cell.
type TableRow struct {
	Cell        *trial.Cell
	NLow        int64   // largest n shown insufficient; 0: none
	NHigh       int64   // smallest n shown sufficient; 0: none
	NStar       int64   // NHigh if decided, else 0
	NModel      float64 // point estimate of n*, and its interval; 0: none
	NModelLow   float64
	NModelHigh  float64
	Status      string
	Reason      string
	Falls       bool // the reason is that success falls although it should rise
	Theory      Theory
	PaperN      float64 // first bound that is only printed; 0, NaN or infinite: none
	PaperSource string
	Trials      int64 // number of consumed trials
	Fixed       bool  // no search chose the trials
	Failed      int64
	// QueriesSuccess is the success rate of baseline/queries against the same adversary; NaN: none.
	QueriesSuccess float64
	Privacy        PrivacyCheck
	Found          Found           // for a rung: the result of the search over its ladder
	Audit          *estimate.Audit // nil except in an audit
	MeanError      float64         // mean error of the ok trials at n_high, or at the largest n; NaN: none
	UnbiasedError  float64         // mean error of the final trials; NaN: none
}

// A Found is the result of a search over another number than n: values of that number. The rows of
// all rungs hold the same Found.
type Found struct {
	Ladder                           string  // id of the first rung, which identifies the search
	Insufficient, Sufficient, Proved float64 // NaN: none
}

// A Theory compares a row with the proved bounds of its algorithm.
type Theory struct {
	Value       float64 // least bound whose premises hold; 0, NaN or infinite: none
	Source      string  // name and theorem of that bound
	Standing    string  // trial.Proved or trial.Declared
	Missing     string  // reason why there is no such bound although the algorithm states some; "": otherwise
	Contradicts string  // bounds that the row refutes, with the numbers; "": none
}

// A CurveRow is a row of the curve: the rates of a cell at one sample size.
type CurveRow struct {
	Cell                    *trial.Cell
	N                       int64
	Trials                  int64 // number of consumed trials
	OK, Failed, Lost        int64
	DependentFailures       int64  // failed trials if their failure depends on the sample or the seed
	DependentKind           string // kind of the first of them
	Successes               int64
	Rate, RateLow, RateHigh float64      // NaN: none
	ErrorMean, ErrorP90     float64      // over the ok trials; NaN: none
	ErrorLow, ErrorHigh     float64      // confidence interval of ErrorMean; infinite: none
	UnbiasedError           float64      // ErrorMean of the final trials; NaN: none
	Metrics                 []MetricMean // metrics that trials reported, in any order
}

// A MetricMean is the mean of a metric over the trials that reported it.
type MetricMean struct {
	Metric string
	Mean   float64
}

// A BoundRow is a bound on the sample size of a cell.
type BoundRow struct {
	Cell   *trial.Cell
	Name   string
	Value  float64 // +Inf, written as null: not finite
	Source string
	With   map[string]float64 // intermediate values: columns w_<name>

	Standing     string // trial.Proved, trial.Declared or trial.Printed
	Order        bool   // only an order of magnitude
	Fails        string // reason why the bound does not apply to the cell; "": it applies
	Contradicted bool   // the cell's n_low refutes it
}

// A TimingRow describes a message of a worker.
type TimingRow struct {
	Cell            *trial.Cell
	N               int64
	First, Rows     int64 // first repetition and number of trials
	Seconds         float64
	PluginSeconds   float64
	Worker          string
	Digest, Profile string
}

// A Point specifies that repetitions 0..Consumed-1 at sample size N enter the result. The
// repetitions in Lost, ascending, have no outcome.
type Point struct {
	N, Consumed int64
	Lost        []int64
	Spot        bool  // see estimate.Point
	Final       int64 // see estimate.Point
}

// A Consumed holds the points of a cell, ascending in N.
type Consumed struct {
	Cell    *trial.Cell
	Points  []Point
	Refused bool // the algorithm refuses the cell
}

// A Result holds the data of all result files. The files keep the order of its rows.
type Result struct {
	Name    string    // name of the sweep
	Seed    string    // seed of the sweep, or the word secret
	Source  []byte    // text of the sweep file
	Metrics []string  // names of the metrics that the sweep's algorithms declare
	Games   []GameRow // task online: replaces Table
	Table   []TableRow
	Curve   []CurveRow
	Bounds  []BoundRow
	Fits    []FitRow
	Trials  []Consumed
	Ledger  *ledger.Ledger // source of the trials and messages

	Confidence float64 // probability that all brackets of the table hold; 0: there are none
	State      State

	origin []string // metadata of its files: see sheet.OriginKeys
}
