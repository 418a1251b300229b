package simulation

import (
	"bytes"
	"context"
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

var mutating = flag.Bool("sim.mutants", false, "build this test with mutants, and look for schedules that find them")

// A mutant is a fault that somebody could make: made stands in place of old in a file, and makes the
// fault where mutant(number) is true.
type mutant struct{ name, file, old, made string }

var mutants = []mutant{
	{
		"acknowledges before the sync", "coordinator/intake.go",
		"	err := in.ledger.Sync()\n",
		"	for _, m := range in.unsynced {\n		if mutant(#) {\n			_ = m.Ack()\n		}\n	}\n	err := in.ledger.Sync()\n",
	},
	{
		"acknowledges what it does not keep", "coordinator/intake.go",
		"	in.tally.spending.add(c, b)\n",
		"	if mutant(#) && b.N > 20 {\n		return m.Ack()\n	}\n	in.tally.spending.add(c, b)\n",
	},
	{
		"does not sync the ledger", "pipeline/ledger/ledger.go",
		"	if err = f.Sync(); err != nil {", "	if mutant(#) {\n		return nil\n	}\n	if err = f.Sync(); err != nil {",
	},
	{
		"does not sync the folder of a new log", "pipeline/ledger/append.go",
		"	if err := disk.SyncDir(l.dir); err != nil {",
		"	if mutant(#) {\n		l.files = append(l.files, &logFile{f: f})\n		return nil\n	}\n" +
			"	if err := disk.SyncDir(l.dir); err != nil {",
	},
	{
		"renames a file before it is synced", "pipeline/disk/disk.go",
		"	if err == nil {\n		err = f.Sync()\n", "	if err == nil && !mutant(#) {\n		err = f.Sync()\n",
	},
	{
		"does not check the sums of frames", "pipeline/ledger/frame.go",
		"return msg, crc32", "return msg, mutant(#) || crc32",
	},
	{
		"keeps what it knows already", "pipeline/ledger/ledger.go",
		"		return v, nil // a dup", "		if !mutant(#) {\n			return v, nil\n		} // a dup",
	},
	{
		"counts what it knows already", "coordinator/intake.go",
		"	for _, i := range v.New {\n		rep",
		"	if mutant(#) {\n		v.New = nil\n		for i := range b.Repetition {\n			v.New = append(v.New, i)\n		}\n	}\n" +
			"	for _, i := range v.New {\n		rep",
	},
	{
		"leaves out the last frame in a replay", "pipeline/ledger/open.go",
		"		case f.Damage == \"\":", "		case mutant(#) && f.End == len(b) && r.Frames > 0:\n		case f.Damage == \"\":",
	},
	{
		"goes on behind a torn tail", "pipeline/ledger/open.go",
		"	f.size = size\n	return", "	if mutant(#) {\n		return nil\n	}\n	f.size = size\n	return",
	},
	{
		"stores in the registry whoever leads", "pipeline/bus/leadership.go",
		"			_, err := l.r.c.js.PublishMsg(",
		"			if mutant(#) {\n				_, err := l.r.c.js.Publish(ctx, registrySubject+l.ID+key, value)\n				return err\n			}\n" +
			"			_, err := l.r.c.js.PublishMsg(",
	},
	{
		"deposes a leader of a greater epoch", "pipeline/bus/queue.go",
		"		case epoch > q.lead.Epoch:", "		case epoch > q.lead.Epoch && !mutant(#):",
	},
	{
		"purges the results of other epochs", "pipeline/bus/queue.go",
		"	return errors.Join(gone, stream.Purge(",
		"	if mutant(#) {\n		return stream.Purge(ctx, jetstream.WithPurgeSubject(resultSubject+q.lead.Sweep+\".>\"))\n	}\n" +
			"	return errors.Join(gone, stream.Purge(",
	},
	{
		"does not send a lost job again", "coordinator/crew.go",
		"		case now.Sub(e.sent) > w.healing:", "		case mutant(#):\n		case now.Sub(e.sent) > w.healing:",
	},
	{
		"forgets a job that is handed back", "coordinator/crew.go",
		"	w.back(e, fmt.Sprintf(\"worker %s handed", "	if mutant(#) {\n		w.end(e)\n		return\n	}\n" +
			"	w.back(e, fmt.Sprintf(\"worker %s handed",
	},
	{
		"ends before the result is shipped", "coordinator/lead/term.go",
		"	return s, errors.Join(err, t.shipLast", "	if mutant(#) {\n		return s, err\n	}\n	return s, errors.Join(err, t.shipLast",
	},
	{
		"never follows a smaller epoch", "worker/shelf.go",
		"	if over && !a.busy()", "	if !mutant(#) && over && !a.busy()",
	},
	{
		"leaves a lost answer unanswered for a lease", "pipeline/bus/leadership.go",
		"	return context.WithTimeoutCause(ctx, l.lead.Duration/4,", "	if mutant(#) {\n		return context.WithCancel(ctx)\n	}\n" +
			"	return context.WithTimeoutCause(ctx, l.lead.Duration/4,",
	},
	{
		"takes any answer for a stored result", "pipeline/bus/conn.go",
		"		if err != nil {\n			return err\n		}\n		return refusal(answer)",
		"		if mutant(#) {\n			return nil\n		}\n		if err != nil {\n			return err\n		}\n		return refusal(answer)",
	},
}

// harmless are the mutants that break no promise: the others heal what they do.
var harmless = map[string]string{
	"leaves a lost answer unanswered for a lease": "another leader goes on",
	"takes any answer for a stored result":        "a result that is lost is run again",
}

// Each fault that somebody could make, and that breaks a promise, is found. It prints how many
// schedules that took. -run TestMutants/acknowledges tries those alone whose names have the word.
func TestMutants(t *testing.T) {
	if !*mutating {
		t.Skip("builds a test binary, and runs it often: -sim.mutants")
	}
	test := mutated(t)
	var table strings.Builder
	for i, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			took, found := find(t, test, i)
			line := fmt.Sprintf("%-46s %5.1f s  %s", m.name, took.Seconds(), found)
			if why := harmless[m.name]; why != "" {
				line += " (harmless: " + why + ")"
			} else if !strings.HasPrefix(found, "found") {
				t.Errorf("mutant: %s", line)
			}
			fmt.Fprintln(&table, line)
			fmt.Fprintln(os.Stderr, line) // it takes long
		})
	}
	t.Logf("mutants:\n%s", table.String())
}

