package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
	"github.com/shatterlab/shatter/schemas/transcriptv1"
)

// Recalled is the Algorithms and the Problems of a planner that has a transcript.
type Recalled struct {
	described []plan.Described
	digests   map[string]string
	answers   [][]byte
	asked     map[string]map[key]uint32
	problems  map[problemName]*transcriptv1.Problem
	opened    map[*problem.Problem]*transcriptv1.Problem
}

var (
	_ Source        = (*Recalled)(nil)
	_ plan.Problems = (*Recalled)(nil)
)

// MissingError reports that a transcript does not answer a question.
type MissingError struct{ Question string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("the transcript has no answer for %s: it was recorded for another sweep file, or by another "+
		"release of shatter", e.Question)
}

// Recall reads a transcript.
func Recall(data []byte) (*Recalled, error) {
	t, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	r := &Recalled{
		digests: map[string]string{}, answers: t.Answers, asked: map[string]map[key]uint32{},
		problems: map[problemName]*transcriptv1.Problem{}, opened: map[*problem.Problem]*transcriptv1.Problem{},
	}
	for _, p := range t.Plugins {
		if err := r.add(p); err != nil {
			return nil, fmt.Errorf("read transcript of plugin %q: %w", p.GetPath(), err)
		}
	}
	for _, p := range t.Problems {
		r.problems[problemName{p.GetWritten(), p.GetFile()}] = p
	}
	return r, nil
}

// add adds a plugin.
func (r *Recalled) add(p *transcriptv1.Plugin) error {
	if _, ok := r.digests[p.GetPath()]; ok {
		return errors.New("it stands there twice")
	}
	r.digests[p.GetPath()] = p.GetDigest()
	for _, b := range p.GetAlgorithms() {
		a := new(pluginv1.Algorithm)
		if err := proto.Unmarshal(b, a); err != nil {
			return err
		}
		r.described = append(r.described, plan.Described{Plugin: p.GetPath(), Algorithm: a})
	}
	settings, places := p.GetSettings(), p.GetAnswers()
	if len(settings) != len(key{})*len(places) {
		return fmt.Errorf("%d bytes of settings do not fit %d answers", len(settings), len(places))
	}
	asked := make(map[key]uint32, len(places))
	for i, place := range places {
		if uint64(place) >= uint64(len(r.answers)) {
			return fmt.Errorf("answer %d is not there", place)
		}
		asked[key(settings[len(key{})*i:])] = place
	}
	r.asked[p.GetPath()] = asked
	return nil
}

// Digests returns the identities of the plugins and built-in algorithms, as they were, by
// trial.Cell.Code.
func (r *Recalled) Digests() map[string]string {
	digests := map[string]string{}
	for _, d := range r.described {
		if d.Plugin == "" {
			digests[d.GetName()] = pluginfile.BuiltinDigest(d.GetName(), d.GetVersion())
		} else {
			digests[d.Plugin] = r.digests[d.Plugin]
		}
	}
	return digests
}

// Digest returns the identity of one plugin.
func (r *Recalled) Digest(plugin string) (string, error) {
	if digest, ok := r.digests[plugin]; ok {
		return digest, nil
	}
	return "", &MissingError{fmt.Sprintf("plugin %q", plugin)}
}

// List returns the algorithms that were listed.
func (r *Recalled) List(context.Context) ([]plan.Described, error) { return r.described, nil }

// Ask returns what was answered about the settings. The error is a *MissingError where one of them
// was not asked about.
func (r *Recalled) Ask(ctx context.Context, plugin string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	answers := make([]*pluginv1.Answer, len(settings))
	for i, s := range settings {
		k, err := keyOf(s)
		if err != nil {
			return nil, err
		}
		place, ok := r.asked[plugin][k]
		if !ok {
			return nil, &MissingError{fmt.Sprintf("a setting of %q", s.GetAlgorithm())}
		}
		answers[i] = new(pluginv1.Answer)
		if err := proto.Unmarshal(r.answers[place], answers[i]); err != nil {
			return nil, fmt.Errorf("read transcript: an answer of %q: %w", s.GetAlgorithm(), err)
		}
	}
	return answers, ctx.Err()
}

// Open recalls a problem over a file, and opens any other.
func (r *Recalled) Open(written schemas.Problem, file string) (*problem.Problem, error) {
	if file == "" {
		return plan.Files{}.Open(written, file)
	}
	x, err := r.problem(&written)
	if err != nil {
		return nil, err
	}
	var resolved schemas.Problem
	if err := json.Unmarshal([]byte(x.GetResolved()), &resolved); err != nil {
		return nil, fmt.Errorf("read transcript: a problem over %q: %w", x.GetFile(), err)
	}
	p, err := problem.Recall(resolved.At(file), problem.Summary{
		Matrix: x.GetMatrix(), Rows: int(x.GetRows()), Positive: int(x.GetPositive()), Pulled: int(x.GetPulled()),
	})
	if err != nil {
		return nil, fmt.Errorf("read transcript: a problem over %q: %w", x.GetFile(), err)
	}
	r.opened[p] = x
	return p, nil
}

// problem returns the record of a problem.
func (r *Recalled) problem(written *schemas.Problem) (*transcriptv1.Problem, error) {
	name, err := nameOf(written)
	if err != nil {
		return nil, err
	}
	if x := r.problems[name]; x != nil {
		return x, nil
	}
	return nil, &MissingError{fmt.Sprintf("a problem over %q", name.file)}
}

// Least returns the least error of the class as it was computed.
func (r *Recalled) Least(p *problem.Problem) (float64, error) {
	x := r.opened[p]
	if x == nil {
		return plan.Files{}.Least(p)
	}
	switch least := x.GetLeast(); {
	case least == nil:
		return 0, &MissingError{fmt.Sprintf("the least error over %q", x.GetFile())}
	case least.GetError() != "":
		return 0, errors.New(least.GetError())
	default:
		return least.GetValue(), nil
	}
}

// Hypotheses returns the hypotheses of a class that lies in a file as they were listed, and lists
// those of any other.
func (r *Recalled) Hypotheses(written schemas.Problem, file string) ([]string, error) {
	if file == "" {
		return plan.Files{}.Hypotheses(written, file)
	}
	x, err := r.problem(&written)
	return x.GetHypotheses(), err
}
