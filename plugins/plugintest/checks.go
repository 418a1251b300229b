package plugintest

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// checks is a suite whose methods check transcripts.
type checks struct{ *suite }

// allChecks lists the checks in the order in which each setting gets them. Their names must not
// change, because scripts use them.
var allChecks = []struct {
	name  string
	plays bool // whether it needs an algorithm that answers
	run   func(checks) (found string, err error)
}{
	{"answers", true, same()},
	{"labels", true, quiet(checks.checkLabels)},
	{"same-seed-same-answers", true, same(
		variation{usual, false, "the same seed a second time, in the same process", company},
		variation{usual, true, "the same seed a second time, in another process", company},
	)},
	{"seeds", true, quiet(checks.checkSeeds)},
	{"trials-are-alone", true, same(
		variation{script{trials: []uint64{3, 2, 1, 0}}, false, "in another order", company},
		variation{script{trials: []uint64{0}}, false, "alone", company},
		variation{script{trials: []uint64{1}}, false, "alone", company},
		variation{script{trials: []uint64{2}}, false, "alone", company},
		variation{script{trials: []uint64{3}}, false, "alone", company},
	)},
	{"twice-and-in-pieces", true, same(
		variation{script{trials: usual.trials, twice: true}, false, "in another session", company},
		variation{script{trials: usual.trials, pieces: []int{1, 2, 0, 7}}, false, "in pieces of [1 2 0 7]", points},
		variation{
			script{trials: usual.trials, pieces: []int{1, 1, 1}, twice: true}, false, "in pieces of [1 1 1]", points,
		},
	)},
	{"order-of-points", true, same(variation{
		script{trials: usual.trials, reversed: true}, false, "its points in another order", points,
	})},
	{"shared-points", true, quiet(checks.checkShared)},
	{"declared-hypotheses", true, quiet(checks.checkDeclared)},
	{"queries", true, quiet(checks.checkQueries)},
	{"states", true, quiet(checks.checkStates)},
	// Every check also checks that the algorithm does not write to its sample: the trial would
	// fail.
	{"borrowed-memory", true, same(variation{
		script{trials: usual.trials, distort: true}, false, "after its sample's memory was reused",
		"the sample is borrowed: a model must copy what it retains",
	})},
	{"small-and-large", false, quiet(checks.checkSizes)},
	{"parameters", false, quiet(checks.checkParameters)},
	{"guarantee", false, quiet(checks.checkGuarantee)},
	{"data-independent-failures", false, quiet(checks.checkFailures)},
	{"bounds", false, quiet(checks.checkBounds)},
	{"asked-together", false, quiet(checks.checkAsk)},
	{"cancellation", true, quiet(checks.checkCancellation)},
	{"resources", true, checks.checkResources},
	{"goroutines", true, quiet(checks.checkGoroutines)},
	{"data-races", true, quiet(checks.checkRaces)},
}

// Hints at the cause of different answers.
const (
	randomness = "is there randomness other than Trial.Rand, or the order of a map?"
	company    = "is state kept from trial to trial?"
	points     = "does an answer depend on other points?"
)

// A variation is a script whose trials must give the same bits as the trials of the usual script
// with the same keys.
type variation struct {
	script script
	other  bool   // whether to play the script in another process
	when   string // description
	hint   string // possible cause of a difference that occurs each time
}

