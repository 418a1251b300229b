package schemas

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:generate go test -run TestSchemaIsUpToDate -update .

// Sweep is the sweep file: what to vary and what to measure.
//
// Editors show the first paragraph of each comment. The tags are the rules of both the checker and
// sweep.schema.json:
//
//	yaml:"key"         the key
//	yaml:"key,short"   also the meaning of a value that is not a mapping ("algorithms: [x]" is "algorithms: [{use: x}]")
//	yaml:",short"      only that meaning
//	yaml:",rest"       every key that has no field of its own
//	yaml:",with=key"   the whole mapping, instead of the other fields, if it has that key
//	yaml:",inline"     the fields of an embedded struct
//	jsonschema:"..."   required, enum, minimum, exclusiveMinimum, maximum, exclusiveMaximum, minItems,
//	                   maxItems, maxLength, pattern; registry=class: the names in a registry;
//	                   reason: why a number has these bounds, for messages; default: the value of a
//	                   missing key
type Sweep struct {
	// Name of the sweep: letters, digits, hyphens and underscores. Results are written to
	// shatter-out/<name> unless --out is set.
	Name string `yaml:"name" jsonschema:"required,pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$,maxLength=64"`
	// Task of the algorithms: learn (labeled sample in, predictions on fresh points out), predict
	// (then the queries of an adversary, one by one), online (rounds of point, prediction, truth), audit
	// and audit-predict (tests of the privacy that algorithms of learn and of predict claim).
	Task string `yaml:"task" jsonschema:"registry=task,default=learn"`
	// Seed of all randomness: a whole number, or secret for 128 bits of the system's randomness. A
	// plugin can try numbers until one reproduces its sample, and then knows the labels of its test
	// points; use secret for plugins that you do not trust. The bits are drawn at the first run of
	// the sweep and stored in its output folder (ledger and manifest.json), so later runs use the
	// same bits; another folder draws new ones.
	Seed *Seed `yaml:"seed" jsonschema:"default=1"`
	// Plugins lists further plugins, with paths relative to this file. Their algorithms are used by
	// their declared names. A plugin is an executable file, or a folder with one file for each
	// platform, named like acme_linux_amd64 and acme_darwin_arm64. Its identity is its content: the
	// SHA-256 of the file or, for a folder, of the list of its platforms and files.
	Plugins []string `yaml:"plugins"`
	Grid    `yaml:",inline"`
	// Fits are functions of numbers that the sweep varies, such as products of powers. Shatter fits
	// them to n* (task online: to the mean regret). They only change the tables, not the cells.
	Fits []FitSpec `yaml:"fits" jsonschema:"minItems=1,maxItems=100"`
	// Grids are several grids in one file. The keys at the top level are the defaults of each; a
	// key in a block replaces the whole key at the top level.
	Grids []Grid `yaml:"grids" jsonschema:"minItems=1"`
}

// Grid is the product of its axes: a list instead of a single value is an axis.
type Grid struct {
	// Problem to learn.
	Problem *ProblemSpec `yaml:"problem"`
	// Algorithms to run, by name, or {use: name, ...} with parameters.
	Algorithms Axis[AlgorithmUse] `yaml:"algorithms"`
	// Privacy is the budget of the private algorithms. Other algorithms run once, not once per
	// budget.
	Privacy *Privacy `yaml:"privacy"`
	// Goal is the criterion for success. A list of n needs none: the result then holds errors, and
	// no n*. In task online it belongs to a search.
	Goal *Goal `yaml:"goal"`
	// N lists the sample sizes of a curve, or searches for n*, the least sample size that reaches the
	// goal, in a range: {from: 16, to: 1e6, within: 1.5}.
	N *SampleSizes `yaml:"n"`
	// Search searches a number other than n, at each n of a list: {search: epsilon} searches the
	// least epsilon with which trials succeed, {search: noise_rate} the largest rate that they
	// tolerate. The search considers the listed values of that key. In task online it searches at
	// each number of rounds, or, with {search: rounds}, over those.
	Search *SearchSpec `yaml:"search"`
	// Trials is the number of repetitions for each cell and n of a list (it can be raised later,
	// brackets stay valid), or {max: ...} for each cell of a search (default {max: 50000}).
	Trials *Trials `yaml:"trials" jsonschema:"default=200"`
	// Queries of the adversary (task predict).
	Queries Axis[int] `yaml:"queries" jsonschema:"minimum=1"`
	// Rounds (task online): a list instead of n, or the values of {search: rounds}.
	Rounds []int `yaml:"rounds" jsonschema:"minimum=1,minItems=1"`
	// Adversary that asks or plays (tasks predict and online).
	Adversary Axis[AdversarySpec] `yaml:"adversary"`
	// Zip pairs axes instead of multiplying them: [[d, margin]]. Their lengths must be equal.
	Zip [][]string `yaml:"zip" jsonschema:"maxItems=100"`
	// Exclude drops cells by value: [{algorithm: hs-stl-400, d: 50}]. A list of values matches any
	// of them. An entry that matches nothing is an error.
	Exclude []map[string]Axis[Value] `yaml:"exclude" jsonschema:"maxItems=1000"`
	// Limits of one trial on a machine. They do not change any result.
	Limits *Limits `yaml:"limits"`
}

