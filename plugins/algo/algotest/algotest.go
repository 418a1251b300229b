// Package algotest runs trials of an algorithm again in its author's unit tests. A trial comes from a
// sweep: shatter trial DIR ID --export FILE writes all that the plugin was told and all that it
// answered. [Replay] then tells an algorithm in the test's own process the same, so that a debugger
// and prints work as in any test, and compares its answers to the last bit.
package algotest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/record"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Replay runs the trial in a file that shatter trial --export wrote. The algorithm gets the same
// setting, seeds, sample, queries and truths in the same requests, whatever the task. The test fails
// where an answer, a mark or a metric differs from the recorded one by a bit, and where the trial
// fails: so the replay of a trial that failed in its sweep fails until the algorithm is mended.
//
// What an adversary would have asked after another answer is not replayed: the questions are those of
// the record. Nor are limits of time and memory, the sandbox, and other trials in the same process.
func Replay(t testing.TB, p algo.Plugin, file string) {
	t.Helper()
	r, err := record.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := replay(t.Context(), p, r)
	if err != nil {
		t.Fatalf("replay %s: %v", file, err)
	}
	for _, problem := range problems {
		t.Errorf("replay %s: %s", file, problem)
	}
	if r.Fault != "" && len(problems) == 0 {
		t.Logf("replay %s: the trial failed when it was recorded, and does no longer", file)
	}
}

// mostProblems limits how many differences are told.
const mostProblems = 10

// A player replays one record.
type player struct {
	record   *record.Record
	send     func(*pluginv1.SessionRequest) (*pluginv1.SessionResponse, error)
	memory   []byte // of the tables of the present request
	truths   []byte // of the last round, which the algorithm has yet to hear
	fault    string // why the trial has failed
	problems []string
	more     int // differences beyond mostProblems
}

func replay(ctx context.Context, p algo.Plugin, r *record.Record) (problems []string, err error) {
	w := &player{record: r}
	if w.send, err = algo.NewSession(ctx, p, func() []byte { return w.memory }); err != nil {
		return nil, err
	}
	rest, err := w.open(r.Rows)
	if err != nil {
		return nil, err
	}
	first := len(r.Rows) - len(rest)
	for len(rest) > 0 && w.fault == "" {
		n := 1
		for n < len(rest) && rest[n].Request == rest[0].Request {
			n++
		}
		if err := w.step(first, rest[:n]); err != nil {
			return nil, err
		}
		rest, first = rest[n:], first+n
	}
	if err := w.close(); err != nil {
		return nil, err
	}
	if w.more > 0 {
		w.problems = append(w.problems, fmt.Sprintf("and %d further differences", w.more))
	}
	switch {
	case w.fault != "":
		w.problems = append(w.problems, "the trial fails: "+w.fault)
	case strings.HasPrefix(r.Fault, "answer: ") && len(w.problems) == 0: // which the worker finds, and not the SDK
		w.problems = append(w.problems, "the trial fails: "+r.Fault)
	case r.Fault != "" && !strings.HasPrefix(r.Fault, "answer: "):
		w.problems = nil // no answers were recorded to compare with after the failure
	}
	return w.problems, nil
}

// open lets the algorithm learn, and returns the rows of the requests that followed.
func (w *player) open(rows []record.Row) ([]record.Row, error) {
	r := w.record
	o := &pluginv1.Open{Setting: r.Setting, Seeds: r.Seeds[:]}
	shown := len(rows)
	if i := slices.IndexFunc(rows, func(row record.Row) bool { return row.Request > 0 }); i >= 0 {
		shown = i
	}
	samples := 0
	for samples < shown && rows[samples].Kind == record.Sample {
		samples++
	}
	w.memory = make([]byte, 8)
	if samples > 0 {
		o.Sample = w.table(0, rows[:samples])
	}
	if shown > samples {
		o.Revealed = w.table(samples, rows[samples:shown])
	}
	response, err := w.send(&pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Open{Open: o}})
	if err != nil {
		return nil, err
	}
	w.fail(response.GetOpened().GetFaults())
	return rows[shown:], nil
}

