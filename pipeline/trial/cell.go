package trial

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Cell is one point of the grid: every parameter fixed but the sample size and the repetition. It holds everything that a
// worker needs to run trials of it but the data file, which is found by its digest; its JSON travels inside jobs.
type Cell struct {
	Key      Key // identity
	DataKey  Key // seed and problem: target, points, label noise, test points
	NoiseKey Key // seed and Key: the algorithm's own randomness

	AdversaryKey Key // seed, problem and adversary: the adversary's own randomness; task predict

	Task    string // "learn", "predict" or "online"
	Problem schemas.Problem
	Public  *pluginv1.Problem // what algorithms may know of the problem

	Queries   int                // predict: T, how many queries each trial is asked; else 0
	Adversary *schemas.Adversary // predict, online: who asks or plays; else nil

	Algorithm string // as the plugin names it
	As        string // as the sweep file names it
	Plugin    string // absolute path of its file; empty: built in
	Params    Params // resolved
	Replica   int

	Private bool    // states a guarantee; else Epsilon and Delta do not apply and are 0
	Pure    bool    // pure differential privacy; then Delta does not apply and is 0
	Epsilon float64 // 0: does not apply
	Delta   float64 // 0: does not apply

	Alpha float64 // success: error - Above <= Alpha
	Beta  float64 // failure probability allowed
	Above float64 // the reference error, resolved

	N         []int64 // list mode: the sample sizes, or in task online the numbers of rounds, ascending; else Find is set
	Trials    int     // list mode: repetitions per sample size
	Find      *Find   // find mode
	MaxTrials int64   // find mode: trials that the search may consume
	Limits    Limits

	Metrics    []string // that the algorithm declares, and those of the task, ascending
	Bounds     []*pluginv1.Bound
	Guarantee  *pluginv1.Guarantee // nil: not private
	Evaluation string              // "exact" or the evaluation sample's size

	Line, Column int // of its algorithm in the sweep file
}

// Find says how n* is searched: the least n in [From, To] that succeeds, to a bracket of ratio at most Within, where the whole
// table is right with probability Confidence.
type Find struct {
	From       int64   `json:"from"`
	To         int64   `json:"to"`
	Within     float64 `json:"within"`
	Confidence float64 `json:"confidence"`
}

// Limits bound one trial on a machine. Exceeding one loses the trial; it never counts as an outcome.
type Limits struct {
	Trial  time.Duration `json:"trial"`  // wall time
	Memory int64         `json:"memory"` // resident bytes of the plugin process
}

// Params are the resolved parameters of an algorithm: int64, float64, bool or string. In JSON a float64 always has a point or
// an exponent, so that the types survive the trip.
type Params map[string]any

// MarshalJSON writes sorted keys; NaN and infinities are refused.
func (p Params) MarshalJSON() ([]byte, error) {
	plain := make(map[string]json.RawMessage, len(p))
	for name, v := range p {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("write parameter %q: %w", name, err)
		}
		if _, ok := v.(float64); ok && !bytes.ContainsAny(raw, ".e") {
			raw = append(raw, ".0"...)
		}
		plain[name] = raw
	}
	return json.Marshal(plain)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Params) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var plain map[string]any
	if err := d.Decode(&plain); err != nil {
		return fmt.Errorf("read parameters: %w", err)
	}
	for name, v := range plain {
		switch v := v.(type) {
		case bool, string:
		case json.Number:
			number, err := typedNumber(v)
			if err != nil {
				return fmt.Errorf("read parameter %q: %w", name, err)
			}
			plain[name] = number
		default:
			return fmt.Errorf("read parameter %q: %T is neither number, bool nor string", name, v)
		}
	}
	*p = plain
	return nil
}

func typedNumber(n json.Number) (any, error) {
	if strings.ContainsAny(string(n), ".eE") {
		return n.Float64()
	}
	return n.Int64()
}

