package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/shatterlab/shatter/plugins/algo"
)

type hostileParams struct {
	Mark int `doc:"in the names of the files and processes that it leaves behind" min:"0"`
}

// hostile does harm in every trial, one way after the other, and nothing that would outlive a minute or
// reach beyond itself if nobody stopped it.
var hostile = algo.Algorithm[hostileParams]{
	Name: "third/hostile", Version: "1.0.0", Doc: "Leaves processes and files behind, floods, lies and will not go.",
	Learn: func(_ context.Context, t *algo.Trial[hostileParams], _ *algo.Data) (algo.Model, error) {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		if t.Rand.IntN(4) > 0 { // most trials do what shows only at the end
			return constant(1), leaveBehind(fmt.Sprintf("60.%09d", t.Params.Mark))
		}
		switch t.Rand.IntN(4) {
		case 0:
			return constant(math.NaN()), nil
		case 1:
			for range 1000 {
				fmt.Println("\x1b[2J", os.Environ())
				fmt.Fprintln(os.Stderr, "\x1b[2J", os.Environ())
			}
			return nil, errors.New("flooded")
		case 2:
			os.Exit(0)
		}
		panic("hostile")
	},
}

// leaveBehind leaves a file in each folder that it may write to, and a process that is nobody's child.
func leaveBehind(mark string) error {
	for _, dir := range []string{os.TempDir(), ".", "/dev/shm"} {
		_ = os.WriteFile(filepath.Join(dir, mark), []byte("left"), 0o600)
	}
	cmd := exec.Command("setsid", "-f", "sleep", mark)
	return cmd.Run()
}
