package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// open opens the ledger in a folder until the test ends.
func open(t testing.TB, dir string) (*ledger.Ledger, *ledger.Report) {
	t.Helper()
	l, r, err := ledger.Open(dir, ledgertest.Sweep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, r
}

// has reports whether a trial has an outcome.
func has(l *ledger.Ledger, cell [32]byte, n, repetition int64) bool {
	_, found := l.Find(cell, n, repetition)
	return found
}

// known lists the trials of the ledger with their outcomes.
func known(l *ledger.Ledger) map[string]ledger.Outcome {
	all := map[string]ledger.Outcome{}
	for _, origin := range l.Origins() {
		for n := range l.Counts(origin.Cell) {
			for o := range l.Outcomes(origin.Cell, n) {
				all[fmt.Sprintf("%x/%d/%d", origin.Cell[:1], n, o.Repetition)] = o
			}
		}
	}
	return all
}

func TestAdd(t *testing.T) {
	dir := testkit.MemoryDir(t)
	l, r := open(t, dir)
	if r.Frames != 0 || r.Torn != nil {
		t.Errorf("a new ledger has %+v", r)
	}
	first := ledgertest.Batch(4, 0)
	if v := ledgertest.Add(t, l, first); len(v.New) != 4 {
		t.Errorf("first: %+v", v)
	}
	if v := ledgertest.Add(t, l, first); v.Duplicate != 4 || v.New != nil {
		t.Errorf("duplicate: %+v", v)
	}
	half := ledgertest.Batch(4, 2)
	half.Worker = "other"
	if v := ledgertest.Add(t, l, half); !slices.Equal(v.New, []int{2, 3}) || len(v.Conflicts) != 2 {
		t.Errorf("half known, with other errors: %+v", v)
	}
	other := ledgertest.Batch(4, 0)
	other.N = 7
	if v := ledgertest.Add(t, l, other); len(v.New) != 4 {
		t.Errorf("other n: %+v", v)
	}
	if !has(l, first.Cell, 100, 5) || has(l, first.Cell, 100, 6) || has(l, first.Cell, 8, 0) ||
		has(l, [32]byte{9}, 100, 0) || has(l, first.Cell, 100, -1) {
		t.Error("Find is wrong")
	}
	if got := l.Counts(first.Cell); len(got) != 2 || got[7] != 4 || got[100] != 6 {
		t.Errorf("counts %v", got)
	}
	if got := l.Origins(); len(got) != 1 || got[0].Outcomes != 10 || got[0].Digest != "d" {
		t.Errorf("origins %v", got)
	}
	workers := func() (names []string) {
		for rep := range int64(7) {
			r, _ := l.Find(first.Cell, 100, rep)
			names = append(names, r.Worker)
		}
		return names
	}
	if got := workers(); !slices.Equal(got, []string{"w", "w", "w", "w", "other", "other", ""}) {
		t.Errorf("workers %q", got)
	}
	before, sent := known(l), workers()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, r = open(t, dir)
	if got := workers(); !slices.Equal(got, sent) {
		t.Errorf("workers %q after a restart, want %q", got, sent)
	}
	diff := cmp.Diff(before, known(l), cmpopts.EquateNaNs())
	conflicts, _ := l.Contradictions([32]byte{1})
	if diff != "" || len(conflicts) != 2 || r.Frames != 3 || r.Outcomes != 10 {
		t.Error(diff, r)
	}
}

func TestConflicts(t *testing.T) {
	full := func() *ledger.Batch {
		b := ledgertest.Batch(2, 0)
		b.Status[1], b.Error[1], b.Kind, b.Reason = ledger.Failed, nan, []string{"", "panic"}, []string{"", "at 0xc000"}
		b.Metrics, b.Values = []string{"loss"}, [][]float64{{1, nan}}
		return b
	}
	for _, c := range []struct {
		name   string
		change func(*ledger.Batch)
		want   int
	}{
		{"same", func(*ledger.Batch) {}, 0},
		{"reason", func(b *ledger.Batch) { b.Reason[1] = "at 0xc123" }, 0},
		{"worker", func(b *ledger.Batch) { b.Worker, b.Seconds, b.Digest = "v", 9, "e" }, 0},
		{"metric never reported", func(b *ledger.Batch) {
			b.Metrics, b.Values = []string{"a", "loss"},
				[][]float64{{nan, nan}, {1, nan}}
		}, 0},
		{"error", func(b *ledger.Batch) { b.Error[0] = 0.25 }, 1},
		{"status", func(b *ledger.Batch) { b.Status[1], b.Error[1], b.Kind = ledger.OK, 0, nil }, 1},
		{"kind", func(b *ledger.Batch) { b.Kind[1] = "crash" }, 1},
		{"metric", func(b *ledger.Batch) { b.Values[0][0] = 2 }, 1},
		{"metric's name", func(b *ledger.Batch) { b.Metrics[0] = "lost" }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := testkit.MemoryDir(t)
			l, _ := open(t, dir)
			ledgertest.Add(t, l, full())
			second := full()
			c.change(second)
			for range 2 { // redelivery reports it again but records it once
				if v := ledgertest.Add(t, l, second); len(v.Conflicts) != c.want || v.New != nil {
					t.Fatalf("%+v", v)
				}
			}
			want := known(l)
			l.Close()
			l, r := open(t, dir)
			if conflicts, _ := l.Contradictions([32]byte{1}); len(conflicts) != c.want || r.Frames != 1+c.want {
				t.Errorf("opened again: %+v", r)
			}
			if diff := cmp.Diff(want, known(l), cmpopts.EquateNaNs()); diff != "" {
				t.Error("the first must count", diff)
			}
		})
	}
}

