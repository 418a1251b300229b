package estimate

// A Decider asks for the trials of one cell until they answer the cell's question. It is a pure state
// machine with these rules:
//
//   - A Decider that is done never changes again, except that [Sizes] accept an outcome of a lost trial. It
//     wants and needs nothing, and its Left is empty.
//   - A Decider that is not done wants trials. Only a rung of a [Ladder] may wait for trials that the other
//     rungs want.
//   - Want, Needs, Left and Result change nothing, and their results belong to the caller.
//   - Which outcomes it reads and what it decides is a function of the outcomes, losses and refusals alone.
//     Their order, repeated ones, and those that it did not want make no difference. To resume the
//     decision, give all of them to a new Decider.
//   - An outcome of a lost trial replaces the loss if the decision did not end with it.
//
// A Decider is not safe for concurrent use, and neither are the rungs of one Ladder.
type Decider interface {
	// Needs returns the sample sizes whose trials are needed now, ascending; it may leave out those of which
	// trials were read. The caller reports by Infeasible which of them the algorithm refuses.
	Needs() []int64
	// Want returns the trials that are needed now and are neither known nor lost. Blocks may overlap.
	Want() []Block
	// Left predicts the trials that the decision still reads, including those wanted now: Count of them at
	// sample size N. First is 0.
	Left() []Block
	// Add adds the outcome of a trial.
	Add(n int64, rep int, o Outcome)
	// Lost reports that a trial cannot be had, with the reason. A loss never helps an algorithm.
	Lost(n int64, rep int, reason string)
	// Infeasible reports that the algorithm refuses a sample size, with its reason, before trials of that
	// size are added.
	Infeasible(n int64, reason string)
	// Done reports whether the result is final.
	Done() bool
	// Result returns what the outcomes read so far show.
	Result() Result
}

// A Trivial is the Decider of a cell whose question says nothing about data: it wants no trial, and
// ignores outcomes. It holds the reason.
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