// Axis is one value or a list of them.
type Axis[T any] []T

// IsAxis marks a list for which the checker accepts a single value.
func (Axis[T]) IsAxis() {}

// AxisRange replaces a list of numbers: from, to and the values between them. The values are
// distinct integers if the key requires integers. Otherwise they have three significant digits, or
// as many as are necessary to distinguish neighbors.
type AxisRange struct {
	// From is the first value.
	From Number `yaml:"from" jsonschema:"required"`
	// To is the last value.
	To Number `yaml:"to" jsonschema:"required"`
	// Steps is the number of values, including both ends.
	Steps int `yaml:"steps" jsonschema:"required,minimum=2,maximum=100,reason=a range has two ends"`
	// Scale is the quantity that is equal between neighbors: linear (their difference) or log
	// (their ratio).
	Scale string `yaml:"scale" jsonschema:"enum=linear,enum=log,default=linear"`
}

// LogScale is the value of AxisRange.Scale for equal ratios.
const LogScale = "log"

// ProblemSpec is a concept class with a distribution, a target and noise, or with a real dataset.
type ProblemSpec struct {
	// Class of concepts. The thresholds on infinite orders, the natural numbers and the dyadic
	// numbers in [0, 1), are only for task online and have no domain or distribution.
	Class Axis[string] `yaml:"class" jsonschema:"required,registry=class"`
	// File of the class matrix, .csv, .parquet or .arrow: a line with the points' names, then a row of
	// 0 and 1 per hypothesis.
	File Axis[string] `yaml:"file"`
	// Domain is X, the size of an ordered domain: 65536, 1e6 or 2^16.
	Domain Axis[Size] `yaml:"domain"`
	// D is the dimension (bits for parities and conjunctions).
	Dim Axis[int] `yaml:"d" jsonschema:"minimum=1,maximum=1000000"`
	// Distribution is the distribution of the points. The class determines which distributions are
	// allowed.
	Distribution Axis[string] `yaml:"distribution" jsonschema:"registry=distribution"`
	// Mass is the needle distribution's a, the weight of each of its points.
	Mass Axis[float64] `yaml:"mass" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// BestError is the least error of the class under the distribution agnostic.
	BestError Axis[float64] `yaml:"best_error" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=0.5"`
	// Minority is the skew distributions' share of the minority.
	Minority Axis[float64] `yaml:"minority" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1,default=0.2"`
	// Margin of the halfspace distributions.
	Margin Axis[float64] `yaml:"margin" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// Target is the hypothesis that labels the points: random (drawn for each trial from the
	// class's distribution of targets, so that success requires data), uniform (a uniform
	// hypothesis of a finite class), middle (a canonical one, the same in all trials; the only one
	// for the needle distribution), a hypothesis in the notation of the class (5, 16..49, x1>=5,
	// 10xx), or each (a list of all hypotheses of a class of at most 4096).
	Target Axis[Text] `yaml:"target" jsonschema:"default=random"`
	// Literals is the number of literals of a random conjunction.
	Literals Axis[int] `yaml:"literals" jsonschema:"minimum=1,maximum=64,default=2"`
	// Noise on the labels of the sample. The evaluation always uses clean labels.
	Noise Axis[NoiseSpec] `yaml:"noise" jsonschema:"default=none"`
	// Data is a real dataset instead of a distribution: its rows are the population, and samples
	// are drawn from it with replacement.
	Data Axis[DataSpec] `yaml:"data"`
	// Disguise hides real data from algorithms that may recognize it: each trial applies a random
	// isometry to all rows and a random sign to all labels. Only halfspaces are invariant under
	// that. Default: true for data for halfspaces if an algorithm of the grid is not built in.
	Disguise Axis[bool] `yaml:"disguise"`
	// Test is the number of points for measuring an error that cannot be computed exactly (default:
	// enough for a standard error of alpha/20).
	Test Axis[int] `yaml:"test" jsonschema:"minimum=1,maximum=100000000"`

	// Plugin is a problem of a plugin: a mapping with the key use.
	Plugin *ProblemUse `yaml:",with=use"`
}

// ProblemUse is a problem of a plugin and its parameters.
type ProblemUse struct {
	// Use is the name of a problem of a plugin, instead of class, distribution, target and data.
	Use string `yaml:"use" jsonschema:"required"`
	// Noise on the labels of the sample: none or random. The evaluation uses the problem's labels.
	Noise Axis[NoiseSpec] `yaml:"noise" jsonschema:"default=none"`
	// Test is the number of points for measuring an error (default: enough for a standard error of
	// alpha/20).
	Test Axis[int] `yaml:"test" jsonschema:"minimum=1,maximum=100000000"`
	// Params are the problem's own parameters, each a value or a list.
	Params map[string]Axis[Value] `yaml:",rest"`
}

// NoiseSpec is label noise.
type NoiseSpec struct {
	// Kind of noise.
	Kind Axis[string] `yaml:"kind" jsonschema:"required,registry=noise"`
	// Rate of wrong labels, below 1/2. A search for n* requires an alpha above the rate of
	// adversarial noise that hides the target.
	Rate Axis[float64] `yaml:"rate" jsonschema:"minimum=0,exclusiveMaximum=0.5"`
}

// DataSpec is a real dataset.
type DataSpec struct {
	// File is a CSV file with a header line (.csv, .tsv), a Parquet, Arrow or LIBSVM file; text may be compressed
	// (.gz). The path is relative to this file.
	File Axis[string] `yaml:"file" jsonschema:"required"`
	// Delimiter is the character between the cells of a CSV file, for example ";" (default: a comma; a tab in
	// .tsv files).
	Delimiter string `yaml:"delimiter" jsonschema:"maxLength=1"`
	// Decimal is the decimal sign of numbers in a CSV file: "." (the default) or ",".
	Decimal string `yaml:"decimal" jsonschema:"maxLength=1"`
	// Label is the column of the label, which has two values; "label" in a LIBSVM file.
	Label Axis[string] `yaml:"label"`
	// Positive is the label's value that becomes +1.
	Positive Axis[Text] `yaml:"positive"`
	// Features are the columns of numbers or booleans to use (default: all columns that hold nothing else;
	// a warning lists the others).
	Features []string `yaml:"features"`
	// Categorical columns become one 0/1 column for each value.
	Categorical []string `yaml:"categorical"`
	// Missing selects the treatment of a missing cell: refuse reports it as an error, drop omits its
	// row, mean replaces it by the mean of its column. The column missing_share of the results shows
	// the share of dropped rows or filled cells.
	Missing string `yaml:"missing" jsonschema:"enum=refuse,enum=drop,enum=mean,default=refuse"`
	// Bias adds a constant coordinate to each row, for halfspaces: those through the origin then
	// become all halfspaces.
	Bias bool `yaml:"bias" jsonschema:"default=false"`
	// Scale is the public bound that maps rows into the unit ball, for halfspaces: a bound on the
	// norm of a row, or for each numeric column a bound or [low, high].
	Scale Axis[ScaleSpec] `yaml:"scale"`
}

// ScaleSpec is a stated, public bound, never computed from the data.
type ScaleSpec struct {
	// Norm bounds the Euclidean norm of a row.
	Norm float64 `yaml:",short" jsonschema:"exclusiveMinimum=0"`
	// Ranges bound single columns.
	Ranges map[string]Range `yaml:",rest"`
}

// AlgorithmUse is an algorithm and its parameters.
type AlgorithmUse struct {
	// Use is the algorithm's name.
	Use string `yaml:"use,short" jsonschema:"required"`
	// As is its name in the results (default: the algorithm's).
	As string `yaml:"as" jsonschema:"pattern=^[A-Za-z0-9][A-Za-z0-9_./-]*$,maxLength=64"`
	// Replica 1, 2, ... is a further copy with independent noise.
	Replica Axis[int] `yaml:"replica" jsonschema:"minimum=0,maximum=1000000,default=0"`
	// Params are the algorithm's own parameters, each a value or a list.
	Params map[string]Axis[Value] `yaml:",rest"`
}

// Privacy is the budget of private algorithms: every combination of its values.
type Privacy struct {
	// Epsilon of differential privacy.
	Epsilon Axis[float64] `yaml:"epsilon" jsonschema:"exclusiveMinimum=0"`
	// Delta of approximate differential privacy; pure algorithms ignore it.
	Delta Axis[float64] `yaml:"delta" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
}

