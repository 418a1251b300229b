// Package algo is the SDK for authors of algorithms. To add an algorithm to Shatter, describe it as
// an [Algorithm] and pass it to [Serve] in main:
//
//	type params struct {
//		Rounds int `doc:"boosting rounds" min:"1"`
//	}
//
//	var booster = algo.Algorithm[params]{
//		Name: "acme/booster", Version: "1.0.0", Doc: "Boosts a weak learner.",
//		Defaults: params{Rounds: 200},
//		Learn: func(ctx context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
//			...
//		},
//	}
//
//	func main() { algo.Serve(booster) }
//
// Then test it with plugintest.Run, the acceptance test of an algorithm, build it, and name the
// program under plugins in a sweep file.
//
// The author's code runs one trial at a time, each with its own random numbers. A failure in a
// trial (an error, a panic, an answer out of range) affects only the outcome of that trial. Trials
// of one process run one after another, so package variables need no locks.
//
// In return, the result of a trial must be a function of its setting, its sample and its Rand: the
// author's code must not use a clock or another source of randomness, and must not keep anything
// from one trial to the next. It may print to standard output and standard error once Serve runs;
// Shatter shows both when it reports that a plugin has failed.
//
// Samples are in memory that is shared with the worker and are not copied.
package algo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Algorithm describes one learning algorithm. A nil function field means "not supported"; at least
// one of Learn, Predict and Online is required.
//
// P is the type of the algorithm's parameters: a struct whose exported fields are int, float64,
// bool or string, or embedded structs of these types; struct{} for none. The name of a parameter is
// the field's `param` tag or, without one, the field's name in lower case with underscores
// (RoundCount is "round_count"). The tags `doc`, `min` and `max` (inclusive limits of numbers) and
// `choices` (allowed strings, separated by commas) describe a parameter. A setting with other
// values is rejected before the author's code is called.
type Algorithm[P any] struct {
	Name    string // "family/name": lower case letters, digits and hyphens
	Version string // shown with results: change it whenever they change; identity is the file
	Doc     string // one sentence for users

	Defaults P                 // the values of parameters that a sweep file omits
	Metrics  map[string]string // the metrics that Trial.Report accepts: name and meaning, "time of a round [seconds]"

	// Learn plays the task [Learn]: it learns from one trial's sample and returns a model. The
	// sample is borrowed: Learn must not write to it, and the model must not refer to it.
	Learn func(ctx context.Context, t *Trial[P], sample *Data) (Model, error)

	// Predict plays the task [Predict]: it learns from one trial's sample, which is borrowed as in
	// Learn, and returns an Answerer, which then receives the queries one by one.
	Predict func(ctx context.Context, t *Trial[P], sample *Data) (Answerer, error)

	// Online plays the task [Online]: it returns a Learner, which in each round predicts the label
	// of a point and then observes the truth.
	Online func(ctx context.Context, t *Trial[P]) (Learner, error)

	// Check returns an error, made by Invalid or Infeasible, for a setting that the algorithm
	// cannot run. It may write to s.Params to resolve parameters whose defaults depend on others.
	// It is called for each cell with N = 0, for each sample size, and in each session, so it must
	// accept its own resolved parameters and leave them unchanged.
	Check func(s *Setting[P]) error

	// Guarantee returns the differential privacy of the model that Learn returns or, in the task
	// Predict, of all answers. An algorithm without it is not private, and runs once instead of
	// once for each epsilon.
	Guarantee func(s *Setting[P]) (Guarantee, error)

	// Declares reports whether every model that Learn returns for a setting is a [Declared]
	// hypothesis of the problem's class. If the problem has a formula for errors, Shatter then
	// computes errors exactly and compares bounds exactly; a trial with another model fails. Nil
	// means that models may answer points.
	Declares func(s *Setting[P]) bool

	// Bound returns the theoretical bounds for a setting (with N = 0): sample sizes, or in the task
	// Online regrets. They may be proved or only printed in a paper. Each bound has its premises.
	Bound func(s *Setting[P]) ([]Bound, error)
}

// A Task is the kind of work that a trial does.
type Task string

// The tasks.
const (
	Learn   Task = "learn"   // learn from a labeled sample, then predict the labels of fresh points
	Predict Task = "predict" // learn from a labeled sample, then answer an adversary's queries
	Online  Task = "online"  // play rounds: see a point, predict its label, observe the truth
)

