package algo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

type noise struct {
	Scale float64 `min:"0"`
}

// noisy answers a point x with z times x, where z is Scale times a random number that the trial
// draws while it learns. If z is out of range the trial fails, in one of several ways.
var noisy = Algorithm[noise]{
	Name: "test/noisy", Version: "1", Defaults: noise{Scale: 1},
	Metrics: map[string]string{"z": "the number", "label": "first label"},
	Learn: func(_ context.Context, t *Trial[noise], sample *Data) (Model, error) {
		z := t.Params.Scale * t.Rand.Float64()
		t.Report("z", z)
		if sample.Y(0) > 0 {
			t.Report("label", sample.Y(0))
		}
		switch {
		case z > 100:
			panic("too large")
		case z > 10:
			return nil, fmt.Errorf("large: %v", sample.X(0))
		case z < -1:
			return nil, nil
		}
		return constant(z), nil
	},
}

type constant float64

func (c constant) Predict(_ context.Context, x *Data, out []float64) error {
	if c > 1 {
		return Infeasible("%v", float64(c))
	}
	for i := range out {
		out[i] = float64(c) * x.X(i)[0]
	}
	return nil
}

// memory replaces the shared memory of tables.
type memory struct{ b []byte }

func (m *memory) places() *places {
	return &places{session: func() ([]byte, error) { return m.b, nil }}
}

// table writes a table into the memory, at an offset of 64.
func (m *memory) table(dim int, x, y []float64) *pluginv1.Table {
	l, err := dataset.NewLayout(len(x)/dim, dim, y != nil)
	if err != nil {
		panic(err)
	}
	m.b = make([]byte, 64+l.Size())
	b := m.b[64:]
	l.Init(b)
	copy(l.X(b), x)
	copy(l.Y(b), y)
	return &pluginv1.Table{
		Place: pluginv1.Table_PLACE_SESSION, Offset: 64, Length: uint64(l.Size()),
		Rows: uint64(l.Rows), Dim: uint32(l.Dim), XAt: uint64(l.XAt), YAt: uint64(l.YAt),
	}
}

// serviceOf returns a service of one algorithm whose tables are in m.
func serviceOf(t testing.TB, p Plugin, m *memory) *service {
	t.Helper()
	svc, err := newService([]Plugin{p}, m.places())
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// respond returns the session's response to a request that must not fail.
func respond(t interface{ Fatal(...any) }, s *session, q *pluginv1.SessionRequest) *pluginv1.SessionResponse {
	r, err := s.answer(q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func openRequest(setting *pluginv1.Setting, seeds []uint64, sample *pluginv1.Table) *pluginv1.SessionRequest {
	return &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Open{
		Open: &pluginv1.Open{Setting: setting, Seeds: seeds, Sample: sample},
	}}
}

func stepRequest(counts []uint32, points *pluginv1.Table) *pluginv1.SessionRequest {
	return sharedRequest(counts, points, false, 0)
}

func sharedRequest(counts []uint32, points *pluginv1.Table, shared bool, first uint64) *pluginv1.SessionRequest {
	return &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{
		Step: &pluginv1.Step{Counts: counts, Points: points, Shared: shared, FirstRow: first},
	}}
}

var closeRequest = &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Close{Close: &pluginv1.Close{}}}

func learnSetting(name string, n int) *pluginv1.Setting {
	return &pluginv1.Setting{
		Algorithm: name, Task: pluginv1.Task_TASK_LEARN, N: int64(n), Problem: &pluginv1.Problem{Dim: 1},
	}
}

