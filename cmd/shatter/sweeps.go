package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// statesHelp documents the states of a sweep.
const statesHelp = `A sweep is

  waiting    should run, but no trials run; the reason says why
  running    a coordinator hands out its trials and takes in outcomes
  paused     shatter pause was called, or its budget is spent; resume continues
  cancelled  shatter cancel was called; outcomes are kept, and resume continues
  done       every cell is decided or has failed: the result is whole
  failed     no coordinator can run it; the reason says why
  deleted    shatter delete was called; the next coordinator removes it

None of these is stored: they follow from the submission and the desired state, and from what the
sweep's leader answers at the moment. Trials are the outcomes in its ledger: as its leader says, or
else as it was shipped last.`

func sweepsCommand() *cobra.Command {
	return asking(&cobra.Command{
		Use: "sweeps", Short: "List the submitted sweeps",
		Long: "List the sweeps that were submitted to a server, the newest first.\n\n" + statesHelp,
		Args: cobra.NoArgs,
	}, (*remote).list, writeSweeps)
}

// mostName is the maximal number of letters of a name in a list, as in sweep files.
const mostName = 64

// mostSweeps is the number of sweeps in a list for people.
const mostSweeps = 500

// writeSweeps prints a line for each sweep.
func writeSweeps(list []*sweepStatus, c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	left := list[min(len(list), mostSweeps):]
	fmt.Fprintln(w, "ID\tNAME\tSTATE\tCELLS\tTRIALS\tBY\tSUBMITTED\tWHY")
	for _, s := range list[:len(list)-len(left)] {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, wording.OneLine(s.Name, mostName), s.State, s.cells(),
			s.trials(), wording.OneLine(s.By, mostName), s.At.Local().Format(time.DateTime),
			wording.OneLine(s.Reason, mostShown))
	}
	if err := w.Flush(); err != nil || len(left) == 0 {
		return err
	}
	_, err := fmt.Fprintf(c.ErrOrStderr(), "and %s older ones: -o json lists all\n", wording.Thousands(float64(len(left))))
	return err
}

// list returns the statuses of all sweeps, the newest first, except sweeps of other releases.
func (r *remote) list(c *cobra.Command, _ []string) ([]*sweepStatus, error) {
	return r.statuses(c.Context(), c.ErrOrStderr())
}

