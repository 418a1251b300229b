package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"runtime/trace"

	"github.com/spf13/cobra"
)

// profiler records what this process does, for developers: plugins are processes of their own, and
// are not in it.
type profiler struct {
	cpu, trace string // files to write; empty: none
	stops      []func() error
}

// register adds the profiler's flags to root and all commands below it.
func (p *profiler) register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&p.cpu, "cpuprofile", "", "file for a profile of CPU time, for go tool pprof")
	flags.StringVar(&p.trace, "trace", "", "file for a trace of goroutines, for go tool trace")
	for _, hidden := range []string{"cpuprofile", "trace"} {
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
