package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/lead"
)

func watchCommand() *cobra.Command {
	var server serverFlags
	var progress progressMode
	var open bool
	c := &cobra.Command{
		Use: "watch ID", Short: "Show the progress of a submitted sweep until it ends",
		Long: `Show the progress of a submitted sweep on stderr until it has ended, or is paused or cancelled. Exit
codes: those of shatter run, where the sweep is done; 1 where it has failed; 130 where it is paused
or cancelled. Leaving with Ctrl-C does not stop the sweep.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := server.open(c)
			if err != nil {
				return err
			}
			defer r.close()
			if open {
				if err := openPage(c, r, args[0]); err != nil {
					return err
				}
			}
			return (&watcher{c, r, newDisplay(c.ErrOrStderr(), progress)}).watch(args[0])
		},
	}
	server.register(c.Flags())
	progress.register(c.Flags())
	c.Flags().BoolVar(&open, "open", false, "print the address of the sweep's page, and open it on a desktop")
	return c
}

// openPage prints the address of a sweep's page, which its leader serves, and opens it in a browser
// if there is a desktop.
func openPage(c *cobra.Command, r *remote, id string) error {
	record, err := r.find(c.Context(), id)
	if err != nil {
		return err
	}
	a, err := lead.Ask(c.Context(), r.conn, record.ID, false)
	switch {
	case err != nil:
		return err
	case a == nil:
		return wrong("--open: no coordinator leads sweep %s now, so it has no page; shatter status %s says why",
			record.ID, record.ID)
	case a.Page == "":
		return wrong("--open: coordinator %s serves no page; start it with --http 127.0.0.1:9090", a.Leader)
	}
	url := a.Page + "/sweeps/" + record.ID
	fmt.Fprintf(c.ErrOrStderr(), "page: %s\n", printable(url))
	if here := strings.TrimSuffix(workerName(), fmt.Sprint(os.Getpid())); !strings.HasPrefix(a.Leader, here) {
		fmt.Fprintf(c.ErrOrStderr(), "an address of 127.0.0.1 is on the machine of coordinator %s: ssh -L leads there\n",
			printable(a.Leader))
		return nil
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	} else if !strings.HasPrefix(url, "http") || os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	_ = exec.CommandContext(c.Context(), program, url).Start() // the address is printed
	return nil
}

// watcher shows the progress of a submitted sweep.
type watcher struct {
	c       *cobra.Command
	server  *remote
	display *display
}

// watchEvery is the time between two looks at a sweep.
const watchEvery = 500 * time.Millisecond

func (w *watcher) watch(id string) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	defer w.display.end()
	said := ""
	for {
		record, err := w.server.find(w.c.Context(), id)
		if err != nil {
			return err
		}
		id = record.ID
		s, err := w.server.status(w.c.Context(), record)
		if err != nil {
			return err
		}
		switch s.State {
		case lead.Running, lead.Waiting:
			said = w.show(s, said)
		default:
			w.display.end()
			return w.ended(s)
		}
		select {
		case <-tick.C:
		case <-w.c.Context().Done():
			fmt.Fprintf(w.c.ErrOrStderr(), "shatter: sweep %s goes on without this command\n", s.ID)
			return statusError(exitInterrupted)
		}
	}
}

// show shows progress, and the reason why nothing moves if it has changed since the last call. It returns the reason.
func (w *watcher) show(s *sweepStatus, said string) string {
	if s.Reason != said && s.Reason != "" && w.display.mode != "none" {
		w.display.end()
		fmt.Fprintf(w.c.ErrOrStderr(), "%s: %s\n", s.State, printable(s.Reason))
	}
	if s.answer != nil && s.answer.Progress != nil {
		w.display.show(*s.answer.Progress)
	}
	return s.Reason
}

// ended prints how a sweep ended, and returns its exit code as an error.
func (w *watcher) ended(s *sweepStatus) error {
	d := w.display
	if s.end == nil || s.end.Summary == nil {
		reason := ""
		if s.Reason != "" {
			reason = ": " + printable(s.Reason)
		}
		d.say("shatter: sweep %s %s%s", s.ID, stands(s.State), reason)
		if s.State == lead.Failed {
			return statusError(exitUnfinished)
		}
		return statusError(exitInterrupted)
	}
	sum := s.end.Summary
	d.summary(sum)
	d.findings(sum)
	if sum.Unfinished > 0 {
		d.say("shatter: %d of %d cells are undecided or failed", sum.Unfinished, sum.Cells)
	}
	d.say("sweep %s is done, digest %s; shatter results %s --out DIR fetches its folder", s.ID, sum.Digest, s.ID)
	return d.done(sum, resultStatus(sum))
}