// Goal is the criterion for success: error - reference <= alpha, with probability at least 1 - beta.
type Goal struct {
	// Alpha is the excess error that counts as success. It is below 1/2, and so is the reference
	// plus alpha: random labels reach 1/2 without any data. In task online it is the largest regret
	// per round that counts as success: the reference is the best hypothesis in hindsight.
	Alpha Axis[float64] `yaml:"alpha" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=0.5,reason=coins reach an error of 1/2 without data"`
	// Beta is the allowed failure probability.
	Beta Axis[float64] `yaml:"beta" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// Reference is the reference error: best (the class's least error) or a number; 0 makes alpha
	// an absolute error.
	Reference Axis[Reference] `yaml:"reference" jsonschema:"default=best"`
	// Answers to evaluation points are labels, -1 or +1, or may be the mean of a label, in [-1, 1],
	// which counts as the corresponding share of an error. Mean is not allowed for an algorithm
	// with a guarantee, unless its guarantee covers a real-valued function.
	Answers string `yaml:"answers" jsonschema:"enum=labels,enum=mean,default=labels"`
	// States selects the error that counts in task predict, where an algorithm's state changes with
	// its answers: the worst of all (of the states before the first query, after each query that it
	// marks as hard, after 1, 2, 4, ... queries, and before some randomly drawn ones), the worst of
	// every (of the states before each query), or that of the final state. Hard counts like all,
	// and also reports the error after 0, 1, 2, 4, ... queries marked as hard, as metrics. Each
	// value except final also compares answers with the states that gave them.
	States Axis[string] `yaml:"states" jsonschema:"enum=all,enum=every,enum=hard,enum=final,default=all"`
	// Evaluation is the number of points that a trial evaluates, in task learn and if an error is
	// measured on independent points of the distribution: full (all points), or sequential (only
	// until success or failure of the trial is clear, which is wrong in at most 0.0001 of trials).
	// Sequential requires a beta in [0.01, 0.99].
	Evaluation string `yaml:"evaluation" jsonschema:"enum=full,enum=sequential,default=full"`
}

// EvaluationSequential is the value of Goal.Evaluation for the sequential rule.
const EvaluationSequential = "sequential"

// AnswersMean is the value of Goal.Answers for means.
const AnswersMean = "mean"

// Values of the key states of a goal.
const (
	StatesAll   = "all"
	StatesEvery = "every"
	StatesHard  = "hard"
	StatesFinal = "final"
)

// SampleSizes is a list of sample sizes, or the search for n*.
type SampleSizes struct {
	// List of sample sizes.
	List []int64 `yaml:",short" jsonschema:"minimum=1,maximum=1000000000,minItems=1"`
	// From is the least sample size considered.
	From int64 `yaml:"from" jsonschema:"default=16,minimum=1,maximum=1000000000"`
	// To is the largest sample size considered.
	To int64 `yaml:"to" jsonschema:"default=1000000,minimum=1,maximum=1000000000"`
	// Within is the ratio of the bracket at which the search stops.
	Within float64 `yaml:"within" jsonschema:"exclusiveMinimum=1,default=1.5"`
	// Confidence that the whole table is right.
	Confidence float64 `yaml:"confidence" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1,default=0.95"`
	// Monotone states that success never falls as n grows: no trials are spent on tests for a fall
	// outside the bracket.
	Monotone bool `yaml:"monotone" jsonschema:"default=false"`
}

