// Package algo is the SDK for authors of algorithms: describe one as an Algorithm, and Serve it from main.
//
//	type params struct {
//		Rounds int `doc:"boosting rounds" min:"1"`
//	}
//
//	var booster = algo.Algorithm[params]{
//		Name: "acme/booster", Version: "1.0.0", Doc: "Boosts a weak learner.",
//		Defaults: params{Rounds: 200},
//		Learn:    func(ctx context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) { ... },
//	}
//
//	func main() { algo.Serve(booster) }
//
// It promises that an author sees single trials, each with its own random numbers, and that what one trial does wrong (an
// error, a panic, a bad answer) is that trial's outcome alone. It needs from the author that a trial's result is a function of its
// setting, its sample and its Rand: no clock, no other randomness, nothing kept from trial to trial. Trials of one process run one
// after another, so package variables need no locks. Standard output and error may be printed to once Serve runs; both
// show up where a plugin is reported to have failed.
//
// Samples lie in memory shared with the worker and are not copied. Start reading at Algorithm; plugintest.Run is the
// acceptance test of one.
package algo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Algorithm is one learning algorithm with parameters of type P: a flat struct whose exported fields are int, float64,
// bool or string. A field's parameter name is its `param` tag or else its name in lower case with underscores
// (RoundCount is "round_count"); the tags `doc`, `min` and `max` (numbers, inclusive) and `choices` (strings, comma separated)
// describe it. Values outside of them are refused before the author's code sees them.
//
// A nil function means "not supported".
type Algorithm[P any] struct {
	Name    string // "family/name": lower case letters, digits and hyphens
	Version string // of the algorithm's behaviour
	Doc     string // one sentence

	Defaults P
	Metrics  map[string]string // what Report may be called with, and what it means

	// Learn plays the task learn: it gets one trial's sample and returns a model. The sample is borrowed: neither keep nor change it.
	Learn func(ctx context.Context, t *Trial[P], sample *Data) (Model, error)

	// Predict plays the task predict: it gets one trial's sample, borrowed as above, and returns what answers the queries, one by one.
	Predict func(ctx context.Context, t *Trial[P], sample *Data) (Answerer, error)

	// Online plays the task online: it returns what predicts the point of each round and then observes its truth.
	Online func(ctx context.Context, t *Trial[P]) (Learner, error)

	// Check refuses a setting with Invalid or Infeasible, and may resolve parameters whose default depends on others by
	// writing to s.Params. It is called for each cell with N = 0, for each sample size, and in each session.
	Check func(s *Setting[P]) error

	// Guarantee states the differential privacy of what Learn releases, or of all answers in the task predict. Nil: not private; the
	// algorithm then runs once and not once per epsilon.
	Guarantee func(s *Setting[P]) (Guarantee, error)

	// Bound gives the theory's sample sizes for this setting (N = 0), proved and printed ones alike.
	Bound func(s *Setting[P]) ([]Bound, error)
}

// Task is the game that is played.
type Task string

// The tasks.
const (
	Learn   Task = "learn"   // a labelled sample in, predictions on fresh points out
	Predict Task = "predict" // a labelled sample in, then queries of an adversary, answered one by one
	Online  Task = "online"  // rounds of point, prediction, truth
)

// Problem is what is public about the problem: never the target.
type Problem struct {
	Class      string  // "thresholds", "parities", "halfspace", ...: as in the sweep file
	Domain     uint64  // X: every number of a point is one of 0..X-1, as float64; 0 where there is none
	Dim        int     // numbers per example, at least 1
	Margin     float64 // 0: none promised
	Noise      string  // label noise: "none", "random" or "adversarial"
	NoiseRate  float64 // in [0, 1/2)
	NoConstant bool    // thresholds without the constant -1 (t = 0..X-1 instead of 0..X)
	Realizable bool    // the target lies in the class
	RealData   bool    // examples are drawn from a population of rows instead of a law
	Matrix     string  // class "matrix": '0' (label -1) or '1' (+1) for each hypothesis and point, Domain of them for each hypothesis
}

// Setting is everything public that a trial runs under.
type Setting[P any] struct {
	Params  P
	Task    Task
	Problem Problem
	N       int     // sample size; 0 where none is fixed yet
	Alpha   float64 // in (0, 1): the error that counts as success
	Beta    float64 // in (0, 1): the failure probability allowed
	Epsilon float64 // privacy budget; 0 where the algorithm states no Guarantee
	Delta   float64 // 0 where the algorithm states no Guarantee or a pure one
	Queries int     // predict: T, how many queries will be asked; else 0
	Offline bool    // predict: the queries are known beforehand, see Trial.Revealed
	Rounds  int     // online: T, how many rounds will be played; else 0
}

// Trial is one run of the algorithm.
type Trial[P any] struct {
	Setting[P]
	Rand *rand.Rand // the trial's only source of randomness, seeded by the worker; not safe for concurrent use

	// Revealed is the queries of an offline game in their order, without labels, borrowed as the sample is; nil otherwise.
	Revealed *Data

	record *record
	index  int
}

// Report records the metric name, which must stand in Algorithm.Metrics, for this trial. The last value counts; NaN and
// infinities fail the trial. On a Trial that an author's test made by hand it does nothing. It is not safe for concurrent use.
func (t *Trial[P]) Report(name string, value float64) {
	if t.record != nil {
		t.record.report(t.index, name, value)
	}
}

// record holds the metrics of a session, trial by trial; nil values: none reported yet.
type record struct {
	names  []string
	trials int
	values []float64
	bad    string // why the present trial fails, if its report does that
}