func unpack(b []byte) []float64 {
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

// play runs a session of trials with the given seeds. It returns each trial's answer to the point
// 1, its metric z and the kinds of its faults.
func play(t rapid.TB, svc *service, m *memory, setting *pluginv1.Setting, seeds []uint64, labels []float64) (
	answers, z []float64, kinds []string) {
	s := newSession(context.Background(), svc)
	trials := len(seeds) / 2
	x, counts, ones := make([]float64, len(labels)), make([]uint32, trials), make([]float64, trials)
	for j := range counts {
		counts[j], ones[j] = 1, 1
	}
	kinds = make([]string, trials)
	note := func(faults []*pluginv1.Fault) {
		for _, f := range faults {
			kinds[f.Trial] += strings.TrimPrefix(f.Kind.String(), "KIND_")
		}
	}
	note(respond(t, s, openRequest(setting, seeds, m.table(1, x, labels))).GetOpened().Faults)
	a := respond(t, s, stepRequest(counts, m.table(1, ones, nil))).GetAnswers()
	note(a.Faults)
	return unpack(a.Values), unpack(respond(t, s, closeRequest).GetClosed().Metrics["z"]), kinds
}

// TestTrialsAreAlone checks that a trial returns the same bits alone and among any others.
func TestTrialsAreAlone(t *testing.T) {
	m := &memory{}
	svc := serviceOf(t, noisy, m)
	rapid.Check(t, func(t *rapid.T) {
		trials := rapid.IntRange(1, 20).Draw(t, "trials")
		setting := learnSetting("test/noisy", 1)
		setting.Parameters = map[string]*pluginv1.Value{"scale": {Kind: &pluginv1.Value_Float{Float: 150}}}
		seeds := rapid.SliceOfN(rapid.Uint64(), 2*trials, 2*trials).Draw(t, "seeds")
		labels := make([]float64, trials)
		for j := range labels {
			labels[j] = 1
		}
		answers, z, kinds := play(t, svc, m, setting, seeds, labels)
		for j := range trials {
			a, w, k := play(t, svc, m, setting, seeds[2*j:2*j+2], labels[:1])
			if math.Float64bits(a[0]) != math.Float64bits(answers[j]) || w[0] != z[j] || k[0] != kinds[j] {
				t.Fatalf("trial %d: %v %v %q alone, %v %v %q among others", j, a, w, k, answers[j], z[j], kinds[j])
			}
			want := ""
			switch {
			case z[j] > 100:
				want = "PANIC"
			case z[j] > 10:
				want = "ERROR"
			case z[j] > 1:
				want = "INFEASIBLE"
			}
			if kinds[j] != want || (want != "") != math.IsNaN(answers[j]) {
				t.Fatalf("z = %v: fault %q, answer %v", z[j], kinds[j], answers[j])
			}
		}
	})
}

func TestBadRequests(t *testing.T) {
	m := &memory{}
	svc := serviceOf(t, noisy, m)
	two := m.table(1, []float64{0, 0}, []float64{1, 1})
	changed := func(change func(t *pluginv1.Table)) *pluginv1.Table {
		c := proto.CloneOf(two)
		change(c)
		return c
	}
	setting := learnSetting("test/noisy", 1)
	seeds := []uint64{1, 2, 3, 4}
	tests := []struct {
		name string
		q    *pluginv1.SessionRequest
		want string
	}{
		{"empty", &pluginv1.SessionRequest{}, "empty"},
		{"no table", openRequest(setting, seeds, nil), "unknown place"},
		{"too far", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.Offset = 1 << 40 })),
			"wrong position: a table at"},
		{"too long", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.Length = math.MaxUint64 })),
			"wrong position: a table at"},
		{"cut", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.Length = two.YAt + 8 })),
			"open: sample: wrong position: 2 numbers at"},
		{"rows", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.Rows = 1 << 62 })), "do not fit"},
		{"no dimension", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.Dim = 0 })), "do not fit"},
		{"x", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.XAt = math.MaxUint64 - 7 })), "wrong " +
			"position: 2 numbers at"},
		{"no y", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.YAt = 0 })), "wrong position: 2 " +
			"numbers at 0"},
		{"odd y", openRequest(setting, seeds, changed(func(t *pluginv1.Table) { t.YAt++ })), "wrong position: 2 numbers at"},
		{"seeds", openRequest(setting, seeds[:3], two), "3 seeds"},
		{"no seeds", openRequest(setting, nil, two), "0 seeds"},
		{"n", openRequest(learnSetting("test/noisy", 2), seeds, two), "n = 2 do not fit"},
		{"negative n", openRequest(learnSetting("test/noisy", -1), seeds, two), "n = -1 do not fit"},
		{"huge n", openRequest(learnSetting("test/noisy", math.MaxInt64), seeds, two), "do not fit"},
		{"step first", stepRequest([]uint32{1}, two), "1 counts for 0 trials"},
	}
	for _, tt := range tests {
		s := newSession(context.Background(), svc)
		if _, err := s.answer(tt.q); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	s := newSession(context.Background(), svc)
	respond(t, s, openRequest(setting, seeds, two))
	for name, q := range map[string]*pluginv1.SessionRequest{
		"again":        openRequest(setting, seeds, two),
		"counts":       stepRequest([]uint32{1, 1, 0}, two),
		"points":       stepRequest([]uint32{1, 2}, two),
		"shared range": sharedRequest([]uint32{1, 2}, two, true, 1),
		"shared first": sharedRequest([]uint32{0, 0}, two, true, 1<<63),
	} {
		if _, err := s.answer(q); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// longError is an error with a long text that is not valid UTF-8 and differs for every number.
type longError int

func (e longError) Error() string {
	return fmt.Sprintf("trial %d\xff%s", int(e), strings.Repeat("x", 10_000))
}

// TestFaultTexts checks that a message stays small for all error texts, and that equal texts are
// sent once.
func TestFaultTexts(t *testing.T) {
	same := make([]fault, 3000)
	different := make([]fault, 3000)
	for j := range same {
		same[j] = fault{j, Invalid("always the same")}
		different[j] = fault{j, longError(j)}
	}
	for name, tt := range map[string]struct {
		faults []fault
		limit  int
	}{"same": {same, 256 << 10}, "different": {different, 700 << 10}, "few": {different[:10], 41_500}} {
		m := &pluginv1.Opened{Faults: packFaults(tt.faults)}
		if size := sizeOf(t, m); size > tt.limit {
			t.Errorf("%s: %d bytes", name, size)
		}
	}
	packed := packFaults([]fault{{0, Invalid("a")}, {1, Infeasible("a")}, {2, fmt.Errorf("")}, {3, Invalid("b")}})
	var got []string
	for _, f := range packed {
		got = append(got, f.Message)
	}
	if d := cmp.Diff([]string{"a", "", "an error without a text, of type *errors.errorString", "b"}, got); d != "" {
		t.Error(d)
	}
}

// TestReportByHand checks that authors can test a function that reports metrics, with a trial made
// by hand.
func TestReportByHand(t *testing.T) {
	trial := Trial[noise]{Setting: Setting[noise]{Params: noise{Scale: 3}}, Rand: rand.New(rand.NewPCG(1, 2))}
	model, err := noisy.Learn(t.Context(), &trial, NewData([]float64{0}, 1, []float64{1}))
	if c, ok := model.(constant); err != nil || !ok || !(c > 0 && c < 3) {
		t.Errorf("model %v, error %v", model, err)
	}
}

// TestPanicsShowTheAuthorsStack checks that the text of a panic contains the frames from the panic
// to the author's function, and none of the runtime's or of the SDK's.
func TestPanicsShowTheAuthorsStack(t *testing.T) {
	m := &memory{}
	panics := Algorithm[noise]{
		Name: "test/panics", Version: "1",
		Learn: func(_ context.Context, _ *Trial[noise], sample *Data) (Model, error) {
			labels := strings.Map(func(r rune) rune { return rune(sample.Y(int(r))) }, "x") // outside the sample
			return nil, errors.New(labels)
		},
	}
	s := newSession(context.Background(), serviceOf(t, panics, m))
	r := respond(t, s, openRequest(learnSetting("test/panics", 1), []uint64{1, 2}, m.table(1, []float64{0}, []float64{1})))
	faults := r.GetOpened().Faults
	if len(faults) != 1 || faults[0].Kind != pluginv1.Fault_KIND_PANIC {
		t.Fatalf("faults %v, want one panic", faults)
	}
	message := faults[0].Message
	head, stack, _ := strings.Cut(message, "\n\n")
	if !strings.HasPrefix(head, "panic: runtime error: index out of range") {
		t.Errorf("panic %q", head)
	}
	inOrder := regexp.MustCompile(`^\S+/algo\.\(\*Data\)\.Y\(\.\.\.\)\n\t\S+/algo\.go:\d+\n` +
		`\S+TestPanicsShowTheAuthorsStack\S+\n\t\S+/session_test\.go:\d+\n` +
		`strings\.Map\(\.\.\.\)\n\t\S+/strings\.go:\d+$`)
	if !inOrder.MatchString(stack) {
		t.Errorf("stack:\n%s", stack)
	}
}

func sizeOf(t *testing.T, m proto.Message) int {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}
