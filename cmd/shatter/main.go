// Command shatter measures how much data (private) learning really needs: it runs sweeps of learning algorithms and turns them
// into tables of measured sample complexities beside the theory's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Exit codes.
const (
	exitDone        = 0
	exitUnfinished  = 1 // finished with failed or undecided cells, or ended by an error of this machine
	exitUsage       = 2 // usage or invalid file
	exitIntegrity   = 3 // two different outcomes of one trial, or a result that is not what its ledger and its trials give
	exitConnection  = 4
	exitChanged     = 5 // the file or the code changed since the sweep began
	exitInterrupted = 130
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the command line, with the world given to it.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(stderr)
	defer stop()
	root := command(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		code, err = exitInterrupted, errors.New("interrupted; run the same command again to go on")
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "shatter: %s%s\n", text, remedy(err))
	}
	return code
}

// remedy is the end of a message about a disk that takes no more, unless the message has one already.
func remedy(err error) string {
	var write *ledger.WriteError
	switch {
	case errors.As(err, &write): // it says so itself
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": make room and run the same command again"
	case errors.Is(err, syscall.EFBIG):
		return ": raise the limit on the size of files (ulimit -f) and run the same command again"
	}
	return ""
}

// interruptible gives a context that the first Ctrl-C ends; the second ends the process at once, which loses nothing either.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signal.Ignore(syscall.SIGXFSZ) // a file that may not grow is an error of its write, like a full disk
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(stderr, "\nshatter: finishing the jobs in work; interrupt again to leave at once (nothing finished is lost)")
		cancel()
		if _, ok := <-signals; ok {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}

func command(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "shatter",
		Short: "Measure how much data (private) learning really needs",
		Long: `Shatter runs large grids of trials of learning algorithms and turns them into sample-complexity tables:
the measured number of examples with a confidence bracket, beside the theory's.

stdout is data, stderr is everything else. Exit codes: 0 done; 1 finished with failed or undecided cells,
or a comparison found a difference; 2 usage or invalid file; 3 two different outcomes of one trial, or a result that does not verify; 4 no connection;
5 the sweep file or the code changed since the sweep began; 130 interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		runCommand(), checkCommand(), planCommand(),
		tableCommand(), compareCommand(),
		reportCommand(), plotCommand(),
		queryCommand(), serveCommand(),
		trialCommand(), verifyCommand(), cacheCommand(),
		workerCommand(),
		pluginCommand(), classCommand(),
		versionCommand(),
	)
	usage(root)
	return root
}

// usage makes wrong numbers of arguments and unknown commands usage errors.
func usage(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, given []string) error {
			if err := args(c, given); err != nil {
				return usageError{fmt.Errorf("wrong number of arguments (%d); usage: %s", len(given), c.UseLine())}
			}
			return nil
		}
	} else if !c.Runnable() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return c.Help()
			}
			var names []string
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name())
				}
			}
			return usageError{fmt.Errorf("unknown command %q for %q%s", given[0], c.CommandPath(), wording.DidYouMean(given[0], names))}
		}
	}
	for _, sub := range c.Commands() {
		usage(sub)
	}
}

var (
	flagNames = regexp.MustCompile(`--[a-z-]+`)
	parsing   = regexp.MustCompile(`: strconv\.\w+: parsing ".*": `)
)

// wrongFlag says what is wrong with a flag, with the one that was meant.
func wrongFlag(c *cobra.Command, err error) error {
	text := parsing.ReplaceAllString(err.Error(), ": ")
	var unknown interface{ GetSpecifiedName() string }
	if errors.As(err, &unknown) {
		names := flagNames.FindAllString(c.Flags().FlagUsages(), -1)
		text += wording.DidYouMean("--"+unknown.GetSpecifiedName(), names)
	}
	return usageError{fmt.Errorf("%s; see %s --help", strings.TrimSuffix(text, "?"), c.CommandPath())}
}

// usageError blames the command line or a file that was given.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// statusError carries an exit code whose reason was said already.
type statusError int

func (statusError) Error() string { return "" }

// exitCode finds the exit code that fits an error.
func exitCode(err error) int {
	var (
		status  statusError
		usage   usageError
		invalid sweep.Mistakes
		owner   *folder.OwnerError
		changed *folder.ChangedError
		code    *coordinator.CodeError
		connect *bus.ConnectError
	)
	switch {
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage), errors.As(err, &invalid), errors.As(err, &owner):
		return exitUsage
	case errors.As(err, &changed), errors.As(err, &code):
		return exitChanged
	case errors.As(err, &connect):
		return exitConnection
	}
	return exitUnfinished
}

// version is what `shatter version` prints: the module's version and revision, as far as the build knows them.
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
		Use: "version", Short: "Print the version, the Go release and the float profile", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), version())
			return err
		},
	}
}
