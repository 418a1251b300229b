package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"github.com/spf13/cobra"
)

// profiler records what this process does, for developers: plugins are processes of their own, and
// are not in it.
type profiler struct {
	cpu, heap, trace string // files to write; empty: none
	stops            []func() error
}

// register adds the profiler's flags to root and all commands below it.
func (p *profiler) register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&p.cpu, "cpuprofile", "", "file for a profile of CPU time, for go tool pprof")
	flags.StringVar(&p.heap, "memprofile", "", "file for a profile of the heap when most was in use, for go tool pprof")
	flags.StringVar(&p.trace, "trace", "", "file for a trace of goroutines, for go tool trace")
	for _, hidden := range []string{"cpuprofile", "memprofile", "trace"} {
		if err := flags.MarkHidden(hidden); err != nil {
			panic(err)
		}
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return p.start() }
}

// start begins what the flags ask for.
func (p *profiler) start() error {
	return errors.Join(
		p.record(p.cpu, pprof.StartCPUProfile, pprof.StopCPUProfile),
		p.recordHeap(p.heap),
		p.record(p.trace, trace.Start, trace.Stop),
	)
}

// record lets start write to a new file until the profiler stops; an empty path asks for nothing.
func (p *profiler) record(path string, start func(io.Writer) error, stop func()) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return usageError{fmt.Errorf("write a profile: %w", err)}
	}
	if err := start(f); err != nil {
		return errors.Join(err, f.Close())
	}
	p.stops = append(p.stops, func() error { stop(); return f.Close() })
	return nil
}

// stop ends the recording and completes its files.
func (p *profiler) stop() (err error) {
	for _, stop := range p.stops {
		err = errors.Join(err, stop())
	}
	return err
}

// recordHeap writes a profile of the heap to a new file whenever more is in use than ever before, so that
// the file shows what was in use at the peak.
func (p *profiler) recordHeap(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return usageError{fmt.Errorf("write a profile: %w", err)}
	}
	stop, ended := make(chan struct{}), make(chan error)
	go func() { ended <- watchHeap(f, stop) }()
	p.stops = append(p.stops, func() error {
		close(stop)
		return errors.Join(<-ended, f.Close())
	})
	return nil
}

// watchHeap does what recordHeap says until stop is closed.
func watchHeap(f *os.File, stop <-chan struct{}) error {
	const often = 20 * time.Millisecond // a collection of a large heap takes longer
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	most := uint64(0)
	for tick := time.Tick(often); ; {
		select {
		case <-stop:
			return nil
		case <-tick:
		}
		metrics.Read(live)
		if used := live[0].Value.Uint64(); used > most+most/64 {
			most = used
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			if err := f.Truncate(0); err != nil {
				return err
			}
			if err := pprof.Lookup("heap").WriteTo(f, 0); err != nil {
				return err
			}
		}
	}
}