// Values is the parameters in the form of the plugin protocol.
func (p Params) Values() map[string]*pluginv1.Value {
	out := make(map[string]*pluginv1.Value, len(p))
	for name, v := range p {
		switch v := v.(type) {
		case int64:
			out[name] = &pluginv1.Value{Kind: &pluginv1.Value_Int{Int: v}}
		case float64:
			out[name] = &pluginv1.Value{Kind: &pluginv1.Value_Float{Float: v}}
		case bool:
			out[name] = &pluginv1.Value{Kind: &pluginv1.Value_Bool{Bool: v}}
		case string:
			out[name] = &pluginv1.Value{Kind: &pluginv1.Value_String_{String_: v}}
		default:
			panic(fmt.Sprintf("pipeline: parameter %q is a %T", name, v))
		}
	}
	return out
}

// Setting is what an algorithm is told about the cell at sample size n, in task online at n rounds; 0 where none is fixed. Its parameters are the resolved
// ones, so an algorithm's Check has to accept what it resolved. The problem in it is shared: do not change it.
func (c *Cell) Setting(n int64) *pluginv1.Setting {
	rounds := int64(0)
	if c.Online() {
		n, rounds = 0, cmp.Or(n, slices.Max(c.N))
	}
	return &pluginv1.Setting{
		Algorithm:  c.Algorithm,
		Task:       WireTask(c.Task),
		Queries:    int64(c.Queries),
		Offline:    c.Adversary != nil && c.Adversary.Offline,
		Parameters: c.Params.Values(),
		Problem:    PublicOf(c.Public, c.Task, c.Adversary),
		N:          n,
		Rounds:     rounds,
		Alpha:      c.Alpha,
		Beta:       c.Beta,
		Epsilon:    c.Epsilon,
		Delta:      c.Delta,
	}
}

// Online reports whether the cell plays online games, whose numbers of rounds stand in N.
func (c *Cell) Online() bool { return c.Task == schemas.TaskOnline }

// TrialID names one trial of the cell: first 10 hex digits of its key, n, repetition.
func (c *Cell) TrialID(n, rep int64) string {
	return c.Key.Short() + "/" + strconv.FormatInt(n, 10) + "/" + strconv.FormatInt(rep, 10)
}

// cellJSON is Cell with its protocol messages, whose JSON is protobuf's (it can say Infinity).
type cellJSON struct {
	*plainCell
	Public    json.RawMessage   `json:",omitempty"`
	Bounds    []json.RawMessage `json:",omitempty"`
	Guarantee json.RawMessage   `json:",omitempty"`
}

type plainCell Cell

// MarshalJSON writes the whole cell, but for what a worker has from the problem's file: its path, which means nothing on another machine,
// and a class matrix, which may be large.
func (c *Cell) MarshalJSON() ([]byte, error) {
	out := cellJSON{plainCell: (*plainCell)(c)}
	var err error
	if c.Public != nil {
		if out.Public, err = protojson.Marshal(withoutMatrix(c.Public)); err != nil {
			return nil, fmt.Errorf("write cell %s: %w", c.Key.Short(), err)
		}
	}
	if c.Guarantee != nil {
		if out.Guarantee, err = protojson.Marshal(c.Guarantee); err != nil {
			return nil, fmt.Errorf("write cell %s: %w", c.Key.Short(), err)
		}
	}
	for _, b := range c.Bounds {
		raw, err := protojson.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("write cell %s: %w", c.Key.Short(), err)
		}
		out.Bounds = append(out.Bounds, raw)
	}
	return json.Marshal(out)
}

