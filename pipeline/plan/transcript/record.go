package transcript

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
	"github.com/shatterlab/shatter/schemas/transcriptv1"
)

// Source answers a planner, and knows the plugin files that do.
type Source interface {
	plan.Algorithms
	// Digest returns the identity of a plugin; that of the built-in one, "", is not used.
	Digest(plugin string) (string, error)
}

// Recorder records what its source answers, and what problems hold of their files. It is the
// Algorithms and the Problems of a planner, for one sweep file.
type Recorder struct {
	source Source
	files  plan.Files

	mu       sync.Mutex
	plugins  []*transcriptv1.Plugin // that were listed
	answers  [][]byte               // each once
	places   map[key]uint32         // of the answers
	asked    map[string]map[key]uint32
	problems map[problemName]*transcriptv1.Problem
	opened   map[*problem.Problem]*transcriptv1.Problem
}

var (
	_ plan.Algorithms = (*Recorder)(nil)
	_ plan.Problems   = (*Recorder)(nil)
)

// NewRecorder returns a Recorder of a source, and of files.
func NewRecorder(source Source, files plan.Files) *Recorder {
	return &Recorder{
		source: source, files: files, places: map[key]uint32{}, asked: map[string]map[key]uint32{},
		problems: map[problemName]*transcriptv1.Problem{}, opened: map[*problem.Problem]*transcriptv1.Problem{},
	}
}

// List returns the algorithms of the source.
func (r *Recorder) List(ctx context.Context) ([]plan.Described, error) {
	all, err := r.source.List(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plugins = nil
	for _, d := range all {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(d.Algorithm)
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", d.GetName(), err)
		}
		i := slices.IndexFunc(r.plugins, func(p *transcriptv1.Plugin) bool { return p.Path == d.Plugin })
		if i < 0 {
			i = len(r.plugins)
			r.plugins = append(r.plugins, &transcriptv1.Plugin{Path: d.Plugin})
		}
		r.plugins[i].Algorithms = append(r.plugins[i].Algorithms, b)
	}
	return all, nil
}

// Ask asks the source.
func (r *Recorder) Ask(ctx context.Context, plugin string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	all, err := r.source.Ask(ctx, plugin, settings)
	if err != nil || len(all) != len(settings) {
		return all, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked[plugin] == nil {
		r.asked[plugin] = map[key]uint32{}
	}
	for i, a := range all {
		k, err := keyOf(settings[i])
		if err != nil {
			return nil, err
		}
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("record an answer of %q: %w", settings[i].GetAlgorithm(), err)
		}
		place, ok := r.places[keyFor(b)]
		if !ok {
			place = uint32(len(r.answers))
			r.answers, r.places[keyFor(b)] = append(r.answers, b), place
		}
		r.asked[plugin][k] = place
	}
	return all, nil
}

// Open opens a problem, from its file where it has one.
func (r *Recorder) Open(written schemas.Problem, file string) (*problem.Problem, error) {
	p, err := r.files.Open(written, file)
	if err != nil || file == "" {
		return p, err
	}
	x, err := r.problem(&written)
	if err != nil {
		return nil, err
	}
	resolved, err := trial.Canonical(p.Resolved())
	if err != nil {
		return nil, err
	}
	s := p.Summary()
	x.Resolved, x.Matrix = string(resolved), s.Matrix
	x.Rows, x.Positive, x.Pulled = int64(s.Rows), int64(s.Positive), int64(s.Pulled)
	r.opened[p] = x
	return p, nil
}

// problem returns the record of a problem.
func (r *Recorder) problem(written *schemas.Problem) (*transcriptv1.Problem, error) {
	name, err := nameOf(written)
	if err != nil {
		return nil, err
	}
	if r.problems[name] == nil {
		r.problems[name] = &transcriptv1.Problem{Written: name.written, File: name.file}
	}
	return r.problems[name], nil
}

// Least computes the least error of the class.
func (r *Recorder) Least(p *problem.Problem) (float64, error) {
	value, err := r.files.Least(p)
	if x := r.opened[p]; x != nil {
		x.Least = &transcriptv1.Least{Value: value}
		if err != nil {
			x.Least = &transcriptv1.Least{Error: err.Error()}
		}
	}
	return value, err
}

// Hypotheses lists the hypotheses of the problem's class, which may lie in its file.
func (r *Recorder) Hypotheses(written schemas.Problem, file string) ([]string, error) {
	list, err := r.files.Hypotheses(written, file)
	if err != nil || file == "" {
		return list, err
	}
	x, err := r.problem(&written)
	if err != nil {
		return nil, err
	}
	x.Hypotheses = list
	return list, nil
}

// Encode returns the transcript. Equal questions with equal answers have equal transcripts, in
// whatever order they were put.
func (r *Recorder) Encode() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.plugins) == 0 {
		return nil, errors.New("write transcript: nothing was recorded")
	}
	t := &transcriptv1.Transcript{}
	placed := map[uint32]uint32{} // the places of answers in the transcript, by those here
	for _, listed := range r.plugins {
		p := &transcriptv1.Plugin{Path: listed.Path, Algorithms: listed.Algorithms}
		var err error
		if p.Digest, err = r.source.Digest(p.Path); err != nil {
			return nil, err
		}
		asked := r.asked[p.Path]
		for _, k := range slices.SortedFunc(maps.Keys(asked), func(a, b key) int { return bytes.Compare(a[:], b[:]) }) {
			place, ok := placed[asked[k]]
			if !ok {
				place = uint32(len(t.Answers))
				placed[asked[k]], t.Answers = place, append(t.Answers, r.answers[asked[k]])
			}
			p.Settings, p.Answers = append(p.Settings, k[:]...), append(p.Answers, place)
		}
		t.Plugins = append(t.Plugins, p)
	}
	t.Problems = slices.SortedFunc(maps.Values(r.problems), func(a, b *transcriptv1.Problem) int {
		return cmp.Or(cmp.Compare(a.Written, b.Written), cmp.Compare(a.File, b.File))
	})
	return encode(t)
}