// mutated builds this test with all mutants in it, of which the environment chooses one.
func mutated(t *testing.T) (test string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sources, replace := map[string][]byte{}, map[string]string{}
	for i, m := range mutants {
		if sources[m.file] == nil {
			if sources[m.file], err = os.ReadFile(filepath.Join(root, m.file)); err != nil {
				t.Fatal(err)
			}
		}
		if n := bytes.Count(sources[m.file], []byte(m.old)); n != 1 {
			t.Fatalf("%s has %d times, not once: %s", m.file, n, m.old)
		}
		made := strings.ReplaceAll(m.made, "#", fmt.Sprint(i))
		sources[m.file] = bytes.Replace(sources[m.file], []byte(m.old), []byte(made), 1)
		switches := filepath.Join(filepath.Dir(m.file), "mutant.go")
		sources[switches] = fmt.Appendf(nil, "package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\n"+
			"func mutant(n int) bool { return os.Getenv(%q) == strconv.Itoa(n) }\n",
			filepath.Base(filepath.Dir(m.file)), "SHATTER_MUTANT")
	}
	for file, source := range sources {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		replace[filepath.Join(root, file)] = path
		if err := os.WriteFile(path, source, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, test := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "test")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-c", "-o", test, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return test
}

var foundSeed = regexp.MustCompile(`seed (\d+)[:h ]+(.*)`)

// A mutant that needs more CPU time than mostMutantCPU for schedules that do not find it is not found,
// and one whose process takes longer than mostMutantTime hangs.
const (
	mostMutantCPU  = time.Minute
	mostMutantTime = 10 * time.Minute
)

// find runs schedules with a mutant until one finds it, and says what came of it.
func find(t *testing.T, test string, number int) (took time.Duration, text string) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), mostMutantTime)
	defer cancel()
	run := exec.CommandContext(within, test, "-test.run", "^TestSimulation$",
		"-sim.schedules", "10000", "-sim.shrink=false", "-sim.cpu", mostMutantCPU.String())
	run.Env = append(os.Environ(), fmt.Sprint("SHATTER_MUTANT=", number))
	out, err := run.CombinedOutput()
	took = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	found := foundSeed.FindSubmatch(out)
	_, calm, withoutFaults := bytes.Cut(out, []byte("without faults: {"))
	switch {
	case err == nil:
		return took, "not found"
	case within.Err() != nil:
		return took, fmt.Sprintf("found: a schedule has not ended after %v", mostMutantTime)
	case withoutFaults:
		_, wrong, _ := bytes.Cut(calm, []byte("wrong:["))
		return took, fmt.Sprintf("found without faults: %.70s", wrong)
	case found != nil:
		return took, fmt.Sprintf("found by schedule %s: %.70s", found[1], found[2])
	}
	return took, fmt.Sprintf("no result: %v: %.200s", err, bytes.TrimSpace(out[max(0, len(out)-200):]))
}
