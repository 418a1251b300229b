package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/algo"
)

// A recording holds the outcomes of the first repetitions of sweeps: of each algorithm the lines that
// tell its trials and all of their bits.
type recording map[string][]string

// recordedTrials is the number of repetitions of each cell and sample size that a recording holds.
const recordedTrials = 6

// add adds the outcomes of an output folder.
func (r recording) add(t *testing.T, dir string) {
	t.Helper()
	record, err := folder.ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := load(t.Context(), nil, []string{record.File})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	f, err := record.Open(s.Plan)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range s.Cells {
		err := f.Ledger.Each(c.Key, func(b *ledger.Batch) error {
			for row, rep := range b.Repetition {
				if rep >= recordedTrials {
					continue
				}
				line := fmt.Sprintf("%s %d %s %x",
					c.TrialID(b.N, rep), b.Status[row], b.KindOf(row), math.Float64bits(b.Error[row]))
				for m, name := range b.Metrics {
					line += fmt.Sprintf(" %s %x", name, math.Float64bits(b.Values[m][row]))
				}
				r[c.Algorithm] = append(r[c.Algorithm], line)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// check compares the recording of the built-in algorithms with the one in testdata. Their identities
// are made of their versions, so an algorithm whose outcomes have changed needs another version.
func (r recording) check(t *testing.T, sweeps map[string]string) {
	t.Helper()
	const file = "outcomes.txt"
	inputs := sha256.New()
	for _, task := range slices.Sorted(maps.Keys(sweeps)) {
		fmt.Fprintln(inputs, task, sweeps[task])
	}
	profile, _, _ := strings.Cut(trial.FloatProfile(), "-go")
	text := fmt.Sprintf("profile %s, formats of keys %d and of states %d, sweeps %.6x\n",
		profile, trial.Format, trial.ProbeFormat, inputs.Sum(nil))
	for _, p := range builtins() {
		a, err := algo.Describe(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(r[a.Name]) == 0 {
			t.Errorf("no trial of %s was run", a.Name)
		}
		slices.Sort(r[a.Name])
		text += fmt.Sprintf("%s %s %.12x\n", a.Name, a.Version, sha256.Sum256([]byte(strings.Join(r[a.Name], "\n"))))
	}
	was, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(was), "profile "+profile+",") {
		t.Logf("the recording is of another float profile than %s", profile)
		return
	}
	for _, x := range unversioned(string(was), text) {
		t.Errorf("the outcomes of %s have changed: raise its Version, which identifies it; if those of all have "+
			"changed, because data or scores have, raise trial.Format", x)
	}
	if !t.Failed() {
		testkit.Golden(t, file, []byte(text))
	}
}

// unversioned lists the algorithms of two recordings of the same sweeps whose outcomes differ although
// their versions do not.
func unversioned(was, is string) (list []string) {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	if before[0] != after[0] {
		return nil
	}
	outcomes := map[string]string{}
	for _, line := range before[1:] {
		if i := strings.LastIndex(line, " "); i > 0 {
			outcomes[line[:i]] = line[i:]
		}
	}
	for _, line := range after[1:] {
		i := max(0, strings.LastIndex(line, " "))
		if old, ok := outcomes[line[:i]]; ok && old != line[i:] {
			list = append(list, line[:i])
		}
	}
	return list
}
