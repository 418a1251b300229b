package plugintest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// checks are done in this order in each setting.
var checks = []struct {
	name string
	run  func(*suite) error
}{
	{"answers", (*suite).checkAnswers},
	{"same seed same answers", (*suite).checkSeeds},
	{"trials are alone", (*suite).checkAlone},
	{"twice and in pieces", (*suite).checkPieces},
	{"queries", (*suite).checkQueries},
	{"borrowed memory", (*suite).checkMemory},
	{"small and large", (*suite).checkSizes},
	{"parameters", (*suite).checkParameters},
	{"bounds", (*suite).checkBounds},
	{"cancellation", (*suite).checkCancellation},
	{"goroutines", (*suite).checkGoroutines},
}

// four is the usual company of trials.
var four = []uint64{0, 1, 2, 3}

// checkAnswers: every trial answers every point, within [-1, 1].
func (s *suite) checkAnswers() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	_, err = s.clean(p, game{trials: four})
	return err
}

// checkSeeds: the same seeds give the same bits again, in this process and in another.
func (s *suite) checkSeeds() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	first, err := s.clean(p, game{trials: four})
	if err != nil {
		return err
	}
	other, err := host.Start(s.ctx, s.command)
	if err != nil {
		return err
	}
	defer other.Stop()
	for where, p := range map[string]*host.Process{"the same": p, "another": other} {
		again, err := s.clean(p, game{trials: four})
		for j := 0; err == nil && j < len(four); j++ {
			err = sameTrial(first, j, again, j)
		}
		if err != nil {
			return why(err, "the same seed a second time, in %s process (is there randomness beside Trial.Rand, or the order of a map?)", where)
		}
	}
	return nil
}

// checkAlone: a trial gives the same bits whatever trials come before it and beside it.
func (s *suite) checkAlone() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	together, err := s.clean(p, game{trials: four})
	if err != nil {
		return err
	}
	const hint = "(is something kept from trial to trial?)"
	reversed, err := s.clean(p, game{trials: []uint64{3, 2, 1, 0}})
	for j := 0; err == nil && j < len(four); j++ {
		err = why(sameTrial(together, j, reversed, 3-j), "trial %d in another order %s", j, hint)
	}
	for j := 0; err == nil && j < len(four); j++ {
		var alone *outcome
		if alone, err = s.clean(p, game{trials: four[j : j+1]}); err == nil {
			err = why(sameTrial(together, j, alone, 0), "trial %d alone %s", j, hint)
		}
	}
	return err
}

// checkPieces: asked again, or in pieces, a model answers the same.
func (s *suite) checkPieces() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	whole, err := s.clean(p, game{trials: four})
	if err != nil {
		return err
	}
	for _, g := range []game{{trials: four, twice: true}, {trials: four, pieces: []int{1, 2, 0, 7}}, {trials: four, pieces: []int{1, 1, 1}, twice: true}} {
		o, err := s.clean(p, g)
		if err != nil {
			return err
		}
		for j := range four {
			got := o.answers[j]
			if err := sameAnswers(whole.answers[j], got[:testPoints]); err != nil {
				return why(err, "trial %d, in pieces of %v", j, g.pieces)
			}
			if g.twice {
				if err := sameAnswers(whole.answers[j], got[testPoints:]); err != nil {
					return why(err, "trial %d, asked a second time (Predict must change nothing)", j)
				}
			}
		}
	}
	return nil
}

// checkQueries: put one by one or many at a time, queries are answered the same, and no answer depends on queries or rounds that come later.
func (s *suite) checkQueries() error {
	if s.setting.Queries+s.setting.Rounds == 0 {
		return nil
	}
	p, err := s.running()
	if err != nil {
		return err
	}
	first, err := s.clean(p, game{trials: four})
	if err != nil {
		return err
	}
	chunks, err := s.clean(p, game{trials: four, chunk: 7})
	for j := 0; err == nil && j < len(four); j++ {
		err = why(sameTrial(first, j, chunks, j), "trial %d, several queries at a time", j)
	}
	if err != nil || s.setting.Offline { // revealed queries may change every answer
		return err
	}
	half := int(s.setting.Queries+s.setting.Rounds) / 2
	other, err := s.clean(p, game{trials: four, same: half})
	for j := 0; err == nil && j < len(four); j++ {
		err = why(sameLabels(first, j, other, j, half), "trial %d, with other queries or rounds later", j)
	}
	return err
}

