package worker

import (
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/cputime"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/plugins/host"
)

// meter measures where the time of a slot goes.
type meter struct {
	open        cputime.Watch // of problems
	draw, score cputime.Watch
	start       time.Duration // CPU time of processes until they were ready
	plugin      time.Duration // CPU time of processes that were stopped since the last report
	idle        time.Duration // wait for the present job
	freed       time.Time     // when the job before came to its end; zero: there was none
}

// begin begins the account of a job.
func (m *meter) begin() {
	if !m.freed.IsZero() {
		m.idle += time.Since(m.freed)
	}
}

// free says that the slot now waits for a job.
func (m *meter) free() { m.freed = time.Now() }

// weightOf returns for how many rounds a round stands that is measured: 0 for those that are not.
// One round of a single game is hardly longer than a reading of the clock.
func weightOf(round, rounds int) int {
	const every = 16
	if round%every != 0 {
		return 0
	}
	return min(every, rounds-round)
}

// process is one of the slot's plugin processes.
type process struct {
	key  processKey
	host *host.Process
	told time.Duration // CPU time that was accounted for
}

// took returns the CPU time of the process that was not accounted for.
func (p *process) took() time.Duration {
	now := p.host.CPUTime()
	took := max(0, now-p.told)
	p.told = max(p.told, now)
	return took
}

// keep keeps a process that has just been started.
func (s *slot) keep(p process) {
	s.meter.start += p.took()
	s.processes = append(s.processes, p)
}

// stopProcess stops a plugin process and accounts for its time.
func (s *slot) stopProcess(p *process) {
	p.host.Stop()
	s.meter.plugin += p.took()
}

// costs returns where the time went since the last call.
func (s *slot) costs() ledger.Costs {
	m := &s.meter
	for i := range s.processes {
		m.plugin += s.processes[i].took()
	}
	c := ledger.Costs{
		Open: m.open.Take().Seconds(), Draw: m.draw.Take().Seconds(), Score: m.score.Take().Seconds(),
		Start: m.start.Seconds(), Plugin: m.plugin.Seconds(), Idle: m.idle.Seconds(),
	}
	m.start, m.plugin, m.idle = 0, 0, 0
	c.Carry = s.w.carried.since(c).Seconds()
	m.free()
	return c
}

// carried accounts for the CPU time of the worker's process that its slots do not measure.
type carried struct {
	mu       sync.Mutex
	measured time.Duration // by all slots
	told     time.Duration
}

// since takes what a slot has measured, and returns the time beside it that was not accounted for.
func (x *carried) since(c ledger.Costs) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.measured += time.Duration((c.Open + c.Draw + c.Score) * float64(time.Second))
	// Slots that have yet to report may make this appear larger now, and smaller the next time.
	beside := max(x.told, cputime.Process()-x.measured)
	since := beside - x.told
	x.told = beside
	return since
}