// SearchSpec is a search over the values of a key of the grid, at a given n.
type SearchSpec struct {
	// Axis is the number to search, by the name of its column: epsilon, delta, alpha, margin,
	// noise_rate, queries, rounds (task online), or, with success, another number of the problem, such
	// as d, or a parameter of the algorithms.
	Axis string `yaml:"axis,short" jsonschema:"required"`
	// Within is the number of steps from value to value between the ends of the bracket at which
	// the search stops. With 1, each value must be decided. That can be impossible with any number
	// of trials, because the success probability at a value may equal the required one.
	Within int64 `yaml:"within" jsonschema:"minimum=1,default=2"`
	// Success states whether success rises or falls as the number grows. By default it rises with
	// epsilon, delta, alpha, margin and rounds, and falls with noise_rate and queries.
	Success string `yaml:"success" jsonschema:"enum=rises,enum=falls"`
	// Confidence that the whole table is right.
	Confidence float64 `yaml:"confidence" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1,default=0.95"`
	// Monotone states that success only goes one way: no trials are spent on tests for the contrary
	// outside the bracket.
	Monotone bool `yaml:"monotone" jsonschema:"default=false"`
}

// Values of the key success of a search.
const (
	SuccessRises = "rises"
	SuccessFalls = "falls"
)

