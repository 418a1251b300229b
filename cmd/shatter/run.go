package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/wording"
)

type runFlags struct {
	serverFlags
	out       string
	cache     string
	attached  string // socket of a plugin that a person has started; "": none
	workers   int    // -1: not given
	mode      folder.Mode
	progress  progressMode
	budget    coordinator.Budget
	recheck   float64
	http      httpFlags
	logs      logFlags
	log       string // file; "": none
	pluginLog string // folder; "": none
}

// fromEnvironment is the value of run --server for the server of the other commands, whose URL may hold
// a password.
const fromEnvironment = "env"

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE [KEY=VALUE...]",
		Short: "Run a sweep or resume it",
		Long: `Run the sweep in FILE and print its table. The ledger in the output folder keeps every finished
trial: after Ctrl-C or a crash, the same command continues and repeats none of them. During a run
and after an interruption, the commands table, query, plot, report, serve and compare show partial
results.

FILE may be -, for stdin. KEY=VALUE replaces a value of the file for this run, as in seed=2,
problem.domain=[256,65536] or grids.0.trials=100; check and plan take the same. The output folder
keeps the changed file.

Shatter re-runs a random share of each cell's trials in fresh processes, in a different order and
with other trials, and compares every bit. A difference means that outcomes depend on other points,
on earlier trials or on randomness outside the seed: the cell's n* is withheld, and the exit code is
3.

With --server, another worker re-runs these trials, if there is one, and a third worker settles a
difference. A worker whose outcomes differ from those of all others is quarantined by its name: all
its outcomes of the sweep are dropped and run again.

If the table refutes, at its own confidence, a bound that is proved or that a plugin declares, then
stderr, the table, the report and JSON name the bound, and the exit code is 6. A failed trial is not
a success. The exit code is also 6 if the table refutes a privacy guarantee: some trials of a row
that claims privacy failed, or fewer examples sufficed than its epsilon allows.

With --extend, brackets may move, because more cells share the confidence of the table, or because
more trials are read.

With --budget, a run ends when it has executed that many trials, or when workers have worked on them
for that time, summed over all slots. The result files then contain undecided cells, and the run
prints the predicted cost of deciding them. The same command continues; the final result is the same
as without a budget.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.register(c)
	return c
}

func (f *runFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "output `folder` (default shatter-out/NAME, where NAME is the sweep's name)")
	flags.IntVar(&f.workers, "workers", runtime.NumCPU(),
		"`number` of plugin processes on this machine; 0 is allowed with --server")
	flags.StringVar(&f.url, "server", "",
		"`URL` of a NATS server with JetStream instead of the embedded one, tls://host:port; "+
			fromEnvironment+" for that of $"+serverVariable)
	f.registerAccess(flags)
	flags.BoolVar(&f.mode.Extend, "extend", false,
		"continuation after a change of the sweep file; outcomes that still apply are kept")
	flags.BoolVar(&f.mode.Fresh, "fresh", false, "new start; the old output folder is renamed")
	flags.BoolVar(&f.mode.Redo, "redo", false,
		"continuation after a change of code; outcomes of the old code are dropped and run again")
	flags.StringVar(&f.cache, "cache", "", cacheUsage)
	f.progress.register(flags)
	addBudget(flags, &f.budget,
		"limit of this run: trials (50000) or worker time (2h) (default none)")
	addRecheck(flags, &f.recheck)
	f.http.register(flags)
	f.logs.register(flags)
	flags.StringVar(&f.log, "log", "", "`file` to which the log is appended (default none)")
	flags.StringVar(&f.pluginLog, "plugin-log", "",
		"`folder` for the output of the plugins on this machine (default none)")
}

// check returns an error for flags that contradict each other, and completes the server's flags.
func (f *runFlags) check() error {
	switch {
	case f.workers == 0 && f.url == "":
		return wrong("--workers 0: without --server no worker would run trials; give at least 1")
	case f.mode.Fresh && (f.mode.Extend || f.mode.Redo):
		return wrong("--fresh starts over: --extend and --redo, which keep outcomes, cannot be given with it")
	case f.attached != "" && f.url != "":
		return wrong("--attach is for plugins of this machine: leave out --server")
	case f.credentials != "" && f.url == "":
		return wrong("--creds is for --server, which is not given")
	}
	if err := disk.CheckOwn(cacheDir(f.cache)); err != nil {
		return wrong("--cache: its trials could be forged: %w; choose another folder, or off", err)
	}
	complete := f.resolve
	if f.url == fromEnvironment {
		f.url, complete = "", f.serverFlags.check
	}
	if err := complete(); err != nil {
		return err
	}
	return checkWorkers(f.workers, 0)
}

func (f *runFlags) run(c *cobra.Command, args []string) (failed error) {
	ctx := c.Context()
	if f.attached = attachmentOf(ctx).socket; f.attached != "" {
		f.workers, f.cache = 1, "off" // a person steps through one trial after another
	}
	if err := f.check(); err != nil {
		return err
	}
	s, err := load(ctx, c.InOrStdin(), args)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, s.close()) }()
	s.warn(c)
	if f.out == "" {
		f.out = filepath.Join("shatter-out", s.Name)
	}
	m, err := f.open(ctx, s, c.ErrOrStderr())
	if err != nil {
		return err
	}
	m.display.opened(s.folder, f.workers)
	var summary *coordinator.Summary
	cfg := f.config(s, m)
	err = s.work(ctx, f.workers, cfg.Config, &m.workers, func(pool pool.Config) (err error) {
		cfg.Config = pool
		summary, err = coordinator.Run(ctx, cfg)
		return err
	})
	m.display.end()
	if err != nil {
		return err
	}
	if w := m.workers.Overview(); w.Starting > max(w.Running/4, 2*time.Second) {
		m.display.say("workers spent %.0f %% of their time on %s of plugin processes (%s): algorithms in one plugin "+
			"file share processes", 100*w.Starting.Seconds()/w.Running.Seconds(), wording.Count(int(w.Starts), "start"),
			wording.Duration(w.Starting.Round(time.Second)))
	}
	err = f.report(c, s, summary, m.display)
	m.end(howEnded(summary))
	return m.display.done(summary, err)
}

// open opens all that a run needs next to its sweep: the log, the HTTP server, the connection and the output folder.
// It writes nothing before it is connected.
func (f *runFlags) open(ctx context.Context, s *session, stderr io.Writer) (*runMonitor, error) {
	log, closeLog, err := f.logs.logFile(f.log)
	if err != nil {
		return nil, err
	}
	s.onClose(closeLog)
	server, err := f.http.listen(log)
	if err != nil {
		return nil, err
	}
	s.onClose(func() error { server.Close(); return nil })
	if err := s.connect(ctx, f.url, f.options("shatter run "+s.Name, log, queue.Coordinator)); err != nil {
		return nil, err
	}
	if f.url != "" {
		if err := f.checkRegistry(ctx, s.conn); err != nil {
			return nil, err
		}
	}
	if err := s.claim(f.out, f.mode); err != nil {
		return nil, err
	}
	if s.folder.Moves != "" {
		fmt.Fprintf(stderr, "shatter: %s\n", s.folder.Moves)
	}
	m := newRunMonitor(s.folder, newDisplay(stderr, f.progress), log.With("sweep", s.folder.ID))
	m.watch(server, s.conn)
	if f.url != "" {
		if _, err := s.publish(ctx, s.conn); err != nil {
			return nil, err
		}
	}
	if f.pluginLog == "" {
		return m, nil
	}
	return m, s.logPlugins(f.pluginLog)
}

// config returns the configuration of the coordinator, as far as it does not depend on the workers.
func (f *runFlags) config(s *session, m *runMonitor) coordinator.Config {
	cfg := m.config(s, f.workers)
	cfg.Facts, cfg.Budget, cfg.Recheck = f.facts(s.File), f.budget, f.recheck
	if f.url != "" {
		cfg.Term.Epoch = uint64(time.Now().UnixMilli())
	}
	if dir := cacheDir(f.cache); dir != "" {
		cfg.Cache = &cache.Cache{Dir: dir}
	}
	return cfg
}

// checkRegistry prepares the server, and refuses an output folder that is a copy of one of a sweep that was
// submitted there and has not ended: its coordinators and this run would depose each other. Folders of
// run are locked, and each is a sweep of its own on the server; of two copies of one, the run that began
// last goes on.
func (f *runFlags) checkRegistry(ctx context.Context, conn *queue.Conn) error {
	r := &remote{conn: conn}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	owner, err := folder.ReadRecord(f.out)
	if err != nil {
		return nil //nolint:nilerr // a new folder, or one of which Claim says what is wrong
	}
	record, err := r.find(ctx, owner.ID)
	if _, unknown := errors.AsType[*queue.IDError](err); unknown {
		return nil
	}
	if err != nil || record.End != nil || record.ID != owner.ID {
		return err
	}
	return wrong("%q is a copy of sweep %s, which was submitted to this server: shatter status %s says how it stands, "+
		"and shatter resume %s lets it go on; choose another folder with --out to run it separately", f.out, record.ID,
		record.ID, record.ID)
}

// facts returns the facts about this run for the manifest.
func (f *runFlags) facts(path string) map[string]string {
	queue := "embedded"
	if f.url != "" {
		queue = "external"
	}
	facts := map[string]string{
		"command": "run", "file": path, "queue": queue, "workers": fmt.Sprint(f.workers),
		"version": version(), "host": workerName(), "cores": fmt.Sprint(runtime.NumCPU()),
	}
	if f.attached != "" {
		facts["attached"] = f.attached
	}
	return facts
}

// report prints the tables on stdout and messages on stderr. It returns a status error unless the run succeeded.
func (f *runFlags) report(c *cobra.Command, ran *session, s *coordinator.Summary, d *display) error {
	out, shown := ran.folder, answersOf(ran.Plan)
	recorded := out.Report.Outcomes + s.Trials + s.Served
	d.summary(s)
	if s.Withheld > 0 {
		d.say("shatter: n* of %d cells is withheld; once the plugin is repaired, run again with --redo, which drops "+
			"the outcomes of its old file, or with --fresh", s.Withheld)
	}
	for _, line := range slices.Concat(s.Changes, s.Cache) {
		d.say("shatter: %s", line)
	}
	if s.Served > 0 {
		d.say("%d trials were taken from the cache and %d run (--cache off runs all)", s.Served, s.Trials)
	}
	if s.Interrupted {
		left, known := "", ""
		if s.RechecksLeft > 0 {
			left = fmt.Sprintf(" and %d rechecks left", s.RechecksLeft)
		}
		if recorded > 0 {
			known = "; what is known: shatter table " + wording.ShellWord(out.Dir)
		}
		d.say("shatter: interrupted with %d of %d cells decided%s; run the same command again to go on%s",
			s.Decided, s.Cells, left, known)
		return statusError(exitInterrupted)
	}
	for i, name := range shown.tables {
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		if err := writeTable(c.OutOrStdout(), out.Dir, name); err != nil {
			return err
		}
	}
	if err := writeReport(out.Dir); err != nil {
		d.say("shatter: no report.html: %s; `shatter report %s` tries again", remedied(err), out.Dir)
	}
	if s.Partial == "" {
		if known := out.Report.Outcomes; known > 0 {
			d.say("%s trials were known from earlier runs, and %s were added", wording.Thousands(float64(known)),
				wording.Thousands(float64(recorded-known)))
		}
		if recorded > s.Counted {
			d.say("%s of %s trials count: the cells were decided without the others",
				wording.Thousands(float64(s.Counted)), wording.Thousands(float64(recorded)))
		}
		d.say("results in %s, digest %s", out.Dir, s.Digest)
	} else {
		d.partial(s, f.workers)
	}
	d.findings(s)
	switch {
	case len(s.Alarms) > 0, s.Refutes():
	case s.Unfinished > 0:
		why := "--columns cell,algorithm,status,reason"
		if shown.online { // whose table has no such columns
			why = "--what failures"
		}
		d.say("shatter: %d of %d cells are undecided or failed; `shatter table %s %s` says why",
			s.Unfinished, s.Cells, wording.ShellWord(out.Dir), why)
	case s.RechecksLeft > 0 && s.FailedTrials == 0:
		d.say("shatter: %d rechecks are left; run the same command again to go on", s.RechecksLeft)
	}
	if s.Seconds > 0 {
		d.say("workers spent %.0f %% of their time on trials inside plugins", 100*s.PluginSeconds/s.Seconds)
	}
	return resultStatus(s)
}

const maxUndecidedListed = 5

// partial shows which cells a budget left undecided, and what deciding them would cost.
func (d *display) partial(s *coordinator.Summary, workers int) {
	d.say("partial: results so far in %s, digest %s: a function of what this run could spend, not of the sweep alone",
		d.dir, s.Digest)
	trials, seconds := int64(0), 0.0
	for _, c := range s.Left {
		trials, seconds = trials+c.Trials, seconds+c.Seconds
	}
	d.say("shatter: %s with %d of %d cells undecided; deciding all of them takes about %s",
		s.Partial, len(s.Left), s.Cells, costInWords(trials, seconds, workers))
	for _, c := range s.Left[:min(len(s.Left), maxUndecidedListed)] {
		d.say("  %s  %s: about %s", c.Cell, c.What, costInWords(c.Trials, c.Seconds, 0))
	}
	if more := len(s.Left) - maxUndecidedListed; more > 0 {
		d.say("  and %d more, none of them more expensive", more)
	}
	d.say("run the same command again, with another --budget or without, to go on from here")
}

// costInWords returns a predicted number of trials with their time. It gives the time on several
// workers too.
func costInWords(trials int64, seconds float64, workers int) string {
	text := roughCount(float64(trials)) + " trials, " + roughSeconds(seconds) + " of worker time"
	if workers > 1 {
		text += fmt.Sprintf(", %s on %d workers", roughSeconds(seconds/float64(workers)), workers)
	}
	return text
}

// answers selects the tables that answer a sweep.
type answers struct {
	tables []string // names of tables
	online bool     // the task is online, and nothing is searched
}

// answersOf returns the tables that answer a sweep: table where n* is searched or games are played,
// curve where sample sizes are given, and then the fits that the file asks for.
func answersOf(p *plan.Plan) answers {
	a := answers{online: p.Cells[0].Kind().Rounds()}
	for _, c := range p.Cells {
		a.online = a.online && c.Rung == nil
		name := "curve"
		if c.Searched() || c.Kind().Rounds() || c.Kind().Decide != nil {
			name = "table"
		}
		if !slices.Contains(a.tables, name) {
			a.tables = append(a.tables, name)
		}
	}
	slices.Sort(a.tables)
	slices.Reverse(a.tables)
	if len(p.Fits) > 0 {
		a.tables = append(a.tables, "fits")
	}
	return a
}