func withoutMatrix(p *pluginv1.Problem) *pluginv1.Problem {
	if p.GetMatrix() == "" {
		return p
	}
	p = proto.CloneOf(p)
	p.Matrix = ""
	return p
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Cell) UnmarshalJSON(b []byte) error {
	*c = Cell{}
	in := cellJSON{plainCell: (*plainCell)(c)}
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("read cell: %w", err)
	}
	if in.Public != nil {
		c.Public = new(pluginv1.Problem)
		if err := readMessage(in.Public, c.Public); err != nil {
			return err
		}
	}
	if in.Guarantee != nil {
		c.Guarantee = new(pluginv1.Guarantee)
		if err := readMessage(in.Guarantee, c.Guarantee); err != nil {
			return err
		}
	}
	for _, raw := range in.Bounds {
		bound := new(pluginv1.Bound)
		if err := readMessage(raw, bound); err != nil {
			return err
		}
		c.Bounds = append(c.Bounds, bound)
	}
	return nil
}

func readMessage(raw json.RawMessage, m proto.Message) error {
	if err := protojson.Unmarshal(raw, m); err != nil {
		return fmt.Errorf("read cell: %w", err)
	}
	return nil
}

// finite reports whether a key can hold f.
func Finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// SetKeys computes the keys of the cell from its other fields, the seed of the sweep, and the
// canonical JSON of its problem and parameters.
func (c *Cell) SetKeys(seed uint64, problem, params Fragment) (err error) {
	if c.Key, err = KeyOf(c.identity(problem, params)); err != nil {
		return err
	}
	c.NoiseKey, err = KeyOf(map[string]any{"format": Format, "seed": seed, "cell": c.Key.String()})
	if err != nil || c.Adversary == nil {
		return err
	}
	c.AdversaryKey, err = KeyOf(map[string]any{
		"format": Format, "seed": seed, "problem": problem, "adversary": c.Adversary,
	})
	return err
}

// identity returns what the cell's key is the key of.
func (c *Cell) identity(problem, params Fragment) map[string]any {
	id := map[string]any{
		"format":    Format,
		"task":      c.Task,
		"problem":   problem,
		"algorithm": c.Algorithm,
		"params":    params,
		"epsilon":   c.Epsilon,
		"delta":     c.Delta,
		"alpha":     c.Alpha,
		"beta":      c.Beta,
		"above":     c.Above,
		"replica":   c.Replica,
	}
	if c.Adversary != nil {
		id["queries"], id["adversary"] = c.Queries, c.Adversary
	}
	return id
}

// The bounds of one session of a plugin: trials, and bytes of sample.
const (
	SessionTrials = 25000
	SessionBytes  = 64 << 20
)

// maxGames bounds the online games of a session so that one round of all of them fits one message.
const maxGames = 4096

// SessionTrials is the number of trials of the cell at sample size n that one session may hold: at least 1, because a trial
// that is larger than the bound travels alone.
func (c *Cell) SessionTrials(n int64) int {
	dim := int64(c.Public.GetDim())
	size := numeric.Multiply(max(n, 1), 8*(dim+1))
	if c.Task == schemas.TaskOnline {
		return int(min(maxGames, SessionTrials, max(1, SessionBytes/size))) // the sequences are kept until the end
	}
	if c.Adversary != nil && c.Adversary.Offline {
		size = numeric.Add(size, numeric.Multiply(int64(c.Queries), 8*dim))
	}
	return int(min(SessionTrials, max(1, SessionBytes/size)))
}

// publicOf is what an algorithm may know of the problem: in an online game the adversary decides whether a hypothesis agrees with all truths.
func PublicOf(p *pluginv1.Problem, task string, a *schemas.Adversary) *pluginv1.Problem {
	if task != schemas.TaskOnline || p.GetRealizable() == (p.GetRealizable() && adversary.Realizable(*a)) {
		return p
	}
	p = proto.CloneOf(p)
	p.Realizable = false
	return p
}

// wireTask is the task in the plugin protocol.
func WireTask(task string) pluginv1.Task {
	switch task {
	case schemas.TaskLearn:
		return pluginv1.Task_TASK_LEARN
	case schemas.TaskPredict:
		return pluginv1.Task_TASK_PREDICT
	case schemas.TaskOnline:
		return pluginv1.Task_TASK_ONLINE
	}
	return pluginv1.Task_TASK_UNSPECIFIED
}
