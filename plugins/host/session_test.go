package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

func TestSession(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	const trials, n, dim = 1000, 5, 3
	for range 3 { // several sessions on one process, all the same
		s, faults, err := p.Open(t.Context(), request("test/behaving", trials, n, dim, nil), numbered(trials))
		if err != nil || len(faults) > 0 {
			t.Fatal(faults, err)
		}
		counts := make([]uint32, trials)
		var want []float64
		for j := range counts {
			counts[j] = uint32(j % 3)
			for range counts[j] {
				want = append(want, (float64(len(want))+1-2*float64(j%2))/1e6)
			}
		}
		points := 0
		answers, faults, err := s.Step(t.Context(), counts, func(x []float64) {
			for i := 0; i < len(x); i += dim {
				x[i] = float64(points)
				points++
			}
		})
		if err != nil || len(faults) > 0 {
			t.Fatal(faults, err)
		}
		if d := cmp.Diff(want, answers); d != "" {
			t.Fatal(d)
		}
		metrics, faults, err := s.Close(t.Context(), nil)
		if err != nil || len(faults) > 0 {
			t.Fatal(faults, err)
		}
		if len(metrics) != 2 || metrics["first"][17] != 17 || !math.IsNaN(metrics["noise"][3]) ||
			math.IsNaN(metrics["noise"][4]) {
			t.Fatal(metrics["first"][:20], metrics["noise"][:5])
		}
		if s.messages > 10 {
			t.Errorf("%d messages", s.messages)
		}
	}
}

// The pieces of a step make up the step, in order. Each is within the limit and holds whole
// trials or a part of one.
func TestCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Uint32Range(0, 30), 1, 20).Draw(t, "counts")
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		given := make([]uint32, len(counts))
		last := 0
		for c := newPiece(counts, limit); c.next(); {
			rows, trials := 0, 0
			for j, n := range c.counts {
				if n == 0 {
					continue
				}
				if j < last || j < c.from || j >= c.to {
					t.Fatalf("trial %d after %d, outside %d..%d", j, last, c.from, c.to)
				}
				if n != counts[j] && (c.trials != 1 || c.offset != int(given[j])) {
					t.Fatalf("a part of trial %d with others: %v, offset %d", j, c.counts, c.offset)
				}
				if n == counts[j] && c.offset != 0 {
					t.Fatalf("a whole trial at offset %d", c.offset)
				}
				given[j] += n
				rows += int(n)
				trials++
				last = j
			}
			if rows != c.rows || trials != c.trials || rows > limit || rows == 0 {
				t.Fatalf("%d rows of %d trials, said to be %d of %d, limit %d", rows, trials, c.rows, c.trials, limit)
			}
		}
		if d := cmp.Diff(counts, given); d != "" {
			t.Fatal(d)
		}
	})
}

// points numbers the points of a step.
func points(dim int) func(x []float64) {
	next := 0
	return func(x []float64) {
		for i := 0; i < len(x); i += dim {
			x[i] = float64(next)
			next++
		}
	}
}

// A step that does not fit one message gives the same answers in several.
func TestLargeStep(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	p := start(t, self("plugin"))
	const trials, dim = 5, 40 // 16 MiB hold 52,428 points
	s, _, err := p.Open(t.Context(), request("test/behaving", trials, 1, dim, nil), numbered(trials))
	if err != nil {
		t.Fatal(err)
	}
	counts := []uint32{60_000, 0, 20_000, 30_000, 2_000}
	before := s.messages
	answers, faults, err := s.Step(t.Context(), counts, points(dim))
	if err != nil || len(faults) > 0 || len(answers) != 112_000 {
		t.Fatal(len(answers), faults, err)
	}
	if n := s.messages - before; n < 6 || n > 9 { // three pieces, and progress where the machine is slow
		t.Errorf("%d messages", n)
	}
	at := 0
	for j, count := range counts {
		for range count {
			if want := (float64(at) + 1 - 2*float64(j%2)) / 1e6; answers[at] != want {
				t.Fatalf("answer %d of trial %d is %v, want %v", at, j, answers[at], want)
			}
			at++
		}
	}
	if answers, _, err := s.Step(t.Context(), make([]uint32, trials), nil); err != nil || len(answers) > 0 {
		t.Error(answers, err)
	}
}