func TestLost(t *testing.T) {
	dir := testkit.MemoryDir(t)
	l, _ := open(t, dir)
	lost := ledgertest.Batch(2, 0)
	lost.Status[1], lost.Error[1], lost.Kind, lost.Reason = ledger.Lost, nan, []string{"", "time"},
		[]string{"", "limits.trial"}
	if v := ledgertest.Add(t, l, lost); !slices.Equal(v.New, []int{0}) || !slices.Equal(v.Lost, []int{1}) {
		t.Errorf("%+v", v)
	}
	if has(l, lost.Cell, 100, 1) {
		t.Error("a lost trial is no outcome")
	}
	if v := ledgertest.Add(t, l, ledgertest.Batch(2, 0)); !slices.Equal(v.New, []int{1}) || v.Duplicate != 1 ||
		v.Conflicts != nil {
		t.Errorf("an outcome replaces a lost row: %+v", v)
	}
	if v := ledgertest.Add(t, l, lost); v.Lost != nil || v.Duplicate != 1 {
		t.Errorf("and is not replaced by one: %+v", v)
	}
	l.Close()
	l, r := open(t, dir)
	if r.Outcomes != 2 || r.Frames != 2 {
		t.Errorf("%+v", r)
	}
	rows := 0
	if err := l.Each(lost.Cell, func(b *ledger.Batch) error {
		rows += len(b.Repetition)
		if slices.Contains(b.Status, ledger.Lost) {
			t.Error("Each gives lost rows")
		}
		return nil
	}); err != nil || rows != 2 {
		t.Error(rows, err)
	}
}

