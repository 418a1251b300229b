package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A saved plan begins with savedHeader, the version of its format and a line break. The JSON of a savedPlan follows,
// compressed with zstd.
const (
	savedHeader  = "shatter plan "
	savedVersion = "1"
)

// Limits for decoding: bytes of JSON, and bytes of JSON per compressed byte.
const (
	maxSaved      = 512 << 20
	maxSavedRatio = 512
)

// A savedPlan is the encoded form of a Plan without its description. Lists hold values that cells share.
type savedPlan struct {
	Name     string
	Seed     schemas.Seed
	Source   []byte
	Fits     []Fit
	Metrics  []schemas.Metric
	Warnings []string
	SeedAt   sweep.Mistake
	Digests  map[string]string // identities of plugins and built-in algorithms, by trial.Cell.Code

	Problems    []savedProblem
	Evaluations []*problem.Evaluation
	Ladders     []*trial.Ladder
	Messages    [][]byte // protobuf encodings of public problems, bounds and guarantees
	Cells       []savedCell
}

// A savedProblem is a problem with the path of its file, which its own JSON omits.
type savedProblem struct {
	schemas.Problem
	Path string `json:",omitzero"`
}

// A savedCell is a cell with the fields that its JSON for workers omits. Shared values are replaced by indices of
// lists, from 1; 0 means none.
type savedCell struct {
	*trial.Cell
	Problem, Public, Evaluation int
	Version                     string `json:",omitzero"`
	Bounds                      []int  `json:",omitzero"`
	Guarantee                   int    `json:",omitzero"`
	Ladder                      int    `json:",omitzero"`
	Value                       float64
	Position                    int64
	Prior                       *trial.Prior      `json:",omitzero"`
	Population                  *trial.Population `json:",omitzero"`
}

// Encode returns the plan for [Decode]. digests are the identities of plugins and built-in algorithms, by
// [trial.Cell.Code].
func (p *Plan) Encode(digests map[string]string) ([]byte, error) {
	s := &savedPlan{Name: p.Name, Seed: p.Seed.Seed, Source: p.Source, Fits: p.Fits, Metrics: p.Metrics,
		Warnings: p.Warnings, SeedAt: p.seedAt, Digests: digests}
	problems, evaluations := map[*schemas.Problem]int{}, map[*problem.Evaluation]int{}
	ladders, publics, messages := map[*trial.Ladder]int{}, map[*pluginv1.Problem]int{}, map[string]int{}
	var failed error
	message := func(m proto.Message) int {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		failed = errors.Join(failed, err)
		return shared(messages, string(b), func() { s.Messages = append(s.Messages, b) })
	}
	for _, c := range p.Cells {
		cell := savedCell{Cell: c, Version: c.Version, Prior: c.Prior, Population: c.Population}
		cell.Problem = shared(problems, c.Problem, func() {
			s.Problems = append(s.Problems, savedProblem{*c.Problem, c.Problem.Path()})
		})
		cell.Evaluation = shared(evaluations, c.Evaluation, func() { s.Evaluations = append(s.Evaluations, c.Evaluation) })
		if cell.Public = publics[c.Public]; cell.Public == 0 {
			cell.Public = message(c.Public)
			publics[c.Public] = cell.Public
		}
		for _, b := range c.Bounds {
			cell.Bounds = append(cell.Bounds, message(b))
		}
		if c.Guarantee != nil {
			cell.Guarantee = message(c.Guarantee)
		}
		if r := c.Rung; r != nil {
			cell.Ladder = shared(ladders, r.Ladder, func() { s.Ladders = append(s.Ladders, r.Ladder) })
			cell.Value, cell.Position = r.Value, r.Position
		}
		s.Cells = append(s.Cells, cell)
	}
	packed := bytes.NewBufferString(savedHeader + savedVersion + "\n")
	w, err := zstd.NewWriter(packed, zstd.WithEncoderConcurrency(1))
	if err = errors.Join(failed, err); err != nil {
		return nil, fmt.Errorf("write plan: %w", err)
	}
	if err := errors.Join(json.NewEncoder(w).Encode(s), w.Close()); err != nil {
		return nil, fmt.Errorf("write plan: %w", err)
	}
	return packed.Bytes(), nil
}

// shared returns the index of a value, from 1. It calls add if the value is new.
func shared[K comparable](known map[K]int, value K, add func()) int {
	if known[value] == 0 {
		known[value] = len(known) + 1
		add()
	}
	return known[value]
}

// Decode returns an encoded plan, without description and path, and its digests. It validates the bytes, which may come
// from anywhere. It neither opens data files nor starts plugins.
func Decode(data []byte) (p *Plan, digests map[string]string, err error) {
	s, err := unpack(data)
	if err == nil {
		p, err = s.decode()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read plan: %w", err)
	}
	return p, s.Digests, nil
}

// unpack decompresses and parses a saved plan.
func unpack(data []byte) (*savedPlan, error) {
	rest, ok := bytes.CutPrefix(data, []byte(savedHeader))
	version, packed, whole := bytes.Cut(rest, []byte("\n"))
	switch {
	case !ok || !whole || len(version) > 20:
		return nil, errors.New("the file is not a plan")
	case string(version) != savedVersion:
		return nil, &schemas.VersionError{What: "the plan", Found: string(version), Want: savedVersion}
	}
	limit := min(maxSaved, 1<<20+maxSavedRatio*uint64(len(packed)))
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := r.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	s := new(savedPlan)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return s, dec.Decode(s)
}