// checkMemory: answers do not change when the memory of the sample is written over after learning. That it is not written by the algorithm
// shows in every check: the trial would fail.
func (s *suite) checkMemory() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	before, err := s.clean(p, game{trials: four})
	if err != nil {
		return err
	}
	after, err := s.clean(p, game{trials: four, distort: true})
	if err != nil {
		return err
	}
	for j := range four {
		if err := sameTrial(before, j, after, j); err != nil {
			return why(err, "trial %d, after its sample's memory was used again (the sample is borrowed: a model must copy what it keeps)", j)
		}
	}
	return nil
}

// checkSizes: the smallest and a large sample, one point and many, and none.
func (s *suite) checkSizes() error {
	for _, g := range []game{
		{trials: four, n: 1}, {trials: four, n: 2}, {trials: four, points: 1}, {trials: four[:1], n: 20_000}, {trials: four[:1], points: 100_000},
	} {
		p, err := s.running()
		if err != nil {
			return err
		}
		o, err := s.play(p, g)
		if err != nil {
			return why(err, "%s", g.sizes())
		}
		for _, f := range o.faults {
			if f.Kind != host.Infeasible {
				return fmt.Errorf("%s: %w\n(an algorithm that cannot do with so few examples says so with algo.Infeasible)", g.sizes(), faultError(f))
			}
		}
	}
	p, err := s.running()
	if err != nil {
		return err
	}
	open := host.OpenRequest{Setting: s.setting, Seeds: []uint64{1, 2}}
	if s.setting.Offline {
		open.Reveal = func(x []float64) { copy(x, s.queries(game{}, 0)) }
	}
	session, _, err := p.Open(s.ctx, open, func(x, y []float64) { draw(s.problem, 0, x, y) })
	if err == nil {
		_, _, err = session.Close(s.ctx)
	}
	return why(err, "a session without a question")
}

// sizes is what is unusual in a game's sizes.
func (g game) sizes() string {
	if g.n > 0 {
		return fmt.Sprintf("with a sample of %d", g.n)
	}
	return fmt.Sprintf("asked about %d points", g.points)
}

// checkParameters: Check resolves all parameters and accepts what it resolved; wrong ones are refused as invalid.
func (s *suite) checkParameters() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	check := func(parameters map[string]*pluginv1.Value) (*pluginv1.CheckResponse, error) {
		setting := proto.Clone(s.setting).(*pluginv1.Setting)
		setting.Parameters = parameters
		return p.Check(s.ctx, setting)
	}
	first, err := check(s.setting.Parameters)
	if err != nil {
		return err
	}
	for _, d := range s.algorithm.Parameters {
		if first.Parameters[d.Name].GetKind() == nil {
			return fmt.Errorf("parameter %q is not among the resolved ones", d.Name)
		}
	}
	again, err := check(first.Parameters)
	if err != nil {
		return err
	}
	if !proto.Equal(first, again) {
		return fmt.Errorf("resolving the resolved parameters gives something else: %v, then %v", first, again)
	}
	for _, wrong := range s.wrongParameters() {
		r, err := check(map[string]*pluginv1.Value{wrong.name: wrong.value})
		if err != nil {
			return err
		}
		if r.GetRefusal().GetKind() != pluginv1.Refusal_KIND_INVALID {
			return fmt.Errorf("parameter %q = %v (%s) is not refused as invalid", wrong.name, wrong.value, wrong.why)
		}
	}
	return nil
}

type wrongParameter struct {
	name  string
	value *pluginv1.Value
	why   string
}