// Defaults of the sweep file.
const (
	DefaultSeed       = 1
	DefaultTrials     = 200
	DefaultMaxTrials  = 50000
	DefaultFrom       = 16
	DefaultTo         = 1000000
	DefaultWithin     = 1.5
	DefaultSteps      = 2 // steps of find
	DefaultConfidence = 0.95
	DefaultTrialTime  = Duration(10 * time.Minute)
	DefaultStartTime  = Duration(time.Minute)
	DefaultMemory     = Bytes(2 << 30)
)

// Trials sets the number of repetitions per sample size, or the limit of a search.
type Trials struct {
	// Count is the number of repetitions for each cell and n of a list.
	Count int64 `yaml:",short" jsonschema:"minimum=1,maximum=1000000000"`
	// Max is the number of trials that the search of one cell may use.
	Max int64 `yaml:"max" jsonschema:"required,minimum=1,maximum=1000000000"`
}

// AdversarySpec describes the adversary that asks the queries of task predict, or plays the rounds
// of task online.
type AdversarySpec struct {
	// Kind of adversary. The task and the class determine which kinds are allowed.
	Kind Axis[string] `yaml:"kind" jsonschema:"required,registry=adversary"`
	// Sees selects what the adversary sees: labels, or marks for the public marks of hard queries
	// too (predict); the answer of the round, or only earlier answers (online).
	Sees Axis[string] `yaml:"sees" jsonschema:"registry=sees"`
	// Offline reveals the list of queries beforehand.
	Offline Axis[bool] `yaml:"offline"`
	// Width is the distance of a boundary adversary's queries from the target's edge, on integer
	// points. By default it is drawn for each query from domain/n, twice that, four times, ...
	// below domain/2.
	Width Axis[int] `yaml:"width" jsonschema:"minimum=0"`
	// Rate of the rounds with a wrong label (planted) or a uniform point (smoothed).
	Rate Axis[float64] `yaml:"rate" jsonschema:"minimum=0,maximum=1"`
	// From is the first point of a bisecting adversary on thresholds-naturals: 1048576, 1e6 or 2^20,
	// up to 2^52.
	From Axis[Size] `yaml:"from"`
}