// same returns the check that all trials of the usual script answer every point, and give the same
// bits in variations of it.
func same(variations ...variation) func(checks) (string, error) {
	return quiet(func(s checks) error {
		want, err := s.clean(usual)
		if err != nil {
			return err
		}
		for _, v := range variations {
			if _, err := s.repeat(want, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// quiet converts a check that returns only an error.
func quiet(check func(checks) error) func(checks) (string, error) {
	return func(s checks) (string, error) { return "", check(s) }
}

// repeat plays a variation and returns an error if its trials give other bits than the trials of want
// with the same keys.
func (s checks) repeat(want *transcript, v variation) (*transcript, error) {
	p, err := s.running()
	if err == nil && v.other {
		if p, err = host.Start(s.ctx, s.command); err == nil {
			defer p.Stop()
		}
	}
	if err != nil {
		return nil, err
	}
	return s.compare(s.command, p, usual, want, v)
}

// compare plays a variation of a script in a process of a command, like repeat. want is the
// transcript of the script.
func (s checks) compare(
	c host.Command, p *host.Process, of script, want *transcript, v variation,
) (*transcript, error) {
	got, err := s.playIn(p, v.script)
	if err != nil {
		return nil, why(err, "%s", v.when)
	}
	s.repeated += len(v.script.trials)
	if differs := sameTrials(want, got); differs != nil {
		return nil, s.explain(c, of, v, differs)
	}
	return got, nil
}

// repetitions is the number of identical sessions that have to agree before a cause is named.
const repetitions = 10

// explain adds the likely cause to a difference between a variation and a script. It plays both in
// fresh processes: the cause is randomness if identical sessions differ, and that of the variation
// only if they agree and the variation differs each time.
func (s checks) explain(c host.Command, of script, v variation, differs error) error {
	if s.command.Attached {
		return why(differs, "%s", v.when)
	}
	var usually, varied *transcript
	for range repetitions {
		p, err := host.Start(s.ctx, c)
		if err != nil {
			return err
		}
		first, err := s.playIn(p, of)
		var second *transcript
		if err == nil {
			second, err = s.playIn(p, v.script)
		}
		p.Stop()
		if err != nil {
			return why(err, "%s", v.when)
		}
		if usually == nil {
			usually, varied = first, second
		}
		if sameTrials(usually, first) != nil || sameTrials(varied, second) != nil {
			return why(differs, "%s (identical sessions in fresh processes differ: %s)", v.when, randomness)
		}
	}
	if sameTrials(usually, varied) == nil {
		return why(differs, "%s (the cause is not determined: in %d fresh processes it did not happen again)", v.when,
			repetitions)
	}
	return why(differs, "%s (each time in %d fresh processes: %s)", v.when, repetitions, v.hint)
}

// sameTrials returns an error if trials of got give other bits than the trials of want with the same
// keys.
func sameTrials(want, got *transcript) error {
	return matching(want, got, func(j, k int) error { return sameTrial(want, j, got, k) })
}

// checkLabels checks that models answer labels if the setting asks for them, as sweeps do by
// default.
func (s checks) checkLabels() error {
	if !s.setting.Means {
		return skipped("the check answers asks for labels")
	}
	defer func(usual *pluginv1.Setting) { s.setting = usual }(s.setting)
	s.setting = s.with(func(w *pluginv1.Setting) { w.Means = false })
	_, err := s.clean(usual)
	return why(err, "if Setting.Means is not set, as in most sweeps")
}

// checkSeeds checks that the answers of trials with one sample vary with each part of their seeds
// if they vary with all of it.
func (s checks) checkSeeds() error {
	const trials, rare = 32, 12 // at most rare of the trials have the most frequent answers
	if s.measured["seeds"+s.setting.Task.Name()] {
		return skipped("it was checked in another setting")
	}
	s.measured["seeds"+s.setting.Task.Name()] = true
	frequent := func(mask0, mask1 uint64, negate bool) (most int, err error) {
		sc := script{trials: make([]uint64, trials)}
		for j := range sc.trials {
			drawn := mixed(uint64(j) + 1)
			second := mixed(drawn)
			if mask1 == mask0 {
				second = drawn
			}
			if negate {
				second = -second
			}
			sc.seeds = append(sc.seeds, drawn&mask0, second&mask1)
		}
		t, err := s.clean(sc)
		if err != nil {
			return 0, err
		}
		count := map[string]int{}
		for j := range sc.trials {
			answers := fmt.Sprint(t.labels[j], t.answers[j])
			count[answers]++
			most = max(most, count[answers])
		}
		return most, nil
	}
	const all, low = math.MaxUint64, math.MaxUint32
	if most, err := frequent(all, all-1, false); err != nil || most > trials-rare {
		return cmp.Or(err, error(skipped("its answers hardly depend on the seed")))
	}
	for _, part := range []struct {
		name         string
		mask0, mask1 uint64
		negate       bool
	}{
		{"the low half of the first seed", low, 0, false}, {"the high half of the first seed", all - low, 0, false},
		{"the low half of the second seed", 0, low, false}, {"the high half of the second seed", 0, all - low, false},
		{"both seeds, which are equal", all, all, false}, {"both seeds, whose sum is 0", all, all, true},
	} {
		most, err := frequent(part.mask0, part.mask1, part.negate)
		if err != nil {
			return err
		}
		if most == trials {
			return fmt.Errorf("%d trials with one sample all answer the same if only %s vary, and differently if all bits do "+
				"(does the generator use both seeds, with all 64 bits?)", trials, part.name)
		}
	}
	return nil
}

// checkShared checks that models answer the rows of a shared table, from any first row on, as if
// each trial got them in a table of its own. Sweeps over data files use shared tables.
func (s checks) checkShared() error {
	if s.setting.Rounds > 0 {
		return skipped("the task online has no shared points")
	}
	table, err := dataset.NewTable("plugintest", testPoints, s.problem.Dim)
	if err != nil {
		return err
	}
	defer table.Close() //nolint:errcheck // its memory is freed with this process at the latest
	s.draw(1<<33, table.Points(), nil)
	c := s.command
	c.Dataset = table
	p, err := host.Start(s.ctx, c)
	if err != nil {
		return err
	}
	defer p.Stop()
	apart := script{trials: usual.trials, shared: table.Points()}
	v := variation{apart, false, "points in a shared table", "see Step.shared and Step.first_row in the protocol"}
	v.script.pieces, v.script.fromDataset = []int{7, 11}, true
	want, err := s.playIn(p, apart)
	if err != nil {
		return err
	}
	_, err = s.compare(c, p, apart, want, v)
	return err
}

// checkDeclared checks that models label points like their declared hypotheses, and that they
// declare one if the algorithm's Declares reports that.
func (s checks) checkDeclared() error {
	if s.setting.Queries+s.setting.Rounds > 0 {
		return skipped("only the task learn has declared hypotheses")
	}
	t, err := s.clean(usual)
	if err != nil {
		return err
	}
	return t.differs
}

// checkQueries checks that queries get the same answers one by one and many at a time, and that no
// answer depends on later queries or rounds.
func (s checks) checkQueries() error {
	if s.setting.Queries+s.setting.Rounds == 0 {
		return skipped("the task learn has neither queries nor rounds")
	}
	several := variation{script{trials: usual.trials, chunk: 7}, false, "several queries at a time", points}
	if _, err := same(several)(s); err != nil {
		return err
	}
	if s.setting.Offline { // revealed queries may change every answer
		return nil
	}
	first, err := s.clean(usual)
	if err != nil {
		return err
	}
	half := int(s.setting.Queries+s.setting.Rounds) / 2
	other, err := s.clean(script{trials: usual.trials, common: half})
	if err == nil {
		err = matching(first, other, func(j, k int) error { return sameLabels(first, j, other, k, half) })
	}
	return why(err, "with other queries or rounds later")
}

// checkStates checks that Predict can be called between the queries of an algorithm, that it
// changes nothing, and that it returns the answers that the queries then get.
func (s checks) checkStates() error {
	if s.setting.Queries == 0 {
		return skipped("only the task predict has queries")
	}
	first, err := s.clean(usual)
	if err != nil {
		return err
	}
	asked, err := s.repeat(first, variation{
		script{trials: usual.trials, states: true}, false, "after calls of Predict between its queries",
		"Predict must change nothing, and may be called before the first query",
	})
	if err != nil {
		return err
	}
	apart, queries := 0.0, 0
	for j, states := range asked.states {
		for i, said := range states { // 0 or 1 for a label, and 0 on average for the mean of one
			apart += said * (said - asked.labels[j][i]) / 2
			queries++
		}
	}
	if apart > s.setting.Alpha*float64(queries) {
		return fmt.Errorf("%.0f of %d answers differ from those of Predict just before (Predict must return the "+
			"answer to the next query, "+
			"so draw its noise beforehand): more than the share alpha = %v, so no trial would succeed",
			apart, queries, s.setting.Alpha)
	}
	return nil
}

// checkSizes checks the smallest and a large sample, and zero, one and many points. A game has no
// sample.
func (s checks) checkSizes() error {
	for _, sc := range []script{
		{trials: usual.trials, n: 1}, {trials: usual.trials, n: 2}, {trials: usual.trials, points: 1},
		{trials: usual.trials[:1], n: 20_000}, {trials: usual.trials[:1], points: 100_000},
	} {
		if sc.n > 0 && s.setting.Rounds > 0 {
			continue
		}
		p, err := s.running()
		if err != nil {
			return err
		}
		t, err := s.play(p, sc)
		if err != nil {
			return why(err, "%s", sc.sizes())
		}
		for _, f := range t.faults {
			if f.Kind != host.Infeasible {
				return fmt.Errorf("%s: %w\n(an algorithm that needs more examples must return algo.Infeasible)",
					sc.sizes(), faultError(f))
			}
		}
	}
	p, err := s.running()
	if err != nil {
		return err
	}
	open := host.OpenRequest{Setting: s.setting, Seeds: []uint64{1, 2}}
	if s.setting.Offline {
		open.Reveal = func(x []float64) { copy(x, s.queries(script{}, 0)) }
	}
	session, _, err := p.Open(s.ctx, open, func(x, y []float64) { s.draw(0, x, y) })
	if err == nil {
		_, _, err = session.Close(s.ctx, nil)
	}
	return why(err, "a session without a request")
}

// checkParameters checks that Check resolves all parameters, leaves resolved ones unchanged, and
// rejects wrong ones as invalid.
func (s checks) checkParameters() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	check := func(parameters map[string]*pluginv1.Value) (*pluginv1.CheckResponse, error) {
		return p.Check(s.ctx, s.with(func(w *pluginv1.Setting) { w.Parameters = parameters }))
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
			return fmt.Errorf("parameter %q = %v (%s) is not rejected as invalid", wrong.name, wrong.value, wrong.why)
		}
	}
	return nil
}

// wrongParameter is a value that a parameter must not have, and the reason.
type wrongParameter struct {
	name  string
	value *pluginv1.Value
	why   string
}

// wrongParameters returns values that the algorithm's own description excludes.
func (s checks) wrongParameters() []wrongParameter {
	text := pluginv1.ValueOf("no such choice")
	number := func(p *pluginv1.Parameter, v float64) *pluginv1.Value {
		if _, ok := p.Default.Plain().(int64); ok {
			return pluginv1.ValueOf(int64(v))
		}
		return pluginv1.ValueOf(v)
	}
	wrong := []wrongParameter{{"no_such_parameter", text, "it has no such parameter"}}
	for _, p := range s.algorithm.Parameters {
		if p.Min != nil {
			wrong = append(wrong, wrongParameter{p.Name, number(p, *p.Min-1), "below its min"})
		}
		if p.Max != nil {
			wrong = append(wrong, wrongParameter{p.Name, number(p, *p.Max+1), "above its max"})
		}
		if _, ok := p.Default.Plain().(string); !ok {
			wrong = append(wrong, wrongParameter{p.Name, text, "of another type"})
		} else if len(p.Choices) > 0 {
			wrong = append(wrong, wrongParameter{p.Name, text, "none of its choices"})
		}
	}
	return wrong
}

// checkCancellation checks that a canceled session ends at once, and does not affect later ones.
func (s checks) checkCancellation() error {
	before, err := s.clean(usual)
	if err != nil {
		return err
	}
	p, err := s.running()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	cancelled := *s.suite
	cancelled.ctx = ctx
	many := make([]uint64, 1000)
	timer := time.AfterFunc(time.Millisecond, cancel)
	defer timer.Stop()
	start := time.Now()
	for err == nil { // one of these is in progress when the context ends
		_, err = cancelled.play(p, script{trials: many, n: min(s.setting.N, 1000)})
	}
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Cause != host.Cancelled {
		return why(err, "a session was canceled")
	}
	s.stop() // the host has ended it
	if took := time.Since(start); took > 20*time.Second {
		return fmt.Errorf("a canceled session took %v to end (does it check its context?)", took)
	}
	_, err = s.repeat(before, variation{usual, false, "after a canceled session", company})
	return err
}

// checkGoroutines checks that the number of goroutines is the same before and after a session. The
// SDK in Go reports it.
func (s checks) checkGoroutines() error {
	if s.command.Attached {
		return skipped("the process runs in a debugger")
	}
	if _, err := s.clean(usual); err != nil { // goroutines started once, at the first use, may remain
		return err
	}
	p, err := s.running()
	if err != nil {
		return err
	}
	if p.Describe().Goroutines == 0 {
		return skipped("only a plugin with the Go SDK of this release reports their number")
	}
	before, err := s.goroutines(p, 0)
	if err != nil {
		return err
	}
	many := make([]uint64, 100)
	if _, err := s.playIn(p, script{trials: many}); err != nil {
		return err
	}
	after := before + 1
	deadline := time.Now().Add(2 * time.Second) // those of the session itself may still be ending
	for after > before && time.Now().Before(deadline) {
		if after, err = s.goroutines(p, before); err != nil {
			return err
		}
	}
	if after > before {
		return fmt.Errorf("%s left by a session of %d trials", wording.CountOf(int(after-before), "goroutine is",
			"goroutines are"), len(many))
	}
	return nil
}

// goroutines returns the number of goroutines in a process: the first of several counts that is at
// most enough, or the least, because some of gRPC's goroutines are short-lived.
func (s checks) goroutines(p *host.Process, enough uint32) (least uint32, err error) {
	least = math.MaxUint32
	for range 20 {
		d, err := p.DescribeAgain(s.ctx)
		if err != nil {
			return 0, err
		}
		if least = min(least, d.Goroutines); least <= enough {
			break
		}
	}
	return least, nil
}

// checkRaces plays in a process that the race detector ends at its first report, if the plugin was
// built with it.
func (s checks) checkRaces() error {
	info, err := buildinfo.ReadFile(s.command.Path)
	switch {
	case s.command.Attached:
		return skipped("the process runs in a debugger")
	case err != nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}):
		return skipped("only a Go program that was built with -race reports races")
	}
	c := s.command
	c.Env = append(slices.Clip(c.Env), "GORACE=halt_on_error=1")
	p, err := host.Start(s.ctx, c)
	if err != nil {
		return err
	}
	defer p.Stop()
	for _, sc := range []script{
		usual, {trials: usual.trials, pieces: []int{7}, twice: true, chunk: 7}, {trials: usual.trials, states: true},
	} {
		if _, err := s.playIn(p, sc); err != nil {
			return err
		}
	}
	return nil
}