// Problem holds the public properties of a trial's problem. It never holds the target.
type Problem struct {
	Class      string  // the class in the sweep file, such as "thresholds" or "halfspace"
	Domain     uint64  // X: coordinates are integers in 0..X-1; 0 if the class has no X
	Dim        int     // coordinates of each point, at least 1
	Margin     float64 // the margin of the target on all points; 0 for none
	Noise      string  // "none", "random", "adversarial", or "malicious", which replaces examples
	NoiseRate  float64 // rate in [0, 1/2)
	NoConstant bool    // thresholds lack the constant -1: t is in 0..X-1 instead of 0..X
	Realizable bool    // whether the target is in the class
	RealData   bool    // whether examples are drawn from rows of real data instead of a distribution

	// Target is the rule by which the target of a trial is chosen: "random", drawn from the class's
	// distribution of targets; "uniform", a uniform hypothesis of the class; "fixed", the same in
	// all trials; "" if there is none, because an adversary or a file determines the labels. A
	// random conjunction has Literals literals; otherwise Literals is 0.
	Target   string
	Literals int

	// Matrix lists the labels of class "matrix" row by row: for each hypothesis Domain characters,
	// '0' for the label -1 and '1' for +1. It is empty for other classes.
	Matrix string
}

// Setting holds all public data that a trial depends on.
type Setting[P any] struct {
	Params    P
	Task      Task
	Problem   Problem
	N         int     // sample size; 0 if none is fixed yet
	Alpha     float64 // allowed error in (0, 1): a trial succeeds when its error is at most Reference + Alpha; 0: no goal
	Reference float64 // the reference error: 0, or the error of the best hypothesis of the class
	Beta      float64 // allowed failure probability in (0, 1); 0: no goal
	Epsilon   float64 // privacy budget; 0 if the algorithm states no Guarantee
	Delta     float64 // privacy budget; 0 if the algorithm states no Guarantee or a pure one
	Queries   int     // predict: T, the number of queries; otherwise 0
	Offline   bool    // predict: whether the queries are revealed before the first answer (Trial.Revealed)
	Rounds    int     // online: T, the number of rounds; otherwise 0

	Test int   // learn, predict: an error is measured at least as precisely as on this many points; 0: all are exact
	Sees Sight // predict, online: answers that the adversary sees; otherwise ""

	// Means reports whether a Model of the tasks Learn and Predict must return means of labels. If
	// it is false, a Model returns -1 or +1, and any other answer fails its trial.
	Means bool
}

// Proof returns the alpha and beta that a bound must reach for true errors so that measured errors
// reach those of the setting: s.Alpha and s.Beta themselves if errors are computed exactly.
func (s *Setting[P]) Proof() (alpha, beta float64) {
	g := theory.Goal{Reference: s.Reference, Alpha: s.Alpha, Beta: s.Beta, Test: s.Test, Queries: s.Queries}
	if alpha, beta, ok := g.Safe(); ok {
		return alpha, beta
	}
	return s.Alpha, s.Beta // too few points for a comparison with bounds
}

// A Sight is the part of the answers that an adversary sees when it chooses.
type Sight string

// The values of Sight.
const (
	SeesNothing Sight = theory.SeesNothing // its queries, or its rounds, are fixed beforehand
	SeesPast    Sight = theory.SeesPast    // the answers so far
	SeesAnswers Sight = theory.SeesAnswers // online: also the answer of a round, before it chooses the truth
)

// Trial is one run of the algorithm. Authors may make one by hand to test their functions.
type Trial[P any] struct {
	Setting[P]
	Rand *rand.Rand // the trial's only source of randomness; not safe for concurrent use

	// Revealed holds the queries of an offline adversary in the order in which it will ask them,
	// without labels. It is borrowed like the sample. It is nil in any other trial.
	Revealed *Data

	metrics *metrics // nil in a trial made by hand
	index   int      // position of the trial in its session
}

// Report records a value of the named metric for this trial and replaces an earlier value. A NaN or
// an infinity fails the trial. Report panics if Algorithm.Metrics does not list the name. In a
// trial made by hand it does nothing. It is not safe for concurrent use.
func (t *Trial[P]) Report(name string, value float64) {
	if t.metrics != nil {
		t.metrics.report(t.index, name, value)
	}
}

// Data is a read-only table of examples, row-major. Labels are -1 and +1.
type Data struct {
	x   []float64
	y   []float64
	dim int
	n   int
}