// step asks for the answers of one request, whose first row in the record is given, and compares them.
func (w *player) step(first int, rows []record.Row) error {
	w.memory = make([]byte, 8)
	kind := rows[0].Kind
	q := &pluginv1.Step{
		Counts: []uint32{uint32(len(rows))}, Points: w.table(first, rows), Truths: w.truths,
		Play: kind == record.Round || kind == record.Query,
	}
	if w.truths = nil; kind == record.Round && !math.IsNaN(rows[0].Y) {
		for _, row := range rows {
			w.truths = binary.LittleEndian.AppendUint64(w.truths, math.Float64bits(row.Y))
		}
	}
	response, err := w.send(&pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{Step: q}})
	if err != nil {
		return err
	}
	a := response.GetAnswers()
	if w.fail(a.GetFaults()); w.fault != "" {
		return nil
	}
	for i, row := range rows {
		got := math.Float64frombits(binary.LittleEndian.Uint64(a.Values[8*i:]))
		hard := len(a.Marks) > 0 && a.Marks[i] != 0
		at := fmt.Sprintf("row %d (%s %d of request %d, x = %v)", first+i, kind, i, row.Request, w.record.PointOf(first+i))
		if math.Float64bits(got) != math.Float64bits(row.Answer) {
			w.differ("%s: the answer is %v, and %v is recorded", at, got, row.Answer)
		}
		if hard != row.Hard {
			w.differ("%s: the query is marked as hard: %v, and %v is recorded", at, hard, row.Hard)
		}
	}
	return nil
}

// close tells the algorithm the truths of the last round and compares the metrics.
func (w *player) close() error {
	response, err := w.send(&pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Close{
		Close: &pluginv1.Close{Truths: w.truths},
	}})
	if err != nil {
		return err
	}
	if w.fail(response.GetClosed().GetFaults()); w.fault != "" {
		return nil
	}
	got := map[string]float64{}
	for name, b := range response.GetClosed().GetMetrics() {
		if v := math.Float64frombits(binary.LittleEndian.Uint64(b)); !math.IsNaN(v) {
			got[name] = v
			if _, ok := w.record.Metrics[name]; !ok {
				w.differ("metric %q is %v, and none is recorded", name, v)
			}
		}
	}
	for name, want := range w.record.Metrics {
		if v, ok := got[name]; !ok {
			w.differ("metric %q is not reported, and %v is recorded", name, want)
		} else if math.Float64bits(v) != math.Float64bits(want) {
			w.differ("metric %q is %v, and %v is recorded", name, v, want)
		}
	}
	return nil
}

// table lays rows out in the memory and says where they lie. first is the first one's place in the
// record.
func (w *player) table(first int, rows []record.Row) *pluginv1.Table {
	r := w.record
	x := r.X[first*r.Dim : (first+len(rows))*r.Dim]
	t := &pluginv1.Table{
		Place: pluginv1.Table_PLACE_SESSION, Rows: uint64(len(rows)), Dim: uint32(r.Dim), XAt: uint64(len(w.memory)),
	}
	numbers := slices.Clone(x)
	if rows[0].Kind == record.Sample {
		t.YAt = t.XAt + uint64(8*len(x))
		for _, row := range rows {
			numbers = append(numbers, row.Y)
		}
	}
	w.memory = append(w.memory, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 8*len(numbers))...)
	t.Length = uint64(len(w.memory))
	return t
}

func (w *player) fail(faults []*pluginv1.Fault) {
	if len(faults) > 0 && w.fault == "" {
		kind := strings.ToLower(strings.TrimPrefix(faults[0].Kind.String(), "KIND_"))
		w.fault = kind + ": " + faults[0].Message
	}
}

func (w *player) differ(format string, args ...any) {
	if len(w.problems) == mostProblems {
		w.more++
		return
	}
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}
