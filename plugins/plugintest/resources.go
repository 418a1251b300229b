package plugintest

import (
	"fmt"
	"os"
	"time"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
)

// How checkResources looks for a leak: it lets trials learn in rounds, in each of them samples of some
// megabytes or as many trials as the time of a round allows, and compares how much memory the process
// holds at most in the rounds after the first ones and in the last ones.
const (
	leakRounds  = 16
	leakCompare = 4       // rounds, after as many that are not looked at
	leakSample  = 4 << 20 // bytes of samples in a round
	leakTrials  = 2000    // in a round, at most
	leakTime    = 40 * time.Millisecond
	leakSize    = 1000     // examples of a sample, if the setting has fewer
	leakAllowed = 20 << 20 // bytes, beside a fourth: Go collects no garbage below 16 MiB, see GOGC in plugins/host
	leakThreads = 8
)

// checkResources measures the time of a trial, and checks that memory, threads and open files do not grow
// from trial to trial. It does so in the first setting of each task.
func (s checks) checkResources() (string, error) {
	if s.command.Attached {
		return "", skipped("the process is that of a debugger")
	}
	if s.measured[s.setting.Task] {
		return "", skipped("it was done in another setting")
	}
	if s.measured[s.setting.Task] = true; s.restarts > 0 {
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
	var held [leakRounds]int64
	before, known := processOf(p)
	start = time.Now()
	for i := range held {
		if _, err := s.playIn(p, script{trials: make([]uint64, trials), n: n, points: 1}); err != nil {
			return "", err
		}
		if i == leakCompare-1 {
			before, known = processOf(p)
		}
		held[i], _ = p.Memory()
	}
	each = time.Since(start) / time.Duration(leakRounds*trials)
	after, _ := processOf(p)
	first, last := highest(held[leakCompare:2*leakCompare]), highest(held[leakRounds-leakCompare:])
	found := fmt.Sprintf("%s a trial, %s of memory", wording.Duration(each.Round(time.Microsecond)), wording.Bytes(last))
	between := (leakRounds - 2*leakCompare) * trials
	switch {
	case last > first+first/4+leakAllowed:
		return found, fmt.Errorf("its memory grew from %s to %s in %s (does it keep samples or models of earlier trials?)",
			wording.Bytes(first), wording.Bytes(last), wording.Count(between, "trial"))
	case known && after.threads > before.threads+leakThreads:
		return found, fmt.Errorf("its threads grew from %d to %d in %s", before.threads, after.threads,
			wording.Count(between, "trial"))
	case known && after.files > before.files+leakThreads:
		return found, fmt.Errorf("its open files grew from %d to %d in %s", before.files, after.files,
			wording.Count(between, "trial"))
	}
	return found, nil
}

// counts of a process.
type counts struct{ threads, files int }

// processOf counts what a process has. ok is false where the system does not tell.
func processOf(p *host.Process) (c counts, ok bool) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Pid()))
	if err != nil {
		return c, false
	}
	c.files = len(files)
	c.threads, ok = sandbox.StatusNumber(p.Pid(), "Threads")
	return c, ok
}

func highest(held []int64) int64 {
	most := int64(0)
	for _, n := range held {
		most = max(most, n)
	}
	return most
}
