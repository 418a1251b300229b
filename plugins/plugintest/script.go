package plugintest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
)

// testPoints is the usual number of points that each trial predicts.
const testPoints = 30

// A script describes a session: its trials and the requests to them.
type script struct {
	trials   []uint64 // key of each trial, which determines its seed, sample, queries and points
	n        int64    // sample size; 0: that of the setting
	points   int      // points to predict, per trial; 0: testPoints
	pieces   []int    // points per step, for each trial; the last step has the remaining points; nil: one step
	twice    bool     // whether to repeat every request, which must not change any answer
	reversed bool     // whether to request the points from the last to the first; the transcript has their usual order
	distort  bool     // whether to predict first at so many other points that they overwrite the sample's memory

	chunk  int  // queries per step; 0: one
	states bool // whether to call Predict before each step of queries, with the first query among other points
	common int  // number of queries or rounds that are the usual ones, followed by others; 0: all

	change func(key uint64, x, y []float64) // changes the drawn sample of a trial; nil: none
	seeds  []uint64                         // two for each trial; nil: made from the keys

	shared      []float64 // points that all trials answer; nil: each its own
	fromDataset bool      // whether they are in the shared table of the process
}

// usual is the script whose transcript others are compared with.
var usual = script{trials: []uint64{0, 1, 2, 3}}

// sizes describes the unusual sizes of a script.
func (sc script) sizes() string {
	if sc.n > 0 {
		return fmt.Sprintf("with a sample of %d", sc.n)
	}
	return fmt.Sprintf("with %d points", sc.points)
}

// A transcript holds the answers of a session's trials.
type transcript struct {
	trials  []uint64    // like in the script
	labels  [][]float64 // labels of the queries, or answers of the rounds, by trial
	marks   [][]float64 // marks of the queries, by trial
	states  [][]float64 // answer of the state before each query, if requested, by trial
	answers [][]float64 // answers to the points, by trial
	metrics map[string][]float64
	faults  []host.Fault

	warnings int64
	differs  error // an answer that differs from the declared hypothesis of its trial; nil: none
	changed  error // an answer that changed in a repeated request; nil: none
}

// newTranscript returns a transcript without answers.
func newTranscript(trials []uint64) *transcript {
	n := len(trials)
	return &transcript{
		trials: trials, labels: make([][]float64, n), marks: make([][]float64, n), states: make([][]float64, n),
		answers: make([][]float64, n),
	}
}

