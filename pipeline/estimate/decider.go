package estimate

// A Decider requests the trials of one cell until they answer the cell's question. It is a pure
// state machine with these rules:
//
//   - A Decider that is done never changes again, except that [Sizes] accept an outcome of a lost trial.
//     It requests nothing: Want, Needs and Left return nothing.
//   - A Decider that is not done requests trials. Only a rung of a [Ladder] may wait for trials of the
//     other rungs.
//   - Want, Needs, Left and Result have no side effects, and the caller owns their results.
//   - The outcomes that it reads and its decision are a function of the outcomes, losses and refusals
//     alone. The order of outcomes, repeated outcomes, and outcomes that it did not request make no
//     difference. To resume the decision, add all outcomes to a new Decider.
//   - An outcome of a lost trial replaces the loss if the loss did not end the decision.
//
// A Decider is not safe for concurrent use, and neither are the rungs of one Ladder.
type Decider interface {
	// Needs returns the sample sizes of the trials that are required now, ascending; it may omit
	// sizes of which trials were read. If the algorithm refuses one of them, the caller calls
	// Infeasible.
	Needs() []int64
	// Want returns the trials that are required now and are neither known nor lost. Blocks may
	// overlap.
	Want() []Block
	// Left predicts the trials that the decision still reads, including those wanted now: Count
	// of them at sample size N. First is 0.
	Left() []Block
	// Add adds the outcome of a trial.
	Add(n int64, rep int, o Outcome)
	// Lost records that a trial cannot be run, with the reason. A loss never helps an algorithm.
	Lost(n int64, rep int, reason string)
	// Infeasible records that the algorithm refuses a sample size, with its reason. It must
	// precede the trials of that size.
	Infeasible(n int64, reason string)
	// Done reports whether the result is final.
	Done() bool
	// Result returns the result of the outcomes read so far.
	Result() Result
}

// A FeatureDecider is a Decider that reads metrics of trials.
type FeatureDecider interface {
	Decider
	// AddFeatures is Add for a trial with metrics. metric returns NaN for a missing value.
	AddFeatures(n int64, rep int, o Outcome, metric func(name string) float64)
}

// A Trivial is the Decider of a cell whose answer does not depend on data. It requests no trials
// and ignores outcomes. Its value is the reason.
type Trivial string

// Needs returns nothing.
func (Trivial) Needs() []int64 { return nil }

// Want returns nothing.
func (Trivial) Want() []Block { return nil }

// Left returns nothing.
func (Trivial) Left() []Block { return nil }

// Add does nothing.
func (Trivial) Add(int64, int, Outcome) {}

// Lost does nothing.
func (Trivial) Lost(int64, int, string) {}

// Infeasible does nothing.
func (Trivial) Infeasible(int64, string) {}

// Done returns true.
func (Trivial) Done() bool { return true }

// Result has the status trivial.
func (t Trivial) Result() Result { return Result{Status: StatusTrivial, Reason: string(t)} }
