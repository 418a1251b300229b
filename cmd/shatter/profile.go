package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"
)

// profiler records the CPU time of this process, for developers: plugins are processes of their own, and
// are not in it.
type profiler struct {
	path string // empty: nothing is recorded
	file *os.File
}

// register adds the profiler's flag to root and all commands below it.
func (p *profiler) register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&p.path, "cpuprofile", "", "file for a profile of CPU time, for go tool pprof")
	if err := flags.MarkHidden("cpuprofile"); err != nil {
		panic(err)
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return p.start() }
}

// start begins what the flag asks for.
func (p *profiler) start() (err error) {
	if p.path == "" {
		return nil
	}
	if p.file, err = os.Create(p.path); err != nil {
		return usageError{fmt.Errorf("write a profile: %w", err)}
	}
	if err := pprof.StartCPUProfile(p.file); err != nil {
		return errors.Join(err, p.file.Close())
	}
	return nil
}

// stop ends the recording and completes its file.
func (p *profiler) stop() error {
	if p.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	return p.file.Close()
}