func (r *record) report(trial int, name string, value float64) {
	for i, n := range r.names {
		if n != name {
			continue
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			r.bad = fmt.Sprintf("metric %q is %v", name, value)
			return
		}
		if r.values == nil {
			r.values = make([]float64, r.trials*len(r.names))
			fillNaN(r.values)
		}
		r.values[trial*len(r.names)+i] = value
		return
	}
	panic(fmt.Sprintf("algo: Report(%q): not in the algorithm's Metrics", name))
}

// take gives why the present trial fails, and forgets it.
func (r *record) take() error {
	if r.bad == "" {
		return nil
	}
	err := errors.New(r.bad)
	r.bad = ""
	return err
}

// packed is the reported metrics as the protocol has them: per name one number per trial.
func (r *record) packed() map[string][]byte {
	if r.values == nil {
		return nil
	}
	packed := make(map[string][]byte, len(r.names))
	for i, name := range r.names {
		column := make([]float64, r.trials)
		for j := range column {
			column[j] = r.values[j*len(r.names)+i]
		}
		packed[name] = bytesOf(column)
	}
	return packed
}

// Data is a read-only table of examples, row-major. Labels are -1 and +1.
type Data struct {
	x   []float64
	y   []float64
	dim int
	n   int
}

// NewData wraps x, of len n*dim, and y, of length n or nil for points without labels. Nothing is copied. It panics where the
// lengths do not fit: Shatter's own data always does, so this only meets an author's test.
func NewData(x []float64, dim int, y []float64) *Data {
	if dim < 1 || len(x)%dim != 0 || (y != nil && len(y) != len(x)/dim) {
		panic(fmt.Sprintf("algo: NewData: %d numbers, dimension %d, %d labels", len(x), dim, len(y)))
	}
	return &Data{x: x, y: y, dim: dim, n: len(x) / dim}
}

// Len is the number of examples.
func (d *Data) Len() int { return d.n }

// Dim is the number of numbers per example.
func (d *Data) Dim() int { return d.dim }

// X is example i, a view into shared memory that must not be written (a write may end the process).
func (d *Data) X(i int) []float64 {
	return d.x[i*d.dim : (i+1)*d.dim : (i+1)*d.dim]
}

// Y is the label of example i, -1 or +1.
func (d *Data) Y(i int) float64 { return d.y[i] }

// Xs is the whole table, row-major, len Len()*Dim(): a view like X.
func (d *Data) Xs() []float64 { return d.x }

// Ys is the labels, len Len(): a view like X; nil where there are none.
func (d *Data) Ys() []float64 { return d.y }

// Model predicts. An answer is the mean of the label, in [-1, +1]: a deterministic model says -1 or +1, and 0 is a tie, which
// counts as half an error.
type Model interface {
	// Predict fills out, of length x.Len(), and changes nothing: asked twice, or in pieces, it answers the same.
	Predict(ctx context.Context, x *Data, out []float64) error
}

// Answerer answers the queries of one game. As a Model it is asked for its final state, after the last answer.
type Answerer interface {
	Model
	// Answer labels the query x, of length Dim and borrowed until it returns, with -1 or +1. hard marks the query, publicly: adversaries
	// may see it. What was answered cannot depend on queries that come later.
	Answer(ctx context.Context, x []float64) (label float64, hard bool, err error)
}

// Learner plays the rounds of one online game: as a Model it is asked for the next point before the truth is known, possibly more than once,
// and answers the mean of its label. One that draws its label draws it for the round to come in Observe, or at the start.
type Learner interface {
	Model
	// Observe tells the truths y, -1 or +1, of the points x just played, in order. The points are borrowed.
	Observe(ctx context.Context, x *Data, y []float64) error
}

// Guarantee is the differential privacy of a released model, or of all answers to the queries with their marks, for neighbours that
// differ in one replaced example, n public.
type Guarantee struct {
	Pure    bool    // epsilon alone; Delta is 0 and the sweep's delta does not apply
	Epsilon float64 // at Delta
	Delta   float64
	Rho     float64 // zero-concentrated DP, where that is how it was proved; else 0
	Source  string  // the theorem or computation

	Uncertified bool // true: Epsilon and Delta are what the algorithm aims at; no proof says that it keeps them
}

// Bound is one of the theory's sample sizes.
type Bound struct {
	Name   string             // "sharp-realizable"
	Source string             // the theorem and its text
	Value  float64            // examples; +Inf where there is no finite one
	Proved bool               // false: only printed in a paper
	With   map[string]float64 // intermediate values
}

// Plugin is anything that Serve can serve: an Algorithm.
type Plugin interface {
	describe() (*pluginv1.Algorithm, error) // validates it
	check(*pluginv1.Setting) *pluginv1.CheckResponse
	bound(*pluginv1.Setting) *pluginv1.BoundResponse
	open(s *pluginv1.Setting, seeds []uint64, r *record) (game, error)
}

type refusal struct {
	infeasible bool
	err        error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Invalid is an error that blames the parameters or the problem: the setting is refused before anything runs. It is formatted as by
// fmt.Errorf.
func Invalid(format string, args ...any) error {
	return &refusal{err: fmt.Errorf(format, args...)}
}

// Infeasible is an error that says "not with this sample size and budget": no success there, and nothing is run. It is formatted
// as by fmt.Errorf.
func Infeasible(format string, args ...any) error {
	return &refusal{infeasible: true, err: fmt.Errorf(format, args...)}
}

// IsInvalid reports whether err came from Invalid.
func IsInvalid(err error) bool {
	var r *refusal
	return errors.As(err, &r) && !r.infeasible
}

// IsInfeasible reports whether err came from Infeasible.
func IsInfeasible(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.infeasible
}
