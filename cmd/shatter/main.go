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
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline"
	"github.com/shatterlab/shatter/pipeline/bus"
)

// Exit codes.
const (
	exitDone        = 0
	exitUnfinished  = 1 // finished with failed or undecided cells, or ended by an error of this machine
	exitUsage       = 2 // usage or invalid file
	exitIntegrity   = 3 // two different outcomes of one trial
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
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "shatter: %s\n", text)
	}
	return code
}

// interruptible gives a context that the first Ctrl-C ends; the second ends the process at once, which loses nothing either.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
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

stdout is data, stderr is everything else. Exit codes: 0 done; 1 finished with failed or undecided cells;
2 usage or invalid file; 3 two different outcomes of one trial; 4 no connection; 5 the sweep file or the code
changed since the sweep began; 130 interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(runCommand(), checkCommand(), planCommand(), tableCommand(), workerCommand(), pluginCommand(), versionCommand())
	usage(root)
	return root
}

// usage makes wrong numbers of arguments and unknown commands usage errors.
func usage(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, given []string) error {
			if err := args(c, given); err != nil {
				return usageError{fmt.Errorf("%w; usage: %s", err, c.UseLine())}
			}
			return nil
		}
	} else if !c.Runnable() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return c.Help()
			}
			text := fmt.Sprintf("unknown command %q for %q", given[0], c.CommandPath())
			if close := c.SuggestionsFor(given[0]); len(close) > 0 {
				text += fmt.Sprintf(", did you mean %q?", close[0])
			}
			return usageError{errors.New(text)}
		}
	}
	for _, sub := range c.Commands() {
		usage(sub)
	}
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
		invalid pipeline.Problems
		owner   *coordinator.OwnerError
		changed *coordinator.ChangedError
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
	return text + " " + info.GoVersion + " " + pipeline.FloatProfile()
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
