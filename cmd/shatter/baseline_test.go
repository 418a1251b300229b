//go:build !race

package main

import (
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// allocationFile holds how often benchmarks allocate, in the form that benchstat reads.
const allocationFile = "../../.ci/allocations.txt"

// measuredAllocations lists the benchmarks whose allocations are the same on every machine and in
// every run, by package. Those that collect garbage from pools on the way are not.
var measuredAllocations = []struct{ pkg, benchmarks, calls string }{
	{"pipeline/concept", "^BenchmarkTrial$/./^(exponential|permute-and-flip)$/^X=2.16$/^n=444$", "500x"},
	{"pipeline/concept", "^BenchmarkEnumeratedTrial$/parities/^10$|^BenchmarkThresholdsMinimize$", "500x"},
	{"pipeline/estimate", "^BenchmarkAdd$|^BenchmarkWant$|^BenchmarkLeft$|^BenchmarkGuess$", "500x"},
	{"pipeline/ledger", "^BenchmarkEncode$|^BenchmarkDecode$", "500x"},
	{"pipeline/ledger", "^BenchmarkCells$", "20x"},
	{"pipeline/plan", "^BenchmarkResolve$/^some$", "20x"},
	{"pipeline/problem", "^BenchmarkTrial$", "500x"},
	{"pipeline/trial", "^BenchmarkSeed$", "500x"},
	{"plugins/algo", "^BenchmarkTrial$/^100$", "500x"},
	{"plugins/boosting", "^BenchmarkTrial$|^BenchmarkRound$/^n=800$", "500x"},
	{"plugins/expmech", "^BenchmarkLearn$", "500x"},
	{"plugins/host", "^BenchmarkSession$/^1000$|^BenchmarkPlay$/^1000$|^BenchmarkRound$/^1$/mailbox", "500x"},
	{"worker", "^BenchmarkTrial$", "500x"},
}

// TestAllocations checks that benchmarks allocate as often as they did, within 4 % for pools that the
// collector empties at other times on a busy machine: fewer than 25 allocations have to be the same.
func TestAllocations(t *testing.T) {
	testkit.Long(t)
	var found strings.Builder
	for _, m := range measuredAllocations {
		// Enough calls for what only the first ones allocate to vanish in the mean, beside what every call allocates.
		bench := exec.Command("go", "test", "-run", "^$", "-bench", m.benchmarks, "-benchmem", "-benchtime", m.calls,
			"-cpu", "2", "-vet=off", module+m.pkg)
		out, err := bench.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", m.pkg, err, out)
		}
		fmt.Fprintf(&found, "pkg: %s%s\n", module, m.pkg)
		for _, line := range allocationLine.FindAllStringSubmatch(string(out), -1) {
			fmt.Fprintf(&found, "%s %s %s allocs/op\n", line[1], strings.TrimSuffix(m.calls, "x"), line[2])
		}
	}
	if flag.Lookup("update").Value.String() == "true" {
		testkit.GoldenAt(t, allocationFile, []byte(found.String()))
		return
	}
	before, now := allocationsOf(testkit.ReadFile(t, allocationFile)), allocationsOf(found.String())
	const remedy = "if that is meant: go test -tags long ./cmd/shatter -run TestAllocations -update"
	for name, count := range now {
		was, _ := strconv.Atoi(before[name])
		is, _ := strconv.Atoi(count)
		if before[name] == "" || max(was-is, is-was) > was/25 {
			t.Errorf("%s allocates %s times for each call, %s in %s; %s", name, count, before[name], allocationFile, remedy)
		}
	}
	for name, count := range before {
		if now[name] == "" {
			t.Errorf("%s, with %s allocations in %s, is gone; %s", name, count, allocationFile, remedy)
		}
	}
}

var allocationLine = regexp.MustCompile(`(?m)^(Benchmark\S+)\s.*?(\d+) allocs/op$`)

// allocationsOf returns the allocations for each call by package and benchmark.
func allocationsOf(text string) map[string]string {
	counts, pkg := map[string]string{}, ""
	for line := range strings.Lines(text) {
		if p, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = strings.TrimSpace(p)
		}
		if m := allocationLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			counts[m[1]+" of "+pkg] = m[2]
		}
	}
	return counts
}