func TestRefusedMessages(t *testing.T) {
	l, _ := open(t, testkit.MemoryDir(t))
	b := ledgertest.Batch(1, 0)
	b.Sweep = "other"
	for want, msg := range map[string][]byte{
		`"other"`: ledgertest.Encode(t, b), "longer": make([]byte, ledger.MaxMessage+1),
	} {
		if _, err := l.Add(b, msg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := testkit.MemoryDir(t)
	inUse := func(want bool) {
		t.Helper()
		if got, err := ledger.InUse(dir); err != nil || got != want {
			t.Errorf("in use: %v, %v, want %v", got, err, want)
		}
	}
	inUse(false)
	l, _ := open(t, dir)
	inUse(true)
	ledgertest.Add(t, l, ledgertest.Batch(1, 0))
	held := fmt.Sprintf("process %d on host", os.Getpid())
	var locked *ledger.LockedError
	if _, _, err := ledger.Open(dir, "s"); !errors.As(err, &locked) || !strings.Contains(err.Error(), held) {
		t.Errorf("got %v, want the holder", err)
	}
	l.Close()
	inUse(false)
	if _, _, err := ledger.Open(dir, "t"); err == nil || !strings.Contains(err.Error(), `belongs to sweep "s", not "t"`) {
		t.Error(err)
	}
	if _, _, err := ledger.Open(dir, "s"); err != nil {
		t.Error("the lock was kept:", err)
	}
}

// small creates a ledger of frames with one trial each, and returns the file's path, its bytes,
// and the start of each frame.
func small(t testing.TB, frames int) (path string, content []byte, starts []int) {
	t.Helper()
	dir := testkit.MemoryDir(t)
	l, _ := open(t, dir)
	for i := range frames {
		starts = append(starts, int(size(t, dir)))
		ledgertest.Add(t, l, ledgertest.Batch(1, int64(i)))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "0001.log")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content, append(starts, len(content))
}

// logs returns the paths of the ledger's files.
func logs(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := disk.Glob(dir, "*.log")
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// size returns the bytes of the ledger's only file, or 0 if it has none.
func size(t testing.TB, dir string) int64 {
	t.Helper()
	paths := logs(t, dir)
	if len(paths) == 0 {
		return 0
	}
	info, err := os.Stat(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func rewrite(t rapid.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTornTail truncates a ledger at every offset: all whole frames survive, and the rest is
// removed and reported.
func TestTornTail(t *testing.T) {
	path, content, starts := small(t, 2)
	for cut := range content {
		rewrite(t, path, content[:cut])
		whole := 0
		for whole < 2 && starts[whole+1] <= cut {
			whole++
		}
		l, r := open(t, filepath.Dir(path))
		if r.Frames != whole || len(known(l)) != whole || r.Damaged != nil {
			t.Fatalf("cut at %d: %+v", cut, r)
		}
		if torn := cut - starts[whole]; torn > 0 && (r.Torn == nil || r.Torn.Offset != int64(starts[whole]) ||
			r.Torn.Bytes != int64(torn) || r.Torn.File != path) ||
			torn == 0 && r.Torn != nil {
			t.Fatalf("cut at %d: torn %+v", cut, r.Torn)
		}
		if v := ledgertest.Add(t, l, ledgertest.Batch(1, int64(whole))); len(v.New) != 1 {
			t.Fatalf("cut at %d: %+v", cut, v)
		}
		l.Close()
		if l, r := open(t, filepath.Dir(path)); r.Torn != nil || len(known(l)) != whole+1 {
			t.Fatalf("cut at %d, written again: %+v", cut, r)
		} else {
			l.Close()
		}
	}
}

// TestDamagedFrame flips bits in every byte of the middle frame: exactly its trial is missing,
// and its position is reported.
func TestDamagedFrame(t *testing.T) {
	path, content, starts := small(t, 3)
	for at := starts[1]; at < starts[2]; at++ {
		bad := bytes.Clone(content)
		bad[at] ^= byte(1 << (at % 8))
		rewrite(t, path, bad)
		l, r := open(t, filepath.Dir(path))
		// Padding is not covered by the checksum, and not read.
		padding := at >= starts[1]+ledger.FrameHeader+len(ledgertest.Encode(t, ledgertest.Batch(1, 1)))
		if padding {
			l.Close()
			continue
		}
		want := []ledger.Damage{{path, int64(starts[1]), int64(starts[2] - starts[1]), ""}}
		if diff := cmp.Diff(want, r.Damaged, cmpopts.IgnoreFields(ledger.Damage{}, "Reason")); diff != "" || r.Torn != nil {
			t.Fatalf("byte %d: %s, torn %v", at, diff, r.Torn)
		}
		cell := ledgertest.Batch(1, 0).Cell
		if !has(l, cell, 100, 0) || has(l, cell, 100, 1) || !has(l, cell, 100, 2) {
			t.Fatalf("byte %d: knows %v", at, known(l))
		}
		if v := ledgertest.Add(t, l, ledgertest.Batch(1, 1)); len(v.New) != 1 {
			t.Fatalf("byte %d: %+v", at, v)
		}
		l.Close()
	}
}

// After any bytes are changed, removed and inserted, the remaining outcomes are sound, and the
// same when the ledger is reopened.
func TestDamagedAnyhow(t *testing.T) {
	path, content, _ := small(t, 5)
	l, _ := open(t, filepath.Dir(path))
	all := known(l)
	l.Close()
	rapid.Check(t, func(rt *rapid.T) {
		bad := bytes.Clone(content)
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			at := rapid.IntRange(0, len(bad)).Draw(rt, "at")
			gone := min(len(bad)-at, rapid.IntRange(0, 300).Draw(rt, "gone"))
			bad = slices.Replace(bad, at, at+gone, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "new")...)
		}
		rewrite(rt, path, bad)
		var first map[string]ledger.Outcome
		for i := range 2 {
			l, r, err := ledger.Open(filepath.Dir(path), "s")
			if err != nil {
				rt.Fatal(err)
			}
			got := known(l)
			l.Close()
			for trial, o := range got {
				if all[trial] != o {
					rt.Fatalf("%s became %+v", trial, o)
				}
			}
			if len(got) != r.Frames || len(got) < len(all) && r.Torn == nil && r.Damaged == nil && i == 0 &&
				len(bad) >= len(content) {
				rt.Fatalf("%d trials, %+v", len(got), r)
			}
			if i == 1 && !cmp.Equal(first, got) {
				rt.Fatal("opened again it differs")
			}
			first = got
		}
	})
}

// TestFullDisk makes the system refuse to let the file grow, in the middle of a frame.
func TestFullDisk(t *testing.T) {
	dir := testkit.MemoryDir(t)
	l, _ := open(t, dir)
	ledgertest.Add(t, l, ledgertest.Batch(100, 0))
	before := size(t, dir)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	limit := old
	limit.Cur = uint64(before) + 500
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	more := ledgertest.Batch(100, 100)
	_, err := l.Add(more, ledgertest.Encode(t, more))
	if e := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); e != nil {
		t.Fatal(e)
	}
	var full *ledger.WriteError
	if !errors.As(err, &full) || !errors.Is(err, syscall.EFBIG) ||
		!strings.Contains(err.Error(), "0001.log") || !strings.Contains(err.Error(), "raise the limit on the size of files") {
		t.Errorf("got %v", err)
	}
	if text := (&ledger.WriteError{Err: syscall.ENOSPC}).Error(); !strings.Contains(text, "make room") {
		t.Errorf("full disk: %s", text)
	}
	if info, err := os.Stat(filepath.Join(dir, "0001.log")); err != nil || info.Size() != before {
		t.Errorf("half-written: %v, %v", info.Size(), err)
	}
	if has(l, ledgertest.Batch(1, 0).Cell, 100, 100) {
		t.Error("a trial that was not written is known")
	}
	if v := ledgertest.Add(t, l, ledgertest.Batch(100, 100)); len(v.New) != 100 {
		t.Errorf("after making room: %+v", v)
	}
	l.Close()
	if _, r := open(t, dir); r.Outcomes != 200 || r.Torn != nil || r.Damaged != nil {
		t.Errorf("%+v", r)
	}
}

func TestRotation(t *testing.T) {
	dir := testkit.MemoryDir(t)
	l, _ := open(t, dir)
	l.SetFileSize(36 << 10)
	const rows = 1000 // 11 KB each: three fit into a file
	for i := range int64(4) {
		ledgertest.Add(t, l, ledgertest.Batch(rows, i*rows))
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l, r := open(t, dir)
	l.SetFileSize(36 << 10)
	if len(logs(t, dir)) != 2 || r.Outcomes != 4*rows {
		t.Fatalf("%d files, %+v", len(logs(t, dir)), r)
	}
	ledgertest.Add(t, l, ledgertest.Batch(1, 4*rows))
	if err := l.Drop(func(b *ledger.Batch) bool { return b.Repetition[0] == 0 }); err != nil {
		t.Fatal(err)
	}
	cell := ledgertest.Batch(1, 0).Cell
	if has(l, cell, 100, 0) || !has(l, cell, 100, rows) || !has(l, cell, 100, 4*rows) {
		t.Error("dropped the wrong message")
	}
	ledgertest.Add(t, l, ledgertest.Batch(1, 0))
	l.Close()
	l, r = open(t, dir)
	if r.Damaged != nil || r.Torn != nil || r.Outcomes != 3*rows+2 {
		t.Errorf("%+v", r)
	}
	var order []int64
	if err := l.Each(cell, func(b *ledger.Batch) error {
		order = append(order,
			b.Repetition[0])
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(order, []int64{rows, 2 * rows, 3 * rows, 4 * rows, 0}) {
		t.Errorf("order %v", order)
	}
}

func TestConcurrent(t *testing.T) {
	l, _ := open(t, testkit.MemoryDir(t))
	cell := ledgertest.Batch(1, 0).Cell
	done := make(chan error)
	go func() {
		var err error
		for i := 0; i < 50 && err == nil; i++ {
			b := ledgertest.Batch(10, int64(i)*10)
			_, err = l.Add(b, ledgertest.Encode(t, b))
		}
		done <- err
	}()
	go func() {
		var err error
		for i := 0; i < 50 && err == nil; i++ {
			err = l.Sync()
		}
		done <- err
	}()
	go func() {
		var err error
		for i := 0; i < 50 && err == nil; i++ {
			err = l.Each(cell, func(*ledger.Batch) error { return nil })
			for range l.Outcomes(cell, 100) {
			}
		}
		done <- err
	}()
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A ledger that is open for reading only does not change any byte, rejects additions, and returns
// the losses.
func TestRead(t *testing.T) {
	dir := testkit.MemoryDir(t)
	l, _ := open(t, dir)
	lost, found := ledgertest.Batch(2, 0), ledgertest.Batch(2, 1)
	lost.Status, lost.Error = []uint8{ledger.Lost, ledger.Lost}, []float64{nan, nan}
	lost.Kind, lost.Reason = []string{"time", "time"}, []string{"slow", "slower"}
	found.Error[1] = 10.002
	ledgertest.Add(t, l, lost)
	ledgertest.Add(t, l, found)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "0001.log")
	raw := append([]byte(testkit.ReadFile(t, path)), "torn"...)
	rewrite(t, path, raw)
	r, report, err := ledger.Read(dir, ledgertest.Sweep)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	loss := ledger.Loss{Trial: ledger.Trial{N: 100, Repetition: 0}, Kind: "time", Reason: "slow"}
	if losses := r.Losses(lost.Cell); report.Torn == nil || len(losses) != 1 || losses[0] != loss {
		t.Errorf("%+v, %+v", report, losses)
	}
	if b, err := r.Trial(lost.Cell, 100, 2); err != nil || b == nil || len(b.Error) != 1 || b.Error[0] != 10.002 {
		t.Errorf("%+v, %v", b, err)
	}
	if b, err := r.Trial(lost.Cell, 100, 0); b != nil || err != nil {
		t.Errorf("a lost trial is %+v, %v", b, err)
	}
	if _, err := r.Add(ledgertest.Batch(1, 5), ledgertest.Encode(t, ledgertest.Batch(1, 5))); err == nil {
		t.Error("added to a ledger that is read")
	}
	if err := r.Drop(func(*ledger.Batch) bool { return true }); err == nil {
		t.Error("dropped from a ledger that is read")
	}
	if after := testkit.ReadFile(t, path); after != string(raw) {
		t.Error("its file has changed")
	}
}

// Select copies rows, and shares the columns if it selects all rows in order.
func TestSelect(t *testing.T) {
	b := ledgertest.Batch(3, 5)
	b.Kind, b.Values, b.Metrics = []string{"", "", ""}, [][]float64{{1, 2, 3}}, []string{"m"}
	got := b.Select([]int{2, 0, 1})
	if !slices.Equal(got.Repetition, []int64{7, 5, 6}) || !slices.Equal(got.Values[0], []float64{3, 1, 2}) ||
		got.Reason != nil {
		t.Errorf("%+v", got)
	}
	if got := b.Select([]int{0, 1, 2}); got == b || &got.Error[0] != &b.Error[0] {
		t.Errorf("all rows: %+v", got)
	}
}

// Additions to a ledger whose folder or file was removed, moved or replaced do not count as safe,
// even if nothing new was added.
func TestGone(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"folder removed": os.RemoveAll,
		"folder moved":   func(dir string) error { return os.Rename(dir, dir+".away") },
		"file removed":   func(dir string) error { return os.Remove(filepath.Join(dir, "0001.log")) },
		"file replaced": func(dir string) error {
			path := filepath.Join(dir, "0001.log")
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		},
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		l := ledgertest.Open(t, dir)
		ledgertest.Add(t, l, ledgertest.Batch(5, 0))
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := harm(dir); err != nil {
			t.Fatal(err)
		}
		ledgertest.Add(t, l, ledgertest.Batch(5, 5))
		if err := l.Sync(); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "removed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
