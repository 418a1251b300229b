package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"

	"github.com/shatterlab/shatter/pipeline/bus"

	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/worker"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/plan"
)

// maxWorkers keeps a slip of the finger from filling the machine with processes.
const maxWorkers = 1024

type runFlags struct {
	out, server, credentials string
	cache                    string
	workers                  int
	mode                     folder.Mode
	progress                 progressMode
	budget                   budgetFlag
	yes                      bool
	jobSizes                 uint64
	reverse                  bool
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a sweep, or resume it",
		Long: `Run the sweep in FILE and print its table. What finished is kept in the output folder's ledger, whatever happens:
running the same command again goes on where the last one ended, and repeats nothing.

On a terminal run asks when, after some seconds of work, the rest looks like more than ten minutes; what was done by then counts. Elsewhere, as in a
batch job, it warns and goes on. --yes and --budget leave the question out.

With --budget a run ends when it has executed that many trials, or when they have taken that much CPU time, summed over all workers. The result files are
written with the cells that are left as undecided, and what deciding them would cost is said. The same command goes on from there; in the end
the result is the same as without a budget.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	fs := c.Flags()
	fs.StringVar(&f.out, "out", "", "output folder (default shatter-out/<name>)")
	fs.IntVar(&f.workers, "workers", -1, "plugin processes that work here at the same time (default: one per core; 0 with --server: none here)")
	fs.StringVar(&f.server, "server", "", "NATS server with JetStream (nats://host:port) instead of the embedded one")
	fs.StringVar(&f.credentials, "creds", "", "NATS credentials file for --server")
	fs.BoolVar(&f.mode.Extend, "extend", false, "the sweep file has changed: keep the outcomes that still apply and run what is new")
	fs.BoolVar(&f.mode.Fresh, "fresh", false, "set the old output folder aside and begin anew")
	fs.BoolVar(&f.mode.Redo, "redo", false, "the code has changed: drop the outcomes of other plugin files and run them again")
	fs.StringVar(&f.cache, "cache", "", cacheUsage)
	f.progress.register(fs)
	fs.Var(&f.budget, "budget", "trials (50000) or CPU time of trials (2h) that this run may spend; the same command goes on from there")
	fs.BoolVar(&f.yes, "yes", false, "do not ask before more than ten minutes")
	fs.Uint64Var(&f.jobSizes, "test-job-sizes", 0, "")
	fs.BoolVar(&f.reverse, "test-reverse", false, "")
	for _, hidden := range []string{"test-job-sizes", "test-reverse"} {
		if err := fs.MarkHidden(hidden); err != nil {
			panic(err)
		}
	}
	return c
}

func (f *runFlags) run(c *cobra.Command, path string) (failed error) {
	switch {
	case f.workers < -1:
		return usageError{fmt.Errorf("--workers %d: a number from 0 on is needed", f.workers)}
	case f.workers == 0 && f.server == "":
		return usageError{errors.New("--workers 0: without --server nobody would work; give at least 1")}
	case f.workers > maxWorkers:
		return usageError{fmt.Errorf("--workers %d: each is a process of its own; at most %d are allowed", f.workers, maxWorkers)}
	case f.mode.Fresh && (f.mode.Extend || f.mode.Redo):
		return usageError{errors.New("--fresh begins anew: --extend and --redo, which keep outcomes, do not go with it")}
	case f.credentials != "" && f.server == "":
		return usageError{errors.New("--creds is for --server, which is not given")}
	case f.workers < 0:
		f.workers = runtime.NumCPU()
	}
	debug.SetGCPercent(400) // outcomes pass through a small live heap: a tenth less work for some megabytes
	s, err := load(c.Context(), path)
	if err != nil {
		return err
	}
	defer s.close()
	warn(c, s.Plan)
	if f.out == "" {
		f.out = filepath.Join("shatter-out", s.Name)
	}
	conn, closeBus, err := connect(c.Context(), f.server, bus.Options{Name: "shatter run " + s.Name, Credentials: f.credentials, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err // before anything is written
	}
	defer closeBus()
	folder, err := claim(f.out, s.Plan, f.mode)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, folder.Close()) }()
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	display := newDisplay(c.ErrOrStderr(), f.progress)
	display.opened(folder, f.workers)
	if !f.yes && !f.budget.Given() {
		display.question = newQuestion(c, stop, "the rest of this sweep", fmt.Sprintf("`shatter plan %s` says where it goes", quoted(path)))
	}
	summary, err := f.execute(ctx, s, conn, folder, display)
	display.end()
	if err != nil {
		return err
	}
	return display.done(summary, f.report(c, folder, summary, display))
}

// claim takes the output folder. Where none can be, the command line is to blame.
func claim(dir string, plan *plan.Plan, mode folder.Mode) (*folder.Folder, error) {
	folder, err := folder.Claim(dir, plan, mode)
	for _, cause := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, cause) {
			return nil, usageError{fmt.Errorf("no output folder can be at %q (%w); choose another with --out", dir, err)}
		}
	}
	return folder, err
}

// execute runs the sweep.
func (f *runFlags) execute(ctx context.Context, s *understoodSweep, conn *bus.Conn, folder *folder.Folder, d *display) (summary *coordinator.Summary, err error) {
	err = f.serve(ctx, s, conn, folder, d, func(ctx context.Context, cfg coordinator.Config) (err error) {
		summary, err = coordinator.Run(ctx, cfg)
		return err
	})
	return summary, err
}

// serve runs a coordinator's work and the workers of this process on one connection.
func (f *runFlags) serve(ctx context.Context, s *understoodSweep, conn *bus.Conn, folder *folder.Folder, d *display,
	work func(context.Context, coordinator.Config) error) error {
	if err := publishFiles(ctx, conn, s); err != nil {
		return err
	}
	digests, commands, err := plugins(s)
	if err != nil {
		return err
	}
	cfg := coordinator.Config{
		Folder: folder, Conn: conn, Slots: f.workers, Algorithms: s.catalog, Digests: digests,
		Progress: d.show, Reverse: f.reverse, Facts: facts(s.File, f), Budget: f.budget.Budget,
	}
	if dir := cacheDir(f.cache); dir != "" {
		cfg.Cache = &cache.Cache{Dir: dir}
	}
	if f.jobSizes != 0 {
		cfg.JobSizes = rand.New(rand.NewPCG(f.jobSizes, 0))
	}
	stop, err := startWorkers(ctx, &cfg, commands, f.workers)
	if err != nil {
		return err
	}
	err = work(ctx, cfg)
	return errors.Join(err, stop())
}

// startWorkers starts the slots of this process. They drain when ctx ends or stop is called.
func startWorkers(ctx context.Context, cfg *coordinator.Config, commands map[string]host.Command, slots int) (stop func() error, err error) {
	if slots == 0 {
		return func() error { return nil }, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	drain, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		failed = worker.Run(drain, context.WithoutCancel(ctx), worker.Config{
			Conn: cfg.Conn, Slots: slots, Name: workerName(), Plugins: commands, Cache: filepath.Join(cache, "shatter", "files"), Log: cfg.Log,
		})
	}()
	cfg.Workers = done
	return func() error { cancel(); <-done; return failed }, nil
}

// connect gives the queue: the embedded one, or a server's.
func connect(ctx context.Context, url string, o bus.Options) (*bus.Conn, func(), error) {
	if url != "" {
		conn, err := bus.Dial(ctx, url, o)
		if err != nil {
			return nil, nil, err
		}
		return conn, conn.Close, nil
	}
	server, err := bus.Embed(o)
	if err != nil {
		return nil, nil, err
	}
	conn, err := server.Dial(ctx)
	if err != nil {
		server.Shutdown()
		return nil, nil, err
	}
	return conn, func() { conn.Close(); server.Shutdown() }, nil
}

// publishFiles puts the data files of a sweep where workers find them, by content.
func publishFiles(ctx context.Context, conn *bus.Conn, s *understoodSweep) error {
	for _, cell := range s.Cells {
		if file, digest := cell.Problem.File(); digest != "" {
			if err := conn.PutFile(ctx, digest, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// plugins gives the digest of every plugin file that the sweep uses, and how each is started.
func plugins(s *understoodSweep) (digests map[string]string, commands map[string]host.Command, err error) {
	digests, commands = map[string]string{}, map[string]host.Command{}
	for _, cell := range s.Cells {
		if _, ok := digests[cell.Plugin]; ok {
			continue
		}
		digest, err := s.catalog.Digest(cell.Plugin)
		if err != nil {
			return nil, nil, err
		}
		digests[cell.Plugin] = digest
		if commands[digest], err = s.catalog.Command(cell.Plugin); err != nil {
			return nil, nil, err
		}
	}
	return digests, commands, nil
}

func workerName() string {
	name, err := os.Hostname()
	if err != nil {
		name = "worker"
	}
	return fmt.Sprintf("%s-%d", name, os.Getpid())
}

func facts(path string, f *runFlags) map[string]string {
	queue := "embedded"
	if f.server != "" {
		queue = "external"
	}
	return map[string]string{
		"command": "run", "file": path, "queue": queue, "workers": fmt.Sprint(f.workers),
		"version": version(), "host": workerName(), "cores": fmt.Sprint(runtime.NumCPU()),
	}
}

// report prints the table on stdout and what a person has to know on stderr, and gives the exit code.
func (f *runFlags) report(c *cobra.Command, folder *folder.Folder, s *coordinator.Summary, d *display) error {
	stderr := d.text()
	for _, a := range s.Alarms {
		fmt.Fprintf(stderr, "shatter: integrity alarm: %s\n", a)
	}
	d.failures(s.Failures)
	for _, line := range s.Cache {
		fmt.Fprintf(stderr, "shatter: %s\n", line)
	}
	if s.Served > 0 {
		fmt.Fprintf(stderr, "%d trials were taken from the cache and %d run (--cache off runs all)\n", s.Served, s.Trials)
	}
	if s.Interrupted {
		fmt.Fprintf(stderr, "shatter: interrupted with %d of %d cells decided; run the same command again to go on\n", s.Decided, s.Cells)
		return statusError(exitInterrupted)
	}
	for i, what := range show(folder.Plan) {
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		if err := showTable(c.OutOrStdout(), folder.Dir, what, "table"); err != nil {
			return err
		}
	}
	writeReport(stderr, folder.Dir)
	if s.Partial == "" {
		fmt.Fprintf(stderr, "results in %s, digest %s\n", folder.Dir, s.Digest)
	} else {
		sayPartial(stderr, folder.Dir, s, f.workers)
	}
	switch {
	case len(s.Alarms) > 0:
		return statusError(exitIntegrity)
	case s.Unfinished > 0:
		fmt.Fprintf(stderr, "shatter: %d of %d cells are undecided or failed; the column reason of `shatter table %s` says why\n", s.Unfinished, s.Cells, folder.Dir)
		return statusError(exitUnfinished)
	case s.FailedTrials > 0:
		return statusError(exitUnfinished)
	}
	return nil
}

// show is the tables that answer a sweep: n* where it is searched, regret where games are played, the curve where sample sizes are given, and
// then the slopes that the file asks for.
func show(p *plan.Plan) (what []string) {
	for _, c := range p.Cells {
		name := "curve"
		if c.Find != nil || c.Online() {
			name = "table"
		}
		if !slices.Contains(what, name) {
			what = append(what, name)
		}
	}
	slices.Sort(what)
	slices.Reverse(what)
	if len(p.Fits) > 0 {
		what = append(what, "fits")
	}
	return what
}