// NewData returns a table of the points x, n*dim numbers, with the labels y, n numbers, or nil for
// points without labels. It copies neither. It panics if the lengths do not fit, which can only
// happen in an author's own tests.
func NewData(x []float64, dim int, y []float64) *Data {
	if dim < 1 || len(x)%dim != 0 || (y != nil && len(y) != len(x)/dim) {
		panic(fmt.Sprintf("algo: NewData: %d numbers, dimension %d, %d labels", len(x), dim, len(y)))
	}
	return &Data{x: x, y: y, dim: dim, n: len(x) / dim}
}

// Len returns the number of examples.
func (d *Data) Len() int { return d.n }

// Dim returns the number of coordinates of each example.
func (d *Data) Dim() int { return d.dim }

// X returns the coordinates of example i as a view into shared memory. The caller must not write to
// it: a write may end the process.
func (d *Data) X(i int) []float64 {
	return d.x[i*d.dim : (i+1)*d.dim : (i+1)*d.dim]
}

// Y returns the label of example i, -1 or +1.
func (d *Data) Y(i int) float64 { return d.y[i] }

// Xs returns the coordinates of all examples, row-major: Len()*Dim() numbers, a view like X.
func (d *Data) Xs() []float64 { return d.x }

// Ys returns the labels of all examples: Len() numbers, a view like X, or nil if there are none.
func (d *Data) Ys() []float64 { return d.y }

// Model predicts labels, -1 or +1. If Setting.Means is set, and in the task Online, an answer is
// the mean of the predicted label, in [-1, +1]: 0 is a tie, which counts as half an error.
type Model interface {
	// Predict writes the answer to each point of x into out, which has length x.Len(). It must not
	// change the model: another call, or a call with fewer points at a time, must return the same
	// answers. The points of a trial are passed in several calls and in any order; the answer to a
	// point must not depend on other points. Shatter runs some trials a second time, in another
	// order, and compares the answers bit for bit.
	Predict(ctx context.Context, x *Data, out []float64) error
}

// Answerer answers the queries of one trial. Its Predict returns the answers of its present state:
// the answer to the next query, for any point, and after the last query the answer to a further
// one. Predict may be called before the first query, between any two, and after the last, and
// Shatter compares answers with it. An Answerer that answers at random must therefore draw the
// random numbers of the next answer beforehand: when it is made and after each answer.
// Alternatively Predict returns the mean.
type Answerer interface {
	Model
	// Answer returns the label, -1 or +1, of the query x, a point of Dim coordinates that is
	// borrowed until Answer returns. hard marks the query; adversaries may see the mark. An answer
	// cannot depend on later queries.
	Answer(ctx context.Context, x []float64) (label float64, hard bool, err error)
}

// Learner plays the rounds of one online trial. Its Predict returns the mean of the label for the
// next point before the truth is revealed, and may be called more than once in a round. A Learner
// that draws its label at random must therefore draw the label of the next round in Observe, or
// when it is made.
type Learner interface {
	Model
	// Observe receives the truths y, -1 or +1, of the points x that were just played, in order.
	// Both are borrowed.
	Observe(ctx context.Context, x *Data, y []float64) error
}

// Guarantee is a statement of differential privacy: of a released model, or of all answers to the
// queries together with their marks. Neighboring samples differ in one replaced example; n is
// public.
//
// A guarantee that is weaker than the budget of its setting is an error, and so is one whose Rho or
// Mu contradicts Epsilon and Delta. Tables list the guarantee of a plugin as declared, because only
// its author has checked the proof.
type Guarantee struct {
	Pure    bool    // epsilon alone: Delta is 0 and the sweep's delta does not apply
	Epsilon float64 // epsilon at Delta
	Delta   float64
	Rho     float64 // zero-concentrated privacy, if it was proved in that form; otherwise 0
	Mu      float64 // Gaussian differential privacy, if it was proved in that form; otherwise 0
	Source  string  // the theorem or computation that it follows from

	Unproved bool // Epsilon and Delta are targets: no proof shows that they hold

	// RealValued reports whether the proof covers the release of a function with real values, a
	// mean for each point. A proof about labels does not: the mean of the labels that a mechanism
	// would draw can be far from private even if each draw is private. Without RealValued the
	// algorithm cannot run in a sweep that requires means (goal.answers: mean). Source should name
	// the proof.
	RealValued bool
}

