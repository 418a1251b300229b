// Command shatter measures how much data (private) learning really needs.
//
// It runs sweeps of learning algorithms, here or on a NATS cluster, and turns them into tables of
// measured sample complexities, mistakes and regret next to the theory's. This package parses the
// command line and prints; what a command does is done by the packages coordinator, worker and
// those below pipeline. Start at [command], which lists the commands; those that run trials share a
// [session].
//
// Data goes to stdout, everything else to stderr. Commands return errors; [responses] lists their
// exit codes and remedies.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/trial"
)

func main() {
	syscall.Umask(syscall.Umask(0o777) | 0o022) // other users cannot write to files of a command
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run runs one command line with the given output streams and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := command(stdout, stderr)
	root.SetArgs(args)
	ctx, stop := interruptible(stderr, farewell(root, args))
	defer stop()
	var profile profiler
	profile.register(root)
	err := errors.Join(root.ExecuteContext(ctx), profile.stop())
	if err == nil {
		return exitDone
	}
	r := respond(err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		r, err = response{code: exitInterrupted}, errors.New("interrupted; run the same command again to go on")
	}
	if readerLeft(err) {
		return exitPipe
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "shatter: %s%s\n", readable(text), r.remedy)
	}
	return r.code
}

// farewell returns the message of a command at the first Ctrl-C.
func farewell(root *cobra.Command, args []string) string {
	doing := "stopping"
	if c, _, err := root.Find(args); err == nil && slices.Contains([]string{"run", "worker"}, c.Name()) {
		doing = "leaving as soon as no job is in work"
	}
	return "\nshatter: " + doing + "; interrupt again to leave at once (nothing finished is lost)"
}

// sameInterrupt is the time in which further signals are the first one still: timeout(1) sends it to the
// process and then to its group.
const sameInterrupt = 200 * time.Millisecond

// interruptible returns a context that ends at the first Ctrl-C, after printing farewell. The second Ctrl-C ends the
// process at once; finished trials are kept in both cases.
func interruptible(stderr io.Writer, farewell string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signal.Ignore(syscall.SIGXFSZ) // a file that may not grow is an error of its write, like a full disk
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(stderr, farewell)
		cancel()
		first := time.Now()
		for range signals {
			if time.Since(first) > sameInterrupt {
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}

// command returns the root command with all others below it.
func command(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "shatter",
		Short: "Measure how much data (private) learning really needs",
		Long: `Shatter runs large grids of trials of learning algorithms and turns them into sample-complexity
tables: the measured number of examples with a confidence bracket, next to the theory's.

Data goes to stdout, everything else to stderr. Exit codes:

  0    done
  1    failed cells, undecided searches, a difference of compare, or an error of this machine
  2    wrong usage or an invalid file
  3    two different outcomes of one trial, or a result that does not verify
  4    no connection to the server
  5    a change of the sweep file or the code since the sweep began
  6    a result that refutes a proved or declared bound or privacy guarantee
  130  interrupted
  141  the reader of stdout closed it`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.CompletionOptions.HiddenDefaultCmd = true
	addGroup(root, "Design",
		initCommand(), explainCommand(), schemaCommand(), confined(checkCommand()), confined(planCommand()))
	addGroup(root, "Run",
		confined(attachable(runCommand())), confined(verifyCommand()), confined(attachable(trialCommand())),
		cacheCommand())
	addGroup(root, "Results",
		tableCommand(), plotCommand(), reportCommand(), queryCommand(), serveCommand(), compareCommand(),
		mergeCommand())
	addGroup(root, "Plugins", pluginCommand(), confined(attachable(auditCommand())))
	addGroup(root, "Cluster",
		confined(submitCommand()), sweepsCommand(), statusCommand(), watchCommand(), logsCommand(), pauseCommand(),
		resumeCommand(), cancelCommand(), resultsCommand(), deleteCommand(), confined(workerCommand()),
		workersCommand(),
		coordinatorCommand(), clusterCommand())
	root.AddCommand(doctorCommand(), versionCommand())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages |", ".FlagUsagesWrapped 100 |"))
	addExamples(root)
	blameArguments(root)
	return root
}

// version returns the module's version and revision, if the build recorded them, the Go release and the float profile.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "shatter (unknown build)"
	}
	text := "shatter " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion + " " + trial.FloatProfile()
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the float profile", Args: cobra.NoArgs,
		Long: `Print the version, the Go release and the float profile; and a SHA-256 of the names and versions of
the built-in algorithms, on which two builds agree that give the same outcomes.`,
		RunE: func(c *cobra.Command, _ []string) error {
			digests, err := builtInDigests()
			if err != nil {
				return err
			}
			all := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Values(digests)), "\n")))
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\nbuilt-in algorithms sha256 %x\n", version(), all)
			return err
		},
	}
}

// profiler records the CPU time of this process, for developers: plugins are processes of their own, and
// are not in it.
type profiler struct {
	path string // empty: nothing is recorded
	file *os.File
}

// register adds the profiler's flag to root and all commands below it.
func (p *profiler) register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&p.path, "cpuprofile", "", "`file` for a profile of CPU time, for go tool pprof")
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
		return wrong("write a profile: %w", err)
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
