package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/worker"
)

const dependentSweep = `
name: dependent
task: learn
plugins: [%s]
problem: {class: halfspace, d: 3, margin: 0.05, distribution: iso, test: 200}
algorithms: [%s]
goal: {alpha: 0.1, beta: 0.1}
n: [8]
trials: 60
`

// Everything that a trial may depend on by mistake is found, with its cause, and the one algorithm
// without a mistake is not accused. The result says so afterwards, too.
func TestDependence(t *testing.T) {
	t.Parallel()
	causes := map[string]schemas.Cause{
		"rank": schemas.CausePoints, "mean": schemas.CausePoints, "first": schemas.CausePoints,
		"calls": schemas.CausePoints, "memory": schemas.CauseEarlier, "global": schemas.CauseEarlier,
		"map": schemas.CauseChance, "race": schemas.CauseChance, "time": schemas.CauseChance, "pid": schemas.CauseChance,
	}
	algorithms := []string{"dependent/none"}
	for name := range causes {
		algorithms = append(algorithms, "dependent/"+name)
	}
	tmp := t.TempDir()
	dir, plugin := filepath.Join(tmp, "out"), dependent(t)
	file := write(t, filepath.Join(tmp, "s.yaml"), fmt.Sprintf(dependentSweep, plugin, strings.Join(algorithms, ", ")))
	out, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "2")
	if code != exitIntegrity {
		t.Errorf("exit %d: %s", code, errs)
	}
	looks := folder.ReadManifest(dir).Looks
	if len(looks.Contradictions) != len(causes) {
		t.Errorf("%d of %d are found", len(looks.Contradictions), len(causes))
	}
	for _, x := range looks.Contradictions {
		name, _, _ := strings.Cut(strings.TrimPrefix(x.What, "dependent/"), " ")
		if x.Cause != causes[name] {
			t.Errorf("%s: cause %q, want %q: %+v", name, x.Cause, causes[name], x)
		}
		delete(causes, name)
		if !strings.Contains(errs, "shatter: integrity alarm: "+x.What+": a second look at trial "+x.Trial) {
			t.Errorf("trial %s is not named: %s", x.Trial, errs)
		}
	}
	if len(causes) > 0 {
		t.Errorf("not found: %v", causes)
	}
	if !strings.Contains(out, "integrity alarm: n* of dependent/") || !strings.Contains(errs, "--redo") {
		t.Errorf("the table and stderr do not tell: %s%s", out, errs)
	}
	for _, row := range table(t, dir) {
		if good := row["algorithm"] == "dependent/none"; good == (row["status"] == "failed") ||
			!good && (row["n_low"] != nil || row["n_high"] != nil || row["n_star"] != nil) {
			t.Errorf("%v", row)
		}
	}
	if again, _, code := shatter(t, "run", file, "--out", dir, "--workers", "2"); code != exitIntegrity || again != out {
		t.Errorf("again: exit %d: %s", code, again)
	}
	if text, _, code := shatter(t, "verify", dir, "--sample", "0"); code != exitIntegrity ||
		strings.Count(text, "WITHHELD: a second look") != 10 || !strings.Contains(text, "as the manifest says") {
		t.Errorf("verify: exit %d: %s", code, text)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || strings.Count(string(page), "Integrity alarm.") != 10 {
		t.Errorf("the report does not tell: %v", err)
	}
}

// A worker that runs another program than it says is found by whoever looks at its trials, and is
// named.
func TestLyingWorker(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	honest := dependent(t)
	raw, err := os.ReadFile(honest)
	if err != nil {
		t.Fatal(err)
	}
	liar := filepath.Join(tmp, "liar")
	if err := os.WriteFile(liar, raw, 0o777); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(tmp, "out")
	file := write(t, filepath.Join(tmp, "s.yaml"), fmt.Sprintf(dependentSweep, honest, "dependent/none"))
	url := startServer(t)
	stop := startLiar(t, url, honest, liar)
	if out, errs, code := shatter(t, "run", file, "--out", dir, "--server", url, "--workers", "0", "--looks", "0"); code > 1 ||
		!strings.Contains(out, "no second looks") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	stop()
	_, errs, code := shatter(t, "run", file, "--out", dir, "--server", url, "--workers", "1")
	if code != exitIntegrity || !strings.Contains(errs, `the record is wrong (worker "liar" made it)`) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// startLiar starts a worker that runs one plugin file in the name of another.
func startLiar(t *testing.T, url, honest, other string) (stop func()) {
	t.Helper()
	all, _, err := catalogOf([]string{honest, other})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := all.Digest(honest)
	if err != nil {
		t.Fatal(err)
	}
	command, err := all.Command(other)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := bus.Dial(t.Context(), url, bus.Options{Name: "liar"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- worker.Run(ctx, context.Background(), worker.Config{
			Conn: conn, Name: "liar", Plugins: map[string]host.Command{digest: command},
		})
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		conn.Close()
		all.Close()
	}
}

// The result does not depend on second looks, and honest algorithms are not accused.
func TestLooksChangeNothing(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	file := write(t, filepath.Join(tmp, "s.yaml"), verifySweep)
	var digests []string
	for _, looks := range []string{"0", "1%", "all"} {
		dir := filepath.Join(tmp, looks)
		digests = append(digests, digest(t, mustRun(t, file, dir, "--looks", looks)))
		x := folder.ReadManifest(dir)
		for _, c := range x.Looks.Cells {
			if want := map[string]int64{"0": 0, "1%": 8, "all": 120}[looks]; c.Due != want || c.Equal != want {
				t.Errorf("--looks %s: %+v", looks, c)
			}
		}
	}
	if digests[0] != digests[1] || digests[0] != digests[2] {
		t.Errorf("digests %v", digests)
	}
	for _, share := range []string{"1", "-1%", "101%", "x", ""} {
		expect(t, exitUsage, []string{"a share like 1%, all, or 0 for none is needed"}, "run", file, "--looks", share)
	}
}