// statuses returns what list does, and describes on stderr the sweeps that it leaves out.
func (r *remote) statuses(ctx context.Context, stderr io.Writer) ([]*sweepStatus, error) {
	var all []*queue.Entry
	err := r.within(ctx, func(ctx context.Context) (err error) {
		all, err = r.registry.List(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	list, errs := make([]*sweepStatus, len(all)), make([]error, len(all))
	var asking sync.WaitGroup
	for i, e := range all {
		asking.Go(func() {
			record, err := lead.ReadRecord(e)
			if err == nil {
				list[i], err = r.status(ctx, record)
			}
			errs[i] = err
		})
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			fmt.Fprintf(stderr, "shatter: left out: %s\n", printable(err.Error()))
		}
	}
	list = slices.DeleteFunc(list, func(s *sweepStatus) bool { return s == nil })
	slices.SortFunc(list, func(a, b *sweepStatus) int { return b.At.Compare(a.At) })
	return append([]*sweepStatus{}, list...), nil
}

// A sweepStatus is the JSON form of the status of a sweep.
type sweepStatus struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	State    string         `json:"state"`
	Reason   string         `json:"reason"` // reason for the state; may be empty
	Cells    int            `json:"cells"`
	Decided  *int           `json:"decided"`    // cells that are done; null if unknown, like the other pointers
	Left     *int           `json:"unfinished"` // those among them that are undecided or failed; null before the end
	Trials   *int64         `json:"trials"`     // outcomes in the ledger: of the leader, else as it was shipped last
	Counted  *int64         `json:"counted"`    // outcomes that the tables count; null before the end
	Digest   string         `json:"digest"`     // of the result; "": there is none yet
	Exit     *int           `json:"exit"`       // what `submit --wait` ends with
	Progress *progressEvent `json:"progress"`
	Leader   string         `json:"leader"` // name of its leader; "": none answers
	Epoch    uint64         `json:"epoch"`  // of its leader
	Priority int            `json:"priority"`
	Weight   float64        `json:"weight"`
	Budget   string         `json:"budget"` // "": none
	By       string         `json:"by"`
	At       time.Time      `json:"submitted"`
	File     string         `json:"file"`
	Shipped  time.Time      `json:"shipped"` // when outcomes came to the server last; the zero time: never

	answer *lead.Answer
	end    *lead.End
}

// status returns the status of a sweep.
func (r *remote) status(ctx context.Context, x *lead.Record) (*sweepStatus, error) {
	now, err := lead.Look(ctx, r.conn, x)
	if err != nil {
		return nil, err
	}
	s := &sweepStatus{
		ID: x.ID, Name: x.Submission.Name, State: now.State, Reason: now.Reason, Cells: x.Submission.Cells,
		Priority: x.Desired.Priority, Weight: x.Desired.Weight, By: x.Submission.By, At: x.Submission.At,
		File: x.Submission.File, Shipped: x.Shipment.At, answer: now.Answer, end: x.End,
	}
	if x.Desired.Budget.Limited() {
		s.Budget = x.Desired.Budget.String()
	}
	if totals := x.Shipment.Totals; totals != nil {
		s.Decided, s.Trials = &totals.Decided, &totals.Trials
	}
	if a := now.Answer; a != nil {
		s.Leader, s.Epoch = a.Leader, a.Epoch
		if p := a.Progress; p != nil {
			trials, event := p.Known+p.Trials+p.Served, newProgressEvent(*p)
			s.Decided, s.Trials, s.Progress = &p.Decided, &trials, &event
		}
	}
	if e := x.End; e != nil && e.Summary != nil {
		code := respond(resultStatus(e.Summary)).code
		s.Decided, s.Left, s.Counted = &e.Summary.Decided, &e.Summary.Unfinished, &e.Summary.Counted
		s.Digest, s.Exit = e.Summary.Digest, &code
	}
	return s, nil
}

// cells returns how many cells are done, in words.
func (s *sweepStatus) cells() string {
	if s.Decided == nil {
		return fmt.Sprintf("-/%d", s.Cells)
	}
	return fmt.Sprintf("%d/%d", *s.Decided, s.Cells)
}

// next names the most likely next command in this state.
func (s *sweepStatus) next() string {
	switch s.State {
	case lead.Paused, lead.Cancelled, lead.Failed:
		return fmt.Sprintf("shatter resume %s goes on with it", s.ID)
	case lead.Done:
		return fmt.Sprintf("shatter results %s --out DIR fetches its folder", s.ID)
	}
	return fmt.Sprintf("shatter watch %s shows how it goes", s.ID)
}

// trials returns the number of outcomes, in words.
func (s *sweepStatus) trials() string {
	if s.Trials == nil {
		return "-"
	}
	return wording.Thousands(float64(*s.Trials))
}

func statusCommand() *cobra.Command {
	return asking(&cobra.Command{
		Use: "status ID", Short: "Show the state of a submitted sweep",
		Long: "Show the state of a submitted sweep, and why it waits. " + statesHelp, Args: cobra.ExactArgs(1),
	}, func(r *remote, c *cobra.Command, args []string) (*sweepStatus, error) {
		record, err := r.find(c.Context(), args[0])
		if err != nil {
			return nil, err
		}
		return r.status(c.Context(), record)
	}, (*sweepStatus).write)
}

// mostShown is the number of letters of a line about a sweep, in which others have written names and reasons.
const mostShown = 1000

// write prints the status, a line for each thing.
func (s *sweepStatus) write(c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	say := func(what, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", what, wording.OneLine(text, mostShown))
		}
	}
	say("sweep", s.ID+" "+s.Name)
	say("state", s.State)
	say("why", s.Reason)
	if s.Decided != nil {
		text := s.cells() + " done"
		if s.Left != nil && *s.Left > 0 {
			text += fmt.Sprintf(", %d of them undecided or failed", *s.Left)
		}
		say("cells", text)
	}
	if s.Trials != nil {
		text := s.trials()
		if s.Counted != nil {
			text += fmt.Sprintf(", %s of them count", wording.Thousands(float64(*s.Counted)))
		}
		say("trials", text)
	}
	if s.Reason == "" && s.answer != nil && s.answer.Progress != nil {
		say("now", (&display{}).line(*s.answer.Progress).String())
	}
	if s.answer != nil && s.answer.Progress != nil && s.answer.Progress.Refused > 0 {
		say("dropped", fmt.Sprintf("%d results of workers that were unfit", s.answer.Progress.Refused))
	}
	say("digest", s.Digest)
	if s.Leader != "" {
		say("leader", fmt.Sprintf("%s, epoch %d", s.Leader, s.Epoch))
	}
	say("share", fmt.Sprintf("priority %d, weight %v", s.Priority, cmp.Or(s.Weight, 1)))
	say("budget", s.Budget)
	say("submitted", fmt.Sprintf("%s by %s from %s", s.At.Local().Format(time.DateTime), s.By, s.File))
	if !s.Shipped.IsZero() {
		say("shipped", s.Shipped.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// pause sets the desired state of a sweep to paused.
func pause(x *lead.Record, w *lead.DesiredState) error {
	if w.Do == lead.Cancel || w.Do == lead.Delete {
		return wrong("sweep %s was cancelled; shatter resume %s goes on with it", x.ID, x.ID)
	}
	w.Do = lead.Pause
	return notEnded(x)
}

// cancel sets the desired state of a sweep to cancelled.
func cancel(x *lead.Record, w *lead.DesiredState) error {
	w.Do = lead.Cancel
	return notEnded(x)
}

// resume sets the desired state of a sweep to running. renewed reports whether w has a new budget.
func resume(x *lead.Record, w *lead.DesiredState, renewed bool) error {
	if !renewed && x.Desired.Do == lead.Pause && x.Desired.Spent {
		return wrong("%s: give more with shatter resume %s --budget LIMIT", x.Desired.Why, x.ID)
	}
	w.Do = lead.Run
	if x.End != nil && x.End.Failure != "" {
		return nil
	}
	return notEnded(x)
}

func pauseCommand() *cobra.Command {
	return desiredStateCommand("pause", "Pause a submitted sweep", pause)
}

func cancelCommand() *cobra.Command {
	return desiredStateCommand("cancel", "Cancel a submitted sweep and keep its outcomes", cancel)
}

func resumeCommand() *cobra.Command {
	var desired lead.DesiredState
	var c *cobra.Command
	c = desiredStateCommand("resume", "Resume a paused, cancelled or failed sweep",
		func(x *lead.Record, w *lead.DesiredState) error {
			flags := c.Flags()
			if flags.Changed("priority") {
				w.Priority = desired.Priority
			}
			if flags.Changed("weight") {
				w.Weight = desired.Weight
			}
			if flags.Changed("budget") {
				w.Budget = desired.Budget
			}
			return errors.Join(resume(x, w, flags.Changed("budget")), checkWeight(desired.Weight))
		})
	c.Long = c.Short + `.
With --priority, --weight or --budget, change what it may take, also of one that runs; what is not
given does not change.`
	addDesiredState(c, &desired.Priority, &desired.Weight, &desired.Budget)
	return c
}

func deleteCommand() *cobra.Command {
	c := desiredStateCommand("delete", "Delete a sweep that is done, cancelled or failed",
		func(x *lead.Record, w *lead.DesiredState) error {
			if x.End == nil && w.Do != lead.Cancel && w.Do != lead.Delete {
				return wrong("sweep %s has not ended; shatter cancel %s ends it", x.ID, x.ID)
			}
			w.Do = lead.Delete
			return nil
		})
	c.Long = c.Short + `.
A coordinator takes it out of the list at once, and a day later removes from the server what no
other sweep names, its results among it. Fetch them before with shatter results. Output folders,
those of coordinators too, stay as they are. Until it has vanished, submitting the same content
again keeps it; afterwards that begins a new sweep, which goes on from what the folders of
coordinators have.

` + statesHelp
	return c
}

// notEnded returns an error if a sweep has ended.
func notEnded(x *lead.Record) error {
	if x.End == nil {
		return nil
	}
	return wrong("sweep %s has ended; shatter results %s --out DIR fetches what it has found", x.ID, x.ID)
}

// desiredStateCommand returns a command that changes the desired state of a sweep.
func desiredStateCommand(verb, short string, change func(*lead.Record, *lead.DesiredState) error) *cobra.Command {
	return asking(&cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
	}, func(r *remote, c *cobra.Command, args []string) (*sweepStatus, error) {
		record, err := r.changeDesiredState(c.Context(), args[0], change)
		if err != nil {
			return nil, err
		}
		return r.status(c.Context(), record)
	}, (*sweepStatus).write)
}

// changeDesiredState changes the desired state of a sweep, and returns its record afterwards.
func (r *remote) changeDesiredState(
	ctx context.Context, id string, change func(*lead.Record, *lead.DesiredState) error,
) (*lead.Record, error) {
	record, err := r.find(ctx, id)
	if err != nil {
		return nil, err
	}
	var desired lead.DesiredState
	err = r.within(ctx, func(ctx context.Context) error {
		return lead.ChangeDesiredState(ctx, r.registry, record.ID, func(w *lead.DesiredState) error {
			w.By, w.At, w.Why, w.Spent = personName(), time.Now().UTC(), "", false
			if record.End != nil {
				w.After = record.End.Epoch
			}
			err := change(record, w)
			desired = *w
			return err
		})
	})
	if refused, ok := errors.AsType[usageError](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	after, err := r.find(ctx, record.ID)
	if unknown := (*queue.IDError)(nil); errors.As(err, &unknown) { // it is deleted already
		after, err = record, nil
		after.Desired = desired
	}
	return after, err
}

func logsCommand() *cobra.Command {
	return asking(&cobra.Command{
		Use: "logs ID", Short: "Print the last log lines of a sweep's leader",
		Args: cobra.ExactArgs(1),
	}, func(r *remote, c *cobra.Command, args []string) ([]string, error) {
		record, err := r.find(c.Context(), args[0])
		if err != nil {
			return nil, err
		}
		if record.End != nil {
			return record.End.Log, nil
		}
		a, err := lead.Ask(c.Context(), r.conn, record.ID, false)
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, fmt.Errorf("no coordinator leads sweep %s, and the log went with its last leader; "+
				"shatter status %s says why", record.ID, record.ID)
		}
		return a.Log, nil
	}, writeLog)
}

// writeLog prints the lines of a log.
func writeLog(log []string, c *cobra.Command) error {
	for _, line := range log {
		if _, err := fmt.Fprintln(c.OutOrStdout(), printable(line)); err != nil {
			return err
		}
	}
	return nil
}