// decode returns the plan. It checks that the plan can be run.
func (s *savedPlan) decode() (*Plan, error) {
	p := &Plan{Name: s.Name, Seed: trial.SweepSeed{Seed: s.Seed}, Source: s.Source, Fits: s.Fits, Metrics: s.Metrics,
		Warnings: s.Warnings, seedAt: s.SeedAt}
	problems := make([]*schemas.Problem, len(s.Problems))
	for i, x := range s.Problems {
		located := x.Problem.At(x.Path)
		problems[i] = &located
	}
	publics, bounds := map[int]*pluginv1.Problem{}, map[int]*pluginv1.Bound{}
	guarantees := map[int]*pluginv1.Guarantee{}
	for i, x := range s.Cells {
		c := x.Cell
		if c == nil {
			return nil, fmt.Errorf("cell %d is empty", i)
		}
		c.Version, c.Prior, c.Population = x.Version, x.Prior, x.Population
		var err error
		c.Problem = element(problems, x.Problem, &err)
		c.Evaluation = element(s.Evaluations, x.Evaluation, &err)
		c.Public = decodeMessage(s.Messages, publics, x.Public, &err)
		for _, b := range x.Bounds {
			c.Bounds = append(c.Bounds, decodeMessage(s.Messages, bounds, b, &err))
		}
		if x.Guarantee != 0 {
			c.Guarantee = decodeMessage(s.Messages, guarantees, x.Guarantee, &err)
		}
		if x.Ladder != 0 {
			c.Rung = &trial.Rung{Ladder: element(s.Ladders, x.Ladder, &err), Value: x.Value, Position: x.Position}
		}
		if err == nil {
			err = checkSaved(c)
		}
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		p.Cells = append(p.Cells, c)
	}
	trial.NameAxes(p.Cells)
	return p, s.checkWhole(p)
}

// element returns the element at index i, from 1.
func element[T any](list []*T, i int, failed *error) *T {
	if i < 1 || i > len(list) || list[i-1] == nil {
		*failed = fmt.Errorf("shared value %d is missing", i)
		return nil
	}
	return list[i-1]
}

// decodeMessage returns the message at index i, from 1. It decodes each message once.
func decodeMessage[T any, P interface {
	*T
	proto.Message
}](raw [][]byte, known map[int]P, i int, failed *error) P {
	if known[i] == nil {
		m := P(new(T))
		if i < 1 || i > len(raw) {
			*failed = fmt.Errorf("message %d is missing", i)
		} else if err := proto.Unmarshal(raw[i-1], m); err != nil {
			*failed = err
		}
		known[i] = m
	}
	return known[i]
}

// checkSaved returns an error if a cell cannot be run.
func checkSaved(c *trial.Cell) error {
	kind := task.Lookup(c.Task)
	switch f, r := c.Find, c.Rung; {
	case kind == nil || kind.Adversary != (c.Adversary != nil):
		return fmt.Errorf("task %.20q, or its adversary, is missing", c.Task)
	case !ascends(c.N) || f == nil && len(c.N) == 0:
		return errors.New("the sample sizes are not positive and ascending")
	case c.Searched() && (c.MaxTrials < 1 || c.MaxTrials > math.MaxInt32) || c.Trials < 0 || c.Trials > math.MaxInt32:
		return errors.New("the number of trials is invalid")
	case f != nil && (f.From < 1 || f.To < f.From || !(f.Within > 1) || !isShare(f.Confidence)):
		return errors.New("the search is invalid")
	case r != nil && (len(c.N) != 1 || !isRung(r)):
		return errors.New("the search over another number than n is invalid")
	}
	return nil
}

// ascends reports whether numbers are positive and ascending.
func ascends(n []int64) bool {
	for i, v := range n {
		if v < 1 || i > 0 && v <= n[i-1] {
			return false
		}
	}
	return true
}

func isShare(v float64) bool { return 0 < v && v < 1 }

func isRung(r *trial.Rung) bool {
	return 1 <= r.Position && r.Position <= int64(len(r.Values)) && r.Within >= 1 && isShare(r.Confidence)
}

// checkWhole returns an error if ladders or fits refer to missing cells.
func (s *savedPlan) checkWhole(p *Plan) error {
	if len(p.Cells) == 0 {
		return errors.New("the plan has no cells")
	}
	rungs := map[*trial.Ladder]map[int64]bool{}
	for _, c := range p.Cells {
		if c.Rung == nil {
			continue
		}
		if rungs[c.Rung.Ladder] == nil {
			rungs[c.Rung.Ladder] = map[int64]bool{}
		}
		rungs[c.Rung.Ladder][c.Rung.Position] = true
	}
	for ladder, positions := range rungs {
		if len(positions) != len(ladder.Values) {
			return fmt.Errorf("a search over %s has %d of %d values", ladder.Axis, len(positions), len(ladder.Values))
		}
	}
	for _, fit := range p.Fits {
		for _, g := range fit.Groups {
			for _, point := range g.Points {
				if point.Cell < 0 || point.Cell >= len(p.Cells) {
					return fmt.Errorf("a fit has no cell %d", point.Cell)
				}
			}
		}
	}
	return nil
}
