package simulation

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var mutating = flag.Bool("sim.mutants", false, "build this test with each of the mutants, and look for the schedule that finds it")

// mutants are faults that somebody could make.
var mutants = []struct{ name, file, old, made string }{
	{
		"acknowledges before the sync", "coordinator/intake.go",
		"	err := in.ledger.Sync()\n",
		"	for _, m := range in.unsynced {\n		_ = m.Ack()\n	}\n	err := in.ledger.Sync()\n",
	},
	{"does not sync the ledger", "pipeline/ledger/ledger.go", "if err = f.Sync(); err != nil {", "if _ = f; err != nil {"},
	{
		"does not sync the folder of a new log", "pipeline/ledger/append.go",
		"if err := disk.SyncDir(l.dir); err != nil {", "if err := error(nil); err != nil {",
	},
	{"renames a file before it is synced", "pipeline/disk/disk.go", "		err = f.Sync()\n", ""},
	{
		"does not check the sums of frames", "pipeline/ledger/frame.go",
		"return msg, crc32.Checksum(msg, castagnoli) == h.crc", "return msg, true",
	},
	{
		"keeps what it knows already", "pipeline/ledger/ledger.go",
		"		return v, nil // a duplicate, or evidence that is recorded already\n", "",
	},
	{
		"counts what it knows already", "coordinator/intake.go",
		"	for _, i := range v.New {\n		rep", "	for i := range b.Repetition {\n		rep",
	},
	{
		"leaves out the last frame in a replay", "pipeline/ledger/open.go",
		`		case f.Damage == "":`, `		case f.Damage == "" && f.End == len(b) && r.Frames > 0:
		case f.Damage == "":`,
	},
	{
		"does not count a torn tail out of a log's size", "pipeline/ledger/open.go",
		"	f.size = size\n", "",
	},
	{
		"stores in the registry whoever leads", "pipeline/bus/leadership.go",
		"				jetstream.WithExpectLastSequenceForSubject(l.revision, prefix+l.ID+leadKey))", "				)",
	},
	{
		"deposes a leader of a greater epoch", "pipeline/bus/queue.go",
		"			return &DeposedError{q.lead, epoch}\n", "			old = append(old, name)\n",
	},
	{
		"purges the results of other epochs", "pipeline/bus/queue.go",
		"jetstream.WithPurgeSubject(resultSubject+q.lead.String()+\".>\")",
		"jetstream.WithPurgeSubject(resultSubject+q.lead.Sweep+\".>\")",
	},
	{"does not send a lost job again", "coordinator/crew.go", "			e.unseen++\n", ""},
	{"does not send again what is handed back", "coordinator/crew.go", "its missing trials are sent again\", e.id, why))\n		w.wait(e.cargo)", "its missing trials are sent again\", e.id, why))"},
	{"ends before the result is shipped", "coordinator/lead/term.go", "errors.Join(err, t.shipLast(ship, l))", "err"},
	{"never follows a smaller epoch", "worker/shelf.go", "const forgotten = 30 * time.Second", "const forgotten = 1 << 62"},
	{"loses outcomes where it takes over", "coordinator/lead/ship.go", "			if _, err := l.Add(f.Message); err != nil {", "			if err := error(nil); err != nil {"},
	{"waits for no answer when it publishes", "pipeline/bus/conn.go", "		answer, err := c.nc.RequestWithContext(ctx, subject, data)\n", "		answer, err := &nats.Msg{Data: []byte(`{\"stream\":`)}, c.nc.Publish(subject, data)\n"},
}

// Each fault that somebody could make is found. It prints how many schedules that took.
func TestMutants(t *testing.T) {
	if !*mutating {
		t.Skip("builds this test many times: -sim.mutants")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, m := range mutants {
		took, text := find(t, root, m.file, m.old, m.made)
		fmt.Fprintf(&table, "%-48s %s in %.1f s\n", m.name, text, took.Seconds())
		t.Logf("%-48s %s in %.1f s", m.name, text, took.Seconds())
		if !strings.HasPrefix(text, "found") {
			t.Errorf("%s: %s", m.name, text)
		}
	}
	t.Logf("mutants:\n%s", table.String())
}

var foundSeed = regexp.MustCompile(`seed (\d+)[:h ]+(.*)`)

// find builds this test with a mutant in place, runs it and returns how many schedules it took.
func find(t *testing.T, root, file, old, made string) (took time.Duration, text string) {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(source, []byte(old)) != 1 {
		t.Fatalf("%s has not once: %s", file, old)
	}
	mutant, overlay, test := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "test")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, file): mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{
		mutant: bytes.Replace(source, []byte(old), []byte(made), 1), overlay: list,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-c", "-o", test, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.Command(test, "-test.run", "^TestSimulation$", "-sim.schedules", "1000", "-sim.shrink=false")
	out, err := run.CombinedOutput()
	took = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	found := foundSeed.FindSubmatch(out)
	switch {
	case err == nil:
		return took, "NOT FOUND"
	case found != nil:
		return took, fmt.Sprintf("found by schedule %4s: %.70s", found[1], found[2])
	}
	return took, fmt.Sprintf("found without faults: %.60s", firstWrong(out))
}

// firstWrong returns the line that says what went wrong.
func firstWrong(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "wrong") || strings.HasPrefix(line, "panic") {
			return strings.TrimSpace(line)
		}
	}
	return string(out)
}