// play plays a script in a process, in the current setting. Trials may fail: see transcript.faults.
func (s *suite) play(p *host.Process, sc script) (*transcript, error) {
	setting := s.setting
	if sc.n > 0 && setting.Rounds == 0 {
		setting = proto.CloneOf(setting)
		setting.N = sc.n
	}
	if sc.points == 0 {
		sc.points = testPoints
	}
	r := host.OpenRequest{Setting: setting, Seeds: sc.seeds}
	for _, key := range sc.trials[len(sc.seeds)/2:] {
		r.Seeds = append(r.Seeds, mixed(key), mixed(^key))
	}
	n, dim := int(setting.N), s.problem.Dim
	if setting.Offline {
		r.Reveal = func(x []float64) {
			for _, key := range sc.trials {
				x = x[copy(x, s.queries(sc, key)):]
			}
		}
	}
	session, faults, err := p.Open(s.ctx, r, func(x, y []float64) {
		for j, key := range sc.trials {
			s.draw(key, x[j*n*dim:(j+1)*n*dim], y[j*n:(j+1)*n])
			if sc.change != nil {
				sc.change(key, x[j*n*dim:(j+1)*n*dim], y[j*n:(j+1)*n])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	t := newTranscript(sc.trials)
	t.faults = faults
	truths, err := s.playRounds(session, sc, t)
	if err != nil {
		return nil, err
	}
	if sc.distort {
		others := newTranscript(sc.trials)
		rows := n*(dim+1)/dim + 1024
		if err := s.askStep(session, s.pointsOf(sc, 1<<32, rows), 0, rows, others); err != nil {
			return nil, err
		}
		t.faults = append(t.faults, others.faults...)
	}
	if err := s.askQueries(session, sc, t); err != nil {
		return nil, err
	}
	if err := s.askPoints(session, sc, t); err != nil {
		return nil, err
	}
	t.metrics, faults, err = session.Close(s.ctx, truths)
	t.faults = append(t.faults, faults...)
	t.warnings, _ = session.Warnings()
	if count, first := session.Warnings(); count > 0 {
		if s.warnings == 0 {
			s.warning = first
		}
		s.warnings += count
	}
	return t, err
}

// mixed returns a number that depends on the key, by the last steps of SplitMix64.
func mixed(key uint64) uint64 {
	key = (key + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	key = (key ^ key>>27) * 0x94d049bb133111eb
	return key ^ key>>31
}

// queries returns the queries of one trial of a script.
func (s *suite) queries(sc script, key uint64) []float64 {
	x, _ := s.sequence(sc, key, int(s.setting.Queries))
	return x
}

// sequence returns the queries or rounds of one trial of a script, with labels.
func (s *suite) sequence(sc script, key uint64, length int) (x, y []float64) {
	dim := s.problem.Dim
	x, y = make([]float64, length*dim), make([]float64, length)
	s.draw(key+3<<30, x, y)
	if 0 < sc.common && sc.common < length {
		otherX, otherY := make([]float64, len(x)), make([]float64, len(y))
		s.draw(key+5<<30, otherX, otherY)
		copy(x[sc.common*dim:], otherX)
		copy(y[sc.common:], otherY)
	}
	return x, y
}

// pointsOf draws n points for each trial of a script, with its key plus salt.
func (s *suite) pointsOf(sc script, salt uint64, n int) [][]float64 {
	lists := make([][]float64, len(sc.trials))
	for j, key := range sc.trials {
		if lists[j] = slices.Clone(sc.shared); sc.shared == nil {
			lists[j] = make([]float64, n*s.problem.Dim)
			s.draw(key+salt, lists[j], nil)
		}
	}
	return lists
}

// rowsOf returns the request for rows first..first+rows-1 of each trial's list: the counts, and a
// function that fills in the points of all trials, in one or more calls.
func (s *suite) rowsOf(lists [][]float64, first, rows int) (counts []uint32, fill func(x []float64)) {
	dim := s.problem.Dim
	var points []float64
	for _, x := range lists {
		counts = append(counts, uint32(rows))
		points = append(points, x[first*dim:(first+rows)*dim]...)
	}
	return counts, func(x []float64) { points = points[copy(x, points):] }
}

// playRounds plays the rounds of an online setting. It returns the truths of the last round, which
// the trials have not observed yet.
func (s *suite) playRounds(session *host.Session, sc script, t *transcript) (truths []float64, err error) {
	total := int(s.setting.Rounds)
	x, y := make([][]float64, len(sc.trials)), make([][]float64, len(sc.trials))
	for j, key := range sc.trials {
		x[j], y[j] = s.sequence(sc, key, total)
	}
	for round := range total {
		counts, fill := s.rowsOf(x, round, 1)
		answers, faults, err := session.Round(s.ctx, counts, truths, fill)
		if err != nil {
			return nil, err
		}
		t.faults = append(t.faults, faults...)
		truths = truths[:0]
		for j := range counts {
			t.labels[j] = append(t.labels[j], answers[j])
			truths = append(truths, y[j][round])
		}
	}
	return truths, nil
}

// askQueries sends the queries of a prediction setting to all trials.
func (s *suite) askQueries(session *host.Session, sc script, t *transcript) error {
	total := int(s.setting.Queries)
	lists := make([][]float64, len(sc.trials))
	for j, key := range sc.trials {
		lists[j] = s.queries(sc, key)
	}
	for first := 0; first < total; first += max(1, sc.chunk) {
		rows := min(max(1, sc.chunk), total-first)
		if sc.states {
			if err := s.askState(session, sc, lists, first, t); err != nil {
				return err
			}
		}
		counts, fill := s.rowsOf(lists, first, rows)
		labels, marks, faults, err := session.Play(s.ctx, counts, fill)
		if err != nil {
			return err
		}
		t.faults = append(t.faults, faults...)
		for j := range counts {
			t.labels[j] = append(t.labels[j], labels[j*rows:(j+1)*rows]...)
			for _, m := range marks[j*rows : (j+1)*rows] {
				t.marks[j] = append(t.marks[j], float64(m))
			}
		}
	}
	return nil
}

// askState requests the answers of all trials to their query first, which is at some place among
// other points.
func (s *suite) askState(session *host.Session, sc script, queries [][]float64, first int, t *transcript) error {
	const others = 3
	dim, place := s.problem.Dim, first%(others+1)
	lists := s.pointsOf(sc, 7<<30+uint64(first)<<8, others+1)
	for j, x := range lists {
		copy(x[place*dim:(place+1)*dim], queries[j][first*dim:(first+1)*dim])
	}
	counts, fill := s.rowsOf(lists, 0, others+1)
	answers, faults, err := session.Step(s.ctx, counts, fill)
	if err != nil {
		return err
	}
	t.faults = append(t.faults, faults...)
	for j := range lists {
		t.states[j] = append(t.states[j], answers[j*(others+1)+place])
	}
	return nil
}

// askPoints requests the predictions of all trials at their points, in the pieces of the script.
func (s *suite) askPoints(session *host.Session, sc script, t *transcript) error {
	lists := s.pointsOf(sc, 1<<31, sc.points)
	if sc.reversed {
		for _, x := range lists {
			reverseRows(x, s.problem.Dim)
		}
		defer func() {
			for _, answers := range t.answers {
				slices.Reverse(answers)
			}
		}()
	}
	if err := s.askPieces(session, sc, lists, t); err != nil {
		return err
	}
	t.differs = s.compareDeclared(session, sc, lists, t)
	if !sc.twice {
		return nil
	}
	again := newTranscript(sc.trials)
	if err := s.askPieces(session, sc, lists, again); err != nil {
		return err
	}
	for j := range t.answers {
		err := sameAnswers(t.answers[j], again.answers[j])
		t.changed = cmp.Or(t.changed, why(err, "trial %d: in a repeated request (Predict must change nothing)", sc.trials[j]))
	}
	return nil
}

// compareDeclared records an answer to the points of lists that differs from the declared
// hypothesis of its trial. It also records a trial without a hypothesis if the algorithm's Declares
// requires one.
func (s *suite) compareDeclared(session *host.Session, sc script, lists [][]float64, t *transcript) error {
	for j, x := range lists {
		h := session.Declared(j)
		switch {
		case slices.ContainsFunc(t.faults, func(f host.Fault) bool { return f.Trial == j }):
			continue
		case h == nil && s.declares:
			return fmt.Errorf("trial %d: the algorithm's Declares reports declared hypotheses, and this model declares none",
				sc.trials[j])
		case h == nil:
			continue
		}
		labels := make([]float64, len(t.answers[j]))
		h.Labels(x, labels)
		for i, a := range t.answers[j] {
			if a != labels[i] {
				return fmt.Errorf("trial %d: the answer to point %v is %v, and its declared hypothesis labels it %v", sc.trials[j],
					x[i*s.problem.Dim:(i+1)*s.problem.Dim], a, labels[i])
			}
		}
	}
	return nil
}

// askPieces requests the predictions of all trials at the points of lists, in the pieces of the
// script.
func (s *suite) askPieces(session *host.Session, sc script, lists [][]float64, t *transcript) error {
	first := 0
	for _, rows := range slices.Concat(sc.pieces, []int{sc.points}) {
		rows = min(rows, sc.points-first)
		ask := s.askStep
		if sc.fromDataset {
			ask = s.askShared
		}
		if err := ask(session, lists, first, rows, t); err != nil {
			return err
		}
		first += rows
	}
	return nil
}

// reverseRows reverses the order of the rows of a table.
func reverseRows(x []float64, dim int) {
	slices.Reverse(x)
	for row := range slices.Chunk(x, dim) {
		slices.Reverse(row)
	}
}

// askStep requests the predictions of every trial at points first..first+rows-1 of its list.
func (s *suite) askStep(session *host.Session, lists [][]float64, first, rows int, t *transcript) error {
	counts, fill := s.rowsOf(lists, first, rows)
	answers, faults, err := session.Step(s.ctx, counts, fill)
	t.add(answers, faults)
	return err
}

// askShared requests the predictions of every trial at rows first..first+rows-1 of the shared table.
func (s *suite) askShared(session *host.Session, lists [][]float64, first, rows int, t *transcript) error {
	counts, _ := s.rowsOf(lists, first, rows)
	answers, faults, err := session.StepShared(s.ctx, counts, uint64(first))
	t.add(answers, faults)
	return err
}

// add adds the answers of a step with as many points for each trial.
func (t *transcript) add(answers []float64, faults []host.Fault) {
	t.faults = append(t.faults, faults...)
	rows := len(answers) / len(t.trials)
	for j := range t.answers {
		t.answers[j] = append(t.answers[j], answers[j*rows:(j+1)*rows]...)
	}
}

// playIn plays a script, in which no trial may fail, in a process.
func (s *suite) playIn(p *host.Process, sc script) (*transcript, error) {
	t, err := s.play(p, sc)
	if err != nil {
		return nil, err
	}
	return t, cmp.Or(faultsError(t.faults), t.changed)
}

// clean plays a script, in which no trial may fail, in the process that the checks share.
func (s *suite) clean(sc script) (*transcript, error) {
	p, err := s.running()
	if err != nil {
		return nil, err
	}
	return s.playIn(p, sc)
}

// faultsError returns an error that lists the first few kinds of faults, each with the number of its
// trials, or nil if there are no faults.
func faultsError(faults []host.Fault) error {
	var kinds []string
	trials := map[string][]int{}
	for _, f := range faults {
		text := faultError(host.Fault{Kind: f.Kind, Message: f.Message}).Error()
		if trials[text] == nil {
			kinds = append(kinds, text)
		}
		trials[text] = append(trials[text], f.Trial)
	}
	var all []error
	for i, text := range kinds {
		if i == 3 {
			all = append(all, fmt.Errorf("and %s", wording.CountOf(len(kinds)-i, "other kind", "other kinds")))
			break
		}
		where := fmt.Sprintf("trial %d", trials[text][0])
		if n := len(trials[text]); n > 1 {
			where = "in " + wording.Count(n, "trial")
		}
		all = append(all, fmt.Errorf("%s: %s", where, text))
	}
	return errors.Join(all...)
}

// faultError describes a fault to the author.
func faultError(f host.Fault) error {
	switch f.Kind {
	case host.Error, host.Panic, host.Answer: // their texts describe them
		return errors.New(f.Message)
	}
	return fmt.Errorf("%s: %s", f.Kind, f.Message)
}

// sameAnswers returns an error if two lists of answers differ in a bit.
func sameAnswers(want, got []float64) error {
	if len(want) != len(got) {
		return fmt.Errorf("%d answers instead of %d", len(got), len(want))
	}
	for i := range want {
		if !equal(want[i], got[i]) {
			return fmt.Errorf("the answer to point %d is %v, and the first time %v", i, got[i], want[i])
		}
	}
	return nil
}

// equal reports whether two numbers are equal to the last bit. All NaNs, of which libraries have
// several, are equal.
func equal(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// sameLabels returns an error if trial j of want and trial k of got differ in the labels or marks
// of their first queries, or in the answers of their first rounds.
func sameLabels(want *transcript, j int, got *transcript, k, length int) error {
	first := func(v []float64) []float64 { return v[:min(length, len(v))] }
	if err := sameAnswers(first(want.labels[j]), first(got.labels[k])); err != nil {
		return why(err, "queries or rounds")
	}
	return why(sameAnswers(first(want.marks[j]), first(got.marks[k])), "marks of queries")
}

// sameTrial returns an error if trial j of want and trial k of got differ in a bit.
func sameTrial(want *transcript, j int, got *transcript, k int) error {
	if err := sameLabels(want, j, got, k, max(len(want.labels[j]), len(got.labels[k]))); err != nil {
		return err
	}
	if err := sameAnswers(want.answers[j], got.answers[k]); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want.metrics)) {
		if a, b := want.metrics[name][j], got.metrics[name][k]; !equal(a, b) {
			return fmt.Errorf("metric %q is %v, and the first time %v", name, b, a)
		}
	}
	return nil
}

// matching calls compare with the index in want and the index in got of each trial of got, matched
// by their keys, until it returns an error.
func matching(want, got *transcript, compare func(j, k int) error) error {
	for k, key := range got.trials {
		if err := compare(slices.Index(want.trials, key), k); err != nil {
			return why(err, "trial %d", key)
		}
	}
	return nil
}
