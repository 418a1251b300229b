package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A person is asked about work that takes longer than longWork even if the prediction is twice the truth. The
// first seconds of the work itself say how long it takes, so that nothing is done twice.
const (
	longWork = 10 * time.Minute
	askAfter = 10 * time.Second // what was seen before says little
	askUntil = 2 * time.Minute  // work that does not look long by then is not asked about later
)

// A question asks once whether work that takes long shall go on. Where nobody can answer, it warns
// and the work goes on.
type question struct {
	what, hint string
	in         *os.File        // the terminal; nil: there is none
	ctx        context.Context // of the work
	stop       func()          // ends the work, as an interrupt does
	asked      bool
}

func newQuestion(c *cobra.Command, stop func(), what, hint string) *question {
	q := &question{what: what, hint: hint, ctx: c.Context(), stop: stop}
	in, okIn := c.InOrStdin().(*os.File)
	out, okOut := c.ErrOrStderr().(*os.File)
	if okIn && okOut && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		q.in = in
	}
	return q
}

// consider asks if it is time to. Nothing more is handed out until there is an answer. q may be
// nil.
func (q *question) consider(d *display, p coordinator.Progress) {
	if q == nil || q.asked || p.Elapsed < askAfter {
		return
	}
	if p.Left == nil || p.Left.Seconds <= 2*longWork.Seconds() {
		q.asked = p.Elapsed > askUntil
		return
	}
	q.asked = true
	d.end()
	text := fmt.Sprintf("%s takes about %s, within a factor of two, on %s (%s trials); %s", q.what,
		roughSeconds(p.Left.Seconds), wording.Count(p.Slots, "worker"), roughCount(float64(p.Left.Counted)), q.hint)
	if q.in == nil || d.mode == "json" {
		fmt.Fprintf(d.w, "shatter: warning: %s\n", text)
		return
	}
	fmt.Fprintf(d.w, "shatter: %s\nGo on? [y/N] (--yes: do not ask) ", text)
	if !q.answer() {
		fmt.Fprintln(d.w)
		q.stop()
	}
}

// answer waits for a line, or for an interrupt, and reports whether the line says yes.
func (q *question) answer() bool {
	lines := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(q.in).ReadString('\n') // an end of the input is no yes
		lines <- text
	}()
	select {
	case text := <-lines:
		text = strings.ToLower(strings.TrimSpace(text))
		return text == "y" || text == "yes"
	case <-q.ctx.Done():
		return false
	}
}
