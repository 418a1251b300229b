package plan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// askers is the number of questions that plugins are asked at a time: enough to hide the way there and back.
const askers = 8

// answer is what an algorithm says of one setting. Cells with equal settings share it.
type answer struct {
	described Described
	setting   *pluginv1.Setting

	refusal   *pluginv1.Refusal
	params    trial.Params // resolved
	canonical trial.Fragment
	guarantee *pluginv1.Guarantee
	bounds    []*pluginv1.Bound
}

// ask checks every distinct setting and computes its bounds.
func (r *resolver) ask(ctx context.Context, algorithms Algorithms) error {
	for i := range r.drafts {
		if err := r.question(&r.drafts[i]); err != nil {
			return err
		}
	}
	if err := r.askAll(ctx, algorithms); err != nil {
		return err
	}
	r.refusals()
	return nil
}

// askAll puts all questions, several at a time, and stops at the first error.
func (r *resolver) askAll(ctx context.Context, algorithms Algorithms) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(askers, len(r.order)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(r.order) {
					return
				}
				if err := r.order[i].ask(ctx, algorithms); err != nil {
					cancel(err)
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// question finds the answer that the draft will share.
func (r *resolver) question(p *pending) error {
	d := p.entry.algorithm
	setting := &pluginv1.Setting{
		Algorithm:  d.GetName(),
		Task:       trial.WireTask(r.file.Task()),
		Queries:    int64(p.draft.queries),
		Offline:    p.draft.adversary != nil && p.draft.adversary.Offline,
		Rounds:     p.entry.grid.MostRounds(),
		Parameters: p.draft.params.Values(),
		Problem:    trial.PublicOf(p.problem.public, r.file.Task(), p.draft.adversary),
		Alpha:      p.draft.alpha,
		Beta:       p.draft.beta,
		Epsilon:    p.draft.epsilon,
		Delta:      p.draft.delta,
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(setting)
	if err != nil {
		return fmt.Errorf("ask %q: %w", d.GetName(), err)
	}
	if a, ok := r.asked[string(b)]; ok {
		p.answer = a
		return nil
	}
	p.answer = &answer{described: d, setting: setting}
	r.asked[string(b)] = p.answer
	r.order = append(r.order, p.answer)
	return nil
}

// ask puts the question to the plugin. The error is that of the plugin.
func (a *answer) ask(ctx context.Context, algorithms Algorithms) error {
	name := a.described.GetName()
	checked, err := algorithms.Check(ctx, a.described.Plugin, a.setting)
	if err != nil {
		return fmt.Errorf("check %q: %w", name, err)
	}
	a.refusal, a.guarantee = checked.GetRefusal(), checked.GetGuarantee()
	if err := a.resolve(checked.GetParameters()); err != nil || a.refusal != nil {
		return err
	}
	if a.described.GetPrivate() && a.guarantee == nil {
		return fmt.Errorf("check %q: described as private, it states no guarantee", name)
	}
	s := proto.CloneOf(a.setting)
	s.Parameters = a.params.Values()
	if a.guarantee.GetPure() {
		s.Delta = 0
	}
	found, err := algorithms.Bound(ctx, a.described.Plugin, s)
	if err != nil {
		return fmt.Errorf("compute the bounds of %q: %w", name, err)
	}
	a.bounds = found.GetBounds()
	if refusal := found.GetRefusal(); refusal != nil {
		a.refusal = &pluginv1.Refusal{Kind: refusal.GetKind(), Message: "its bounds: " + refusal.GetMessage()}
	}
	return nil
}

// resolve takes the resolved parameters: those of the answer, or where a refusal has none, those of the file over the defaults.
func (a *answer) resolve(resolved map[string]*pluginv1.Value) error {
	a.params = trial.Params{}
	for _, p := range a.described.GetParameters() {
		v, ok := resolved[p.GetName()]
		if !ok && a.refusal == nil {
			return fmt.Errorf("check %q: the answer lacks the parameter %q", a.described.GetName(), p.GetName())
		}
		if !ok {
			if v, ok = a.setting.GetParameters()[p.GetName()]; !ok {
				v = p.GetDefault()
			}
		}
		value := valueOf(v)
		if f, ok := value.(float64); value == nil || ok && !trial.Finite(f) {
			return fmt.Errorf("check %q: it resolves the parameter %q to %v", a.described.GetName(), p.GetName(), value)
		}
		a.params[p.GetName()] = value
	}
	var err error
	a.canonical, err = trial.Canonical(a.params)
	return err
}

// refusals turns refused settings into mistakes at the line of their algorithm, one for each algorithm and reason. What is only
// infeasible stays: the table will say so.
func (r *resolver) refusals() {
	type reason struct {
		path string
		kind pluginv1.Refusal_Kind
		text string
	}
	var order []reason
	first, count := map[reason]pending{}, map[reason]int{}
	for _, p := range r.drafts {
		refusal := p.answer.refusal
		if refusal == nil {
			continue
		}
		why := reason{path: p.entry.path, kind: refusal.GetKind(), text: refusal.GetMessage()}
		if count[why]++; count[why] == 1 {
			order, first[why] = append(order, why), p
		}
	}
	for _, why := range order {
		p := first[why]
		where := p.varying()
		if n := count[why] - 1; n > 0 {
			where += fmt.Sprintf(" and %d more", n)
		}
		where = strings.TrimSpace(where)
		if where != "" {
			where = " (" + where + ")"
		}
		name := p.entry.algorithm.GetName()
		switch why.kind {
		case pluginv1.Refusal_KIND_INFEASIBLE:
			r.warned = append(r.warned, fmt.Sprintf("%s: %s%s is infeasible at every n: %s", why.path, p.entry.as(), where, why.text))
		case pluginv1.Refusal_KIND_INVALID:
			r.blame(why.path, "%s refuses this%s: %s; change it, or exclude it", name, where, why.text)
		default:
			r.blame(why.path, "%s fails here%s: %s", name, where, why.text)
		}
	}
}

// varying names the values that tell the combination from others of its entry: "d 50, epsilon 1".
func (p *pending) varying() string {
	e := p.entry
	options := e.pick(p.combination, nil)
	var parts []string
	for i, a := range e.axes {
		if len(a.options) < 2 || a.names[0] == "algorithm" && !a.param {
			continue
		}
		for j, v := range a.options[options[i]].values {
			if v != nil {
				parts = append(parts, a.names[j]+" "+show(v))
			}
		}
	}
	return strings.Join(slices.Compact(parts), ", ")
}

// show writes a value as it would stand in the file.
func show(v any) string {
	f, ok := v.(float64)
	if !ok {
		return fmt.Sprint(v)
	}
	if f != 0 && math.Abs(f) < 1e-3 {
		return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