// All trials answer the same rows of a dataset that the process was started with.
func TestStepShared(t *testing.T) {
	t.Parallel()
	const rows, dim = 70_000, 2
	table, err := dataset.NewTable("test", rows, dim)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	points(dim)(table.Points())
	c := self("plugin")
	c.Dataset = table
	p := start(t, c)
	s, _, err := p.Open(t.Context(), request("test/behaving", 2, 1, dim, nil), numbered(2))
	if err != nil {
		t.Fatal(err)
	}
	answers, faults, err := s.StepShared(t.Context(), []uint32{rows - 3, 10}, 3)
	if err != nil || len(faults) > 0 || len(answers) != rows-3+10 {
		t.Fatal(len(answers), faults, err)
	}
	for i, a := range answers {
		want := (float64(i) + 3 + 1) / 1e6
		if i >= rows-3 {
			want = (float64(i-(rows-3)) + 3 - 1) / 1e6
		}
		if a != want {
			t.Fatalf("answer %d is %v, want %v", i, a, want)
		}
	}
	for _, first := range []uint64{4, 1 << 63} {
		if _, _, err := s.StepShared(t.Context(), []uint32{rows - 3, 10}, first); err == nil {
			t.Errorf("rows from %d on: no error", first)
		}
	}
	if _, _, err := s.Close(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// An invalid request is refused before the plugin sees it, and does no harm.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	c := self("plugin")
	c.SessionMemory = 1 << 20
	p := start(t, c)
	open := func(r OpenRequest) error {
		s, _, err := p.Open(t.Context(), r, func(x, y []float64) { t.Error("filled") })
		if err == nil {
			_, _, _ = s.Close(t.Context(), nil)
		}
		return err
	}
	none := request("test/quiet", 1, 1, 1, nil)
	none.Seeds = nil
	odd := request("test/quiet", 1, 1, 1, nil)
	odd.Seeds = odd.Seeds[:1]
	for name, r := range map[string]OpenRequest{
		"no trials": none, "odd seeds": odd, "empty": {},
		"no sample":    request("test/quiet", 1, 0, 1, nil),
		"no dimension": request("test/quiet", 1, 1, 0, nil),
		"many trials":  request("test/quiet", MaxTrials+1, 1, 1, nil),
		"large sample": request("test/quiet", 5000, 1000, 1, nil),
		"huge":         request("test/quiet", 1, math.MaxInt64, 1000, nil),
	} {
		if err := open(r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var size *SizeError
	if err := open(request("test/quiet", 1, 1_000_000, 1, nil)); !errors.As(err, &size) || size.Have != 1<<20 ||
		size.Need <= 16_000_000 {
		t.Error(err)
	}
	first, _, err := p.Open(t.Context(), request("test/quiet", 1, 1, 1, nil), numbered(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := open(request("test/quiet", 1, 1, 1, nil)); err == nil {
		t.Error("two sessions at once")
	}
	if _, _, err := first.Step(t.Context(), []uint32{1, 1}, points(1)); err == nil {
		t.Error("two counts for one trial")
	}
	if _, _, err := first.StepShared(t.Context(), []uint32{1}, 0); err == nil {
		t.Error("a dataset that is not there")
	}
	if _, _, err := first.Close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.Close(t.Context(), nil); err == nil {
		t.Error("closed twice")
	}
	if _, _, err := first.Step(t.Context(), []uint32{1}, points(1)); err == nil {
		t.Error("a step after the end")
	}
	c.SessionMemory = size.Need
	large := start(t, c)
	if _, _, err := large.Open(t.Context(), request("test/quiet", 1, 1_000_000, 1, nil), numbered(1)); err != nil {
		t.Error(err)
	}
}

func TestTail(t *testing.T) {
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	stack := strings.Repeat("goroutine stack line\n", 500)
	tests := []struct{ name, in, start, end string }{
		{"nothing", "", "", ""},
		{"no newline", "oops", "oops", "oops"},
		{"lines", lines.String(), "line 36\n", "\nline 99"},
		{
			"crash", "hello\npanic: boom\n\n" + stack, "panic: boom\n\ngoroutine",
			"[...]\n" + strings.TrimRight(strings.Repeat("goroutine stack line\n", 64), "\n"),
		},
		{"last crash", "panic: first\npanic: second\n" + stack, "panic: second\n", "line"},
		{"short crash", "hello\npanic: boom\n", "hello\npanic: boom", "boom"},
		{"long line", strings.Repeat("x", 1<<20) + "\n", strings.Repeat("x", 1024) + "...", "..."},
		{"no text", "a\xffb\n", "a?b", "b"},
	}
	for _, tt := range tests {
		var whole, bytewise tail
		whole.read(strings.NewReader(tt.in))
		bytewise.read(iotest.OneByteReader(strings.NewReader(tt.in)))
		got := whole.String()
		if !strings.HasPrefix(got, tt.start) || !strings.HasSuffix(got, tt.end) || got != bytewise.String() {
			t.Errorf("%s: %.200q, bytewise %.200q", tt.name, got, bytewise.String())
		}
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
	third := filepath.Join(t.TempDir(), "third")
	script := "#!/bin/sh\nexec env " + roleVariable + "=raw " + testBinary() + "\n"
	if err := os.WriteFile(third, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	c := NewCatalog(readingItself(), third)
	defer c.Close()
	all, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range all {
		got = append(got, d.Plugin+" "+d.GetName())
	}
	names := []string{" test/behaving", " test/quiet", " test/queried", " test/remembering", third + " test/raw"}
	if d := cmp.Diff(names, got); d != "" {
		t.Error(d)
	}
	setting := request("test/behaving", 1, 1, 1, nil).Setting
	for range 2 { // the second time in a new process
		r, err := c.Ask(t.Context(), "", []*pluginv1.Setting{setting})
		if err != nil || len(r) != 1 || r[0].GetCheck().GetRefusal() != nil {
			t.Fatal(r, err)
		}
		p := c.entries[""].process
		if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
	}
	if _, err := c.Ask(t.Context(), "/nowhere", []*pluginv1.Setting{setting}); err == nil {
		t.Error("a plugin that is not there")
	}
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(script)))
	if _, err := c.Command("/nowhere"); err == nil {
		t.Error("the command of a plugin that is not there")
	}
	if got, err := c.File(third); err != nil || got.Digest != want {
		t.Errorf("%+v, %v, want digest %s", got, err, want)
	}
	if command, err := c.Command(third); err != nil || command.Path != third || command.Env != nil {
		t.Error(command, err)
	}
	c.Close()
	if _, err := c.List(t.Context()); err == nil {
		t.Error("a closed catalog starts a process")
	}
}