// FitSpec is a function that is fitted to n* (task online: to the mean regret): once for each
// algorithm and group of cells that differ only in the numbers of its terms.
type FitSpec struct {
	// Model is the form of the function of the terms t1, t2, ...
	Model string `yaml:"model" jsonschema:"required,registry=model"`
	// In lists the terms. A term is a number that the sweep varies, by the name of its column (a
	// number of the problem, such as d, margin or noise_rate, or epsilon, delta, alpha, beta, queries,
	// rounds (task online) or a numeric parameter of an algorithm), or a product of powers and
	// logarithms of them: epsilon, 1/epsilon, ln domain, d/(epsilon alpha), 1/alpha^2. The term 1 is
	// the constant of a sum. An algorithm without one of the numbers is fitted without the term.
	In []Value `yaml:"in" jsonschema:"required,minItems=1,maxItems=10"`
	// Claimed lists the exponents or coefficients of the terms that a theorem claims. Tables show
	// them next to the estimates and judge them by the confidence intervals.
	Claimed []float64 `yaml:"claimed" jsonschema:"maxItems=10"`
	// Source is that theorem.
	Source string `yaml:"source" jsonschema:"maxLength=200"`
}

// Limits bound one trial on a machine: a trial that exceeds one is lost. No result depends on them.
type Limits struct {
	// Trial is the time that one trial may take: 90s, 10m, 1h.
	Trial Duration `yaml:"trial" jsonschema:"default=10m"`
	// Start is the time that a plugin process may take to become ready: to import its packages and
	// load its files.
	Start Duration `yaml:"start" jsonschema:"default=1m"`
	// Memory limits the memory of the plugin process: 512 MiB, 2 GiB, or a number of bytes.
	Memory Bytes `yaml:"memory" jsonschema:"default=2 GiB"`
}

// Text is any scalar, as written.
type Text string

// UnmarshalText stores text unchanged.
func (t *Text) UnmarshalText(text []byte) error { *t = Text(text); return nil }

// Value is the value of a parameter or of an exclusion, whose type only the algorithm determines.
type Value struct {
	Text   string // as written, without quotes
	Quoted bool   // whether it is written in quotes: not a number, not a boolean
	Whole  string // value of a range as an integer, for a parameter that requires integers
}

// Number is a number, or a power 2^16, as written.
type Number string

// UnmarshalText stores a number unchanged.
func (n *Number) UnmarshalText(text []byte) error {
	*n = Number(text)
	if power.Match(text) {
		return new(Size).UnmarshalText(text)
	}
	_, err := ParseFloat(string(text))
	return err
}

// Range is the public range of a numeric column: [low, high], or a bound b for [-b, b].
type Range struct{ Low, High float64 }

var power = regexp.MustCompile(`^([0-9]{1,10})\^([0-9]{1,3})$`)

// SizePattern is the pattern of a Size that is written as text instead of a number.
const SizePattern = `^[0-9]+\^[0-9]+$`

// Size is an integer that may be written as a power, 2^16.
type Size uint64

// UnmarshalText reads 65536, 1e6 or 2^16.
func (s *Size) UnmarshalText(text []byte) error {
	m := power.FindStringSubmatch(string(text))
	if m == nil {
		n, err := ParseInt(string(text))
		if err != nil {
			return err
		}
		if n < 1 {
			return fmt.Errorf("%s is below 1", text)
		}
		*s = Size(n)
		return nil
	}
	base, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil || base < 1 {
		return fmt.Errorf("%s is not a power of a whole number", text)
	}
	exponent, err := strconv.Atoi(m[2])
	if err != nil {
		return fmt.Errorf("%s is not a power of a whole number", text)
	}
	product := uint64(1)
	for range exponent {
		over, low := bits.Mul64(product, base)
		if over != 0 || low > math.MaxInt64 {
			return fmt.Errorf("%s is too large", text)
		}
		product = low
	}
	*s = Size(product)
	return nil
}