// wrongParameters are values that the algorithm's own description rules out.
func (s *suite) wrongParameters() []wrongParameter {
	text := &pluginv1.Value{Kind: &pluginv1.Value_String_{String_: "no such choice"}}
	number := func(p *pluginv1.Parameter, v float64) *pluginv1.Value {
		if _, ok := p.Default.GetKind().(*pluginv1.Value_Int); ok {
			return &pluginv1.Value{Kind: &pluginv1.Value_Int{Int: int64(v)}}
		}
		return &pluginv1.Value{Kind: &pluginv1.Value_Float{Float: v}}
	}
	wrong := []wrongParameter{{"no_such_parameter", text, "it has no such parameter"}}
	for _, p := range s.algorithm.Parameters {
		if p.Min != nil {
			wrong = append(wrong, wrongParameter{p.Name, number(p, *p.Min-1), "below its min"})
		}
		if p.Max != nil {
			wrong = append(wrong, wrongParameter{p.Name, number(p, *p.Max+1), "above its max"})
		}
		if _, ok := p.Default.GetKind().(*pluginv1.Value_String_); !ok {
			wrong = append(wrong, wrongParameter{p.Name, text, "of another type"})
		} else if len(p.Choices) > 0 {
			wrong = append(wrong, wrongParameter{p.Name, text, "none of its choices"})
		}
	}
	return wrong
}

// checkBounds: the theory's bounds can be had, and each says where it comes from.
func (s *suite) checkBounds() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	setting := proto.Clone(s.setting).(*pluginv1.Setting)
	setting.N = 0
	r, err := p.Bound(s.ctx, setting)
	if err != nil {
		return err
	}
	if r.Refusal.GetKind() == pluginv1.Refusal_KIND_ERROR {
		return errors.New(r.Refusal.Message)
	}
	for _, b := range r.Bounds {
		if b.Name == "" || b.Source == "" || !(b.Value > 0 || b.Value == 0 && s.setting.Rounds > 0) {
			return fmt.Errorf("bound %q of source %q is %v: a name, a source and a positive number (or +Inf) are needed", b.Name, b.Source, b.Value)
		}
	}
	return nil
}

// checkCancellation: a session that is given up ends at once, and does no harm to later ones.
func (s *suite) checkCancellation() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	before, err := s.clean(p, game{trials: four})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	given := *s
	given.ctx = ctx
	many := make([]uint64, 1000)
	timer := time.AfterFunc(time.Millisecond, cancel)
	defer timer.Stop()
	start := time.Now()
	for err == nil { // one of these is under way when the context ends
		_, err = given.play(p, game{trials: many, n: min(s.setting.N, 1000)})
	}
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Cause != host.Cancelled {
		return why(err, "a session was cancelled")
	}
	if took := time.Since(start); took > 20*time.Second {
		return fmt.Errorf("a cancelled session took %v to end (does it look at its context?)", took)
	}
	if p, err = s.running(); err != nil {
		return err
	}
	after, err := s.clean(p, game{trials: four})
	for j := 0; err == nil && j < len(four); j++ {
		err = sameTrial(before, j, after, j)
	}
	return why(err, "after a cancelled session")
}

// checkGoroutines: when a session is over, as many goroutines run as before it. It can only be seen in plugins that Run started.
func (s *suite) checkGoroutines() error {
	if !s.probed {
		return nil
	}
	p, err := s.running()
	if err != nil {
		return err
	}
	if _, err := s.clean(p, game{trials: four}); err != nil { // what is made once, at the first use, may stay
		return err
	}
	before, err := s.goroutines(p)
	if err != nil {
		return err
	}
	many := make([]uint64, 100)
	if _, err := s.clean(p, game{trials: many}); err != nil {
		return err
	}
	after := before + 1
	for deadline := time.Now().Add(2 * time.Second); after > before && time.Now().Before(deadline); { // those of the session itself are just ending
		if after, err = s.goroutines(p); err != nil {
			return err
		}
	}
	if after > before {
		return fmt.Errorf("%g goroutines are left by a session of %d trials", after-before, len(many))
	}
	return nil
}

// goroutines asks the probe.
func (s *suite) goroutines(p *host.Process) (float64, error) {
	least := -1.0
	for range 20 { // the least of several: some of gRPC's come and go
		session, _, err := p.Open(s.ctx, host.OpenRequest{
			Setting: &pluginv1.Setting{Algorithm: probeName, Task: pluginv1.Task_TASK_LEARN, N: 1, Problem: &pluginv1.Problem{Dim: 1}},
			Seeds:   []uint64{0, 0},
		}, func(x, y []float64) {})
		if err != nil {
			return 0, err
		}
		metrics, _, err := session.Close(s.ctx)
		if err != nil {
			return 0, err
		}
		if n := metrics["count"][0]; least < 0 || n < least {
			least = n
		}
	}
	return least, nil
}
