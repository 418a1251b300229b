package host

import (
	"fmt"
	"testing"

	"github.com/shatterlab/shatter/pipeline/cputime"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// BenchmarkSession measures a whole session: open, one step, close, of trials that do nothing, with
// n = 1 and one test point.
func BenchmarkSession(b *testing.B) {
	for _, trials := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(trials), func(b *testing.B) { benchmarkSession(b, self("plugin"), trials) })
	}
	bare := self("plugin")
	bare.Sandbox.Mode = sandbox.Off
	b.Run("100 without sandbox", func(b *testing.B) { benchmarkSession(b, bare, 100) })
}

func benchmarkSession(b *testing.B, c Command, trials int) {
	p := start(b, c)
	r := request("test/quiet", trials, 1, 1, nil)
	counts := make([]uint32, trials)
	for j := range counts {
		counts[j] = 1
	}
	cpu := cputime.Process()
	for b.Loop() {
		s, _, err := p.Open(b.Context(), r, func(x, y []float64) {})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := s.Step(b.Context(), counts, func(x []float64) {}); err != nil {
			b.Fatal(err)
		}
		if _, _, err := s.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(trials), "ns/trial")
	b.ReportMetric(float64(cputime.Process()-cpu)/float64(b.N), "host-cpu-ns/op")
}

// BenchmarkPlay measures one query of every trial: one round trip, whatever the number of
// trials.
func BenchmarkPlay(b *testing.B) {
	for _, trials := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(trials), func(b *testing.B) {
			p := start(b, self("plugin"))
			s, _, err := p.Open(b.Context(), withQueries(trials, 1<<30, false, false), numbered(trials))
			if err != nil {
				b.Fatal(err)
			}
			counts := make([]uint32, trials)
			for j := range counts {
				counts[j] = 1
			}
			for b.Loop() {
				if _, _, _, err := s.Play(b.Context(), counts, func(x []float64) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(trials), "ns/query")
		})
	}
}

// BenchmarkRound measures one round of online games, by either transport.
func BenchmarkRound(b *testing.B) {
	for _, trials := range []int{1, 1000} {
		overBoth(b, fmt.Sprint(trials), self("plugin"), func(b *testing.B, p *Process) {
			r := request("test/quiet", trials, 0, 1, nil)
			r.Setting.Task, r.Setting.Rounds = pluginv1.Task_TASK_ONLINE, 1<<30
			s, _, err := p.Open(b.Context(), r, nil)
			if err != nil {
				b.Fatal(err)
			}
			counts, truths := make([]uint32, trials), make([]float64, trials)
			for j := range counts {
				counts[j], truths[j] = 1, 1
			}
			told := truths[:0]
			for b.Loop() {
				if _, _, err := s.Round(b.Context(), counts, told, func([]float64) {}); err != nil {
					b.Fatal(err)
				}
				told = truths
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(trials), "ns/query")
		})
	}
}

// BenchmarkAnswers measures a step of 100,000 points of one trial, whose model answers at once.
func BenchmarkAnswers(b *testing.B) {
	const points = 100_000
	overBoth(b, "100000", self("plugin"), func(b *testing.B, p *Process) {
		s, _, err := p.Open(b.Context(), request("test/quiet", 1, 1, 1, nil), numbered(1))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, _, err := s.Step(b.Context(), []uint32{points}, func([]float64) {}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/points, "ns/answer")
	})
}

// BenchmarkCheck measures the check of answers that are all in range.
func BenchmarkCheck(b *testing.B) {
	answers := make([]float64, MaxAnswers)
	for i := range answers {
		answers[i] = float64(1 - 2*(i&1))
	}
	c := new(piece).cut([]uint32{MaxAnswers}, MaxAnswers)
	c.next()
	for _, means := range []bool{false, true} {
		b.Run(fmt.Sprintf("means=%v", means), func(b *testing.B) {
			s := &Session{means: means, lists: lists{rows: []int{0}, ended: []bool{false}}}
			for b.Loop() {
				s.check(answers, c, false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxAnswers, "ns/answer")
		})
	}
}

// overBoth runs f with a process that takes its sessions from the mailbox, and with one that takes
// them by gRPC.
func overBoth(b *testing.B, name string, c Command, f func(b *testing.B, p *Process)) {
	for transport, without := range map[string]bool{"mailbox": false, "grpc": true} {
		b.Run(name+"/"+transport, func(b *testing.B) {
			c.noMailbox = without
			p := start(b, c)
			b.ReportAllocs()
			ours, theirs := cputime.Process(), cputime.Of(p.Pid())
			f(b, p)
			b.ReportMetric(float64(cputime.Process()-ours)/float64(b.N), "host-cpu-ns/op")
			b.ReportMetric(float64(cputime.Of(p.Pid())-theirs)/float64(b.N), "plugin-cpu-ns/op")
		})
	}
}

// BenchmarkStart measures the start of a plugin until it has described itself, and its end, in the
// sandbox and without.
func BenchmarkStart(b *testing.B) {
	for _, mode := range []sandbox.Mode{sandbox.Prefer, sandbox.Off} {
		b.Run(string(mode), func(b *testing.B) {
			c := self("plugin")
			c.Sandbox.Mode = mode
			for b.Loop() {
				p, err := Start(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				p.Stop()
			}
		})
	}
}
