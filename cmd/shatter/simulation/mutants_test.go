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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

var mutating = flag.Bool("sim.mutants", false, "build this test with mutants, and look for schedules that find them")

var tablePath = flag.String("sim.table", "", "file for the table of what is found of all mutants")

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
		"			if mutant(#) {\n				_, err := l.r.c.js.Publish(ctx, registrySubject+place(l.ID)+key, value)\n				return err\n			}\n" +
			"			_, err := l.r.c.js.PublishMsg(",
	},
	{
		"renews the lease of another leader", "pipeline/bus/leadership.go",
		"		if conflict(err) {\n			rev",
		"		if conflict(err) && l.Epoch > 0 && mutant(#) {\n			found, bad := l.r.kv.Get(ctx, place(l.ID)+leadKey)\n" +
			"			if err = bad; bad == nil {\n				revision = found.Revision()\n			}\n		} else if conflict(err) {\n			rev",
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

// table is the file that lists what the simulation finds of the mutants.
const table = "mutants.md"

const tableHead = `# Mutants that the simulation is tried on

Faults that somebody could make, and what the schedules from seed 1 on make of them. Written by

` + "```" + `
go test ./cmd/shatter/simulation -run TestMutants -timeout 2h -sim.mutants -sim.table mutants.md
` + "```" + `

"schedules" is how many it took, 0 where the fault shows in the run without faults of the world; "CPU" is their time.
"faults" is how many faults of the world that schedule has, and how many are left once it is shrunk: these alone were
run again in a new process until it failed again, at most 50 times.

| mutant | file | found by | seed | schedules | CPU | faults |
| --- | --- | --- | --- | --- | --- | --- |
`

// A finding is what came of the schedules with a mutant.
type finding struct {
	by        string // property that does not hold; "": all do
	seed      int    // of the schedule; 0: the run without faults
	cpu       string // seconds that it took to find
	all, left int    // faults of the schedule, and of the one it shrinks to
	command   []string
}

func (f finding) row(m mutant) string {
	by, rest := f.by, fmt.Sprintf("%d | %d | %s s | %d, %d", f.seed, f.seed, f.cpu, f.all, f.left)
	if f.by == "" {
		by, rest = "not found", fmt.Sprintf("- | - | more than %v | -", mostMutantCPU)
	}
	if why := harmless[m.name]; why != "" {
		by += "; breaks no promise: " + why
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", m.name, m.file, strings.ReplaceAll(by, "|", "/"), rest)
}

// Each fault that somebody could make, and that breaks a promise, is found, and its schedule shrinks to
// one that finds it too. It takes long, and prints the table. -run TestMutants/acknowledges tries those
// alone whose names have the word.
func TestMutants(t *testing.T) {
	if !*mutating {
		t.Skip("builds a test binary, and runs it often: -sim.mutants")
	}
	test := mutated(t)
	rows := make([]string, len(mutants))
	for i, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			f := find(t, test, i)
			if f.by == "" && harmless[m.name] == "" {
				t.Error("not found")
			}
			if f.command != nil && findingOf(simulated(t, test, i, f.command...)).by == "" {
				t.Errorf("what the schedule shrinks to does not fail: %v", f.command)
			}
			rows[i] = f.row(m)
			fmt.Fprint(os.Stderr, rows[i])
		})
	}
	if *tablePath == "" || t.Failed() || slices.Contains(rows, "") {
		return
	}
	if err := os.WriteFile(*tablePath, []byte(tableHead+strings.Join(rows, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The table lists the mutants that there are, in their order, and those alone are not found that break
// no promise.
func TestMutantsTable(t *testing.T) {
	got, ok := strings.CutPrefix(testkit.ReadFile(t, table), tableHead)
	if !ok {
		t.Errorf("%s does not begin with\n%s", table, tableHead)
	}
	rows := strings.Split(strings.TrimSpace(got), "\n")
	if len(rows) != len(mutants) {
		t.Fatalf("%s has %d mutants, there are %d", table, len(rows), len(mutants))
	}
	for i, m := range mutants {
		cells := strings.Split(strings.Trim(rows[i], "| "), " | ")
		if len(cells) != 7 || cells[0] != m.name || cells[1] != m.file {
			t.Errorf("%s: %q is no row of the mutant %q of %s", table, rows[i], m.name, m.file)
			continue
		}
		why := harmless[m.name]
		if found := !strings.HasPrefix(cells[2], "not found"); !found && why == "" {
			t.Errorf("%s: the mutant %q is not found", table, m.name)
		}
		if want := "; breaks no promise: " + why; (why != "") != strings.Contains(cells[2], want) {
			t.Errorf("%s: the mutant %q has %q, its reason is %q", table, m.name, cells[2], why)
		}
	}
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

// A mutant that needs more CPU time than mostMutantCPU for schedules that do not find it is not found,
// and one whose process takes longer than mostMutantTime hangs.
const (
	mostMutantCPU  = time.Minute
	mostMutantTime = 10 * time.Minute
)

// find runs schedules with a mutant until one finds it, and shrinks that one.
func find(t *testing.T, test string, number int) finding {
	t.Helper()
	return findingOf(simulated(t, test, number, "-sim.schedules", "10000", "-sim.cpu", mostMutantCPU.String()))
}

// simulated runs schedules with a mutant, and returns what is said about them; "" where nothing fails.
func simulated(t *testing.T, test string, number int, flags ...string) string {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), mostMutantTime)
	defer cancel()
	run := exec.CommandContext(within, test, append([]string{"-test.run", "^TestSimulation$"}, flags...)...)
	run.Env = append(os.Environ(), fmt.Sprint("SHATTER_MUTANT=", number))
	out, err := run.CombinedOutput()
	if err == nil {
		return ""
	}
	return string(out)
}

var (
	foundSeed = regexp.MustCompile(`seed (\d+):? (.*)`)
	foundTime = regexp.MustCompile(`found after ([\d.]+) s`)
	shrunkTo  = regexp.MustCompile(`it takes (\d+) of (\d+) faults, (\S+):`)
	worldsDir = regexp.MustCompile(`/\S*shatter-simulation-\d+/`) // it is another one each time
)

// findingOf reads what failing schedules say.
func findingOf(out string) (f finding) {
	if out == "" {
		return f
	}
	m := foundSeed.FindStringSubmatch(out)
	if m == nil {
		f.by, f.cpu = fmt.Sprintf("no schedule ends: %.200s", strings.TrimSpace(out[max(0, len(out)-200):])), "?"
		return f
	}
	f.seed, _ = strconv.Atoi(m[1])
	f.by, f.cpu = fmt.Sprintf("%.120s", worldsDir.ReplaceAllString(m[2], "")), "0"
	if m := foundTime.FindStringSubmatch(out); m != nil {
		f.cpu = m[1]
	}
	if m := shrunkTo.FindStringSubmatch(out); m != nil {
		f.left, _ = strconv.Atoi(m[1])
		f.all, _ = strconv.Atoi(m[2])
		f.command = []string{
			"-test.count", "50", "-test.failfast", // not every run of a schedule is the same, see shrink
			"-sim.schedules", "1", "-sim.seed", fmt.Sprint(f.seed), "-sim.keep", m[3],
		}
	}
	return f
}
