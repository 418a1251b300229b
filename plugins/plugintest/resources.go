package plugintest

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
)

// Parameters of the search for leaks in checkResources: it lets trials learn in rounds, each with
// samples of some megabytes or with as many trials as the time of a round allows, and compares the
// maximum memory of the process in the rounds after the first ones and in the last ones.
const (
	leakRounds  = 16
	leakCompare = 4       // number of rounds, after as many that are ignored
	leakSample  = 4 << 20 // bytes of samples in a round
	leakTrials  = 2000    // maximum number of trials in a round
	leakTime    = 40 * time.Millisecond
	leakSize    = 1000     // examples of a sample, if the setting has fewer
	leakAllowed = 20 << 20 // bytes, plus a quarter: Go collects no garbage below 16 MiB, see GOGC in plugins/host
	leakThreads = 8
)

// checkResources measures the time of a trial, and checks that memory, threads and open files do
// not increase from trial to trial. It does so in the first setting of each task.
func (s checks) checkResources() (string, error) {
	if s.command.Attached {
		return "", skipped("the process runs in a debugger")
	}
	task := "resources" + s.setting.Task.Name()
	if s.measured[task] {
		return "", skipped("it was measured in another setting")
	}
	if s.measured[task] = true; s.restarts > 0 {
		return "", fmt.Errorf("its process ended by itself %s", wording.CountOf(s.restarts, "time", "times"))
	}
	p, err := s.running()
	if err != nil {
		return "", err
	}
	n := max(s.setting.N, leakSize)
	start := time.Now()
	if _, err := s.playIn(p, script{trials: usual.trials, n: n, points: 1}); err != nil {
		n, start = s.setting.N, time.Now()
		if _, err := s.clean(usual); err != nil {
			return "", err
		}
	}
	if p, err = s.running(); err != nil {
		return "", err
	}
	each := time.Since(start) / time.Duration(len(usual.trials))
	bytes := int(n) * (s.problem.Dim + 1) * 8
	trials := max(1, min(leakTrials, leakSample/bytes, int(leakTime/max(1, each))))
	round := script{trials: make([]uint64, trials), n: n, points: 1}
	start = time.Now()
	early, late, err := s.hold(p, round)
	if err != nil {
		return "", err
	}
	each = time.Since(start) / time.Duration(leakRounds*trials)
	between := (leakRounds - 2*leakCompare) * trials
	if late.grew(early) { // a late garbage collection looks like a leak once, a leak repeatedly
		early, between = late, leakRounds*trials
		if _, late, err = s.hold(p, round); err != nil {
			return "", err
		}
	}
	took := wording.Duration(each.Round(time.Microsecond))
	found := fmt.Sprintf("%s per trial, %s of memory", took, wording.Bytes(late.memory))
	switch {
	case late.grew(early):
		return found, fmt.Errorf("its memory grew from %s to %s in %s (does it keep samples or models of earlier trials?)",
			wording.Bytes(early.memory), wording.Bytes(late.memory), wording.Count(between, "trial"))
	case late.threads > early.threads+leakThreads:
		return found, fmt.Errorf("its threads grew from %d to %d in %s", early.threads, late.threads,
			wording.Count(between, "trial"))
	case late.files > early.files+leakThreads:
		return found, fmt.Errorf("its open files grew from %d to %d in %s", early.files, late.files,
			wording.Count(between, "trial"))
	}
	return found, nil
}

// A use is the resource use of a process: the maximum number of bytes of memory, and the numbers of
// threads and open files, zero if the system does not report them.
type use struct {
	memory         int64
	threads, files int
}

// grew reports whether the memory of the process grew by more than garbage explains.
func (u use) grew(early use) bool { return u.memory > early.memory+early.memory/4+leakAllowed }

// hold plays leakRounds rounds and returns the use after the first ones and in the last ones.
func (s checks) hold(p *host.Process, round script) (early, late use, err error) {
	var held [leakRounds]int64
	for i := range held {
		if _, err := s.playIn(p, round); err != nil {
			return early, late, err
		}
		if i == leakCompare-1 {
			early.threads, early.files = opened(p)
		}
		held[i], _ = p.Memory()
	}
	late.threads, late.files = opened(p)
	early.memory = slices.Max(held[leakCompare : 2*leakCompare])
	late.memory = slices.Max(held[leakRounds-leakCompare:])
	return early, late, nil
}

// opened counts the threads and open files of a process.
func opened(p *host.Process) (threads, files int) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Pid()))
	if err != nil {
		return 0, 0
	}
	if threads, ok := sandbox.StatusNumber(p.Pid(), "Threads"); ok {
		return threads, len(list)
	}
	return 0, 0
}