// Bound is one of the theoretical sample sizes, or in the task Online one of the theoretical
// regrets.
type Bound struct {
	Name   string             // such as "sharp-realizable"
	Source string             // the theorem, and the text that states it
	Value  float64            // value in Unit; +Inf if no finite number is enough
	Proved bool               // false if the bound is only printed in a paper
	With   map[string]float64 // at most 50 intermediate values, by name: column names, in which case is not significant

	// Unit is the unit of Value. In the task Online it is Regret or Mistakes, and tables show Value
	// next to games of Setting.Rounds rounds. A learner that reports ProvedRegret or PrintedRegret
	// of each game is compared by that metric instead. If empty, it means Examples, or in the task
	// Online a regret that is compared only by those metrics.
	Unit Unit

	// Order reports whether the source gives only an order of magnitude, with hidden constants set
	// to 1. Such a value is listed but not drawn as a bound.
	Order bool

	// Premises lists the assumptions of the proof. Tables show a bound next to results only if all
	// of them hold, so a Bound function need not check them. A sample size requires at least one of
	// TargetInClass and BestReference.
	Premises []Premise

	// Fails is a reason other than a premise why the bound does not hold for this setting, such as
	// "k = 40 blocks, and the proof needs 400". If empty, the bound holds.
	Fails string
}

// Unit is the unit of a bound's value.
type Unit string

// The units. A number of mistakes M bounds the regret by M minus the loss of the best hypothesis.
const (
	Examples Unit = theory.Examples // Learn, Predict: a sample size
	Regret   Unit = theory.Regret   // Online: loss minus that of the best hypothesis in hindsight
	Mistakes Unit = theory.Mistakes // Online: loss, which is the expected number of mistakes
)

// ProvedRegret and PrintedRegret name the metrics with which a learner of the task Online reports,
// with [Trial.Report], the value of a bound that is proved, or only printed, for the sequence that
// was played. Report them in every game of a setting or in none.
const (
	ProvedRegret  = theory.ProvedRegret
	PrintedRegret = theory.PrintedRegret
)

// A Premise is an assumption of a proof.
type Premise string

// The premises. A bound for adversarial label noise requires neither of the two about noise. A
// bound that is computed at [Setting.Proof] does not require ExactError.
const (
	TargetInClass    Premise = theory.TargetInClass    // the target is in the class; online: one agrees with all truths
	BestReference    Premise = theory.BestReference    // Reference is at least the least error of the class
	CleanLabels      Premise = theory.CleanLabels      // no label of the sample is wrong
	IndependentNoise Premise = theory.IndependentNoise // labels are wrong independently of each other, if at all
	ExactError       Premise = theory.ExactError       // Setting.Test is 0
	FixedBeforehand  Premise = theory.FixedBeforehand  // queries or rounds do not depend on answers
	UnseenAnswer     Premise = theory.UnseenAnswer     // online: truths do not depend on the answer of the round
)

// Plugin is an argument of Serve. An Algorithm of any parameter type is a Plugin.
type Plugin interface {
	// describe validates the algorithm and returns its description.
	describe() (*pluginv1.Algorithm, error)
	// check resolves the parameters of a setting and returns the guarantee.
	check(*pluginv1.Setting) (*pluginv1.CheckResponse, error)
	// bound returns the bounds for a setting.
	bound(*pluginv1.Setting) (*pluginv1.BoundResponse, error)
	// open returns the trials of a session, which have two seeds each and report to m.
	open(s *pluginv1.Setting, seeds []uint64, m *metrics) (trials, error)
}

// A refusal is the error of Invalid and Infeasible.
type refusal struct {
	infeasible bool
	err        error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Invalid returns an error about the parameters or the problem: the setting is rejected before
// anything runs. The arguments are those of fmt.Errorf.
func Invalid(format string, args ...any) error {
	return &refusal{err: fmt.Errorf(format, args...)}
}

// Infeasible returns an error about the sample size and the budget: nothing runs, and the sample
// size counts as one without success. The arguments are those of fmt.Errorf.
func Infeasible(format string, args ...any) error {
	return &refusal{infeasible: true, err: fmt.Errorf(format, args...)}
}

// IsInvalid reports whether err, or an error that it wraps, came from Invalid.
func IsInvalid(err error) bool {
	var r *refusal
	return errors.As(err, &r) && !r.infeasible
}

// IsInfeasible reports whether err, or an error that it wraps, came from Infeasible.
func IsInfeasible(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.infeasible
}