var (
	digits  = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)$`)
	decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

// ParseInt reads an integer, 1000000 or 1e6.
func ParseInt(text string) (int64, error) {
	if digits.MatchString(text) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is too large", text)
		}
		return n, nil
	}
	f, err := ParseFloat(text)
	if err != nil || len(text) > 1 && text[0] == '0' && !strings.ContainsAny(text, ".eE") {
		return 0, fmt.Errorf("%s is not a whole number%s", quote(text), rangeHint(text))
	}
	if f != math.Trunc(f) {
		return 0, fmt.Errorf("%s is not a whole number", text)
	}
	if math.Abs(f) > 1<<53 {
		return 0, fmt.Errorf("%s is too large: write its digits", text)
	}
	return int64(f), nil
}

var twoNumbers = regexp.MustCompile(`^[0-9.]+ *(-|\.\.\.?|:|to) *[0-9][0-9.]*$`)

// rangeHint describes the notation of a range if a text looks like one.
func rangeHint(text string) string {
	if twoNumbers.MatchString(text) {
		return "; a range is written {from: 4, to: 12, steps: 5}"
	}
	return ""
}

// ParseFloat reads a finite decimal number.
func ParseFloat(text string) (float64, error) {
	if strings.HasSuffix(strings.ToLower(text), ".nan") || strings.HasSuffix(strings.ToLower(text), ".inf") {
		return 0, fmt.Errorf("%s is not a finite number", text)
	}
	if !decimal.MatchString(text) {
		return 0, fmt.Errorf("%s is not a number%s", quote(text), rangeHint(text))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%s is too large", text)
	}
	return f, nil
}

// quote quotes a piece of the file and truncates it if it is long.
func quote(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "..."
	}
	return strconv.Quote(text)
}

// Reference is the reference error of a goal.
type Reference struct {
	Best  bool    // the least error of the class; else Value
	Value float64 // number in [0, 1]
}

// UnmarshalText reads best or a number.
func (a *Reference) UnmarshalText(text []byte) error {
	if string(text) == "best" {
		*a = Reference{Best: true}
		return nil
	}
	f, err := ParseFloat(string(text))
	if err != nil {
		return fmt.Errorf("%s is neither best nor a number", quote(string(text)))
	}
	if f < 0 || f > 1 {
		return fmt.Errorf("%s is outside [0, 1]", text)
	}
	*a = Reference{Value: f}
	return nil
}

// Duration is a positive time with its unit.
type Duration time.Duration

// UnmarshalText reads 90s, 10m, 1h30m.
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%s is not a time: write it with a unit, like 90s, 10m or 1h", quote(string(text)))
	}
	if t <= 0 {
		return fmt.Errorf("%s is not positive", text)
	}
	*d = Duration(t)
	return nil
}

var size = regexp.MustCompile(`^([0-9.]+) *(B|[kKMGT]i?B|)$`)

// Bytes is a positive amount of memory.
type Bytes int64

// UnmarshalText reads 512 MiB, 2 GiB, 2GB or a number of bytes.
func (b *Bytes) UnmarshalText(text []byte) error {
	m := size.FindStringSubmatch(string(text))
	if n, err := ParseInt(string(text)); err == nil {
		m = []string{"", strconv.FormatInt(n, 10), ""}
	}
	if m == nil {
		return fmt.Errorf("%s is not an amount of memory: write it like 512 MiB or 2 GiB", quote(string(text)))
	}
	f, err := ParseFloat(m[1])
	if err != nil {
		return err
	}
	if m[2] != "" && m[2] != "B" {
		unit := 1000.0
		if strings.Contains(m[2], "i") {
			unit = 1024
		}
		f *= math.Pow(unit, 1+float64(strings.IndexByte("KMGT", strings.ToUpper(m[2])[0])))
	}
	if f < 1<<20 || f > 1<<60 { // below 1 MiB the unit is missing: no process can run in that
		return fmt.Errorf("%s is outside 1 MiB to 2^60 bytes: write it like 512 MiB or 2 GiB", text)
	}
	*b = Bytes(f)
	return nil
}
