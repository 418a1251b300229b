package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
)

// attachKey is the key of an attachment in the context of a command.
type attachKey struct{}

// An attachment says which plugin a person has started.
type attachment struct {
	plugin string // path of the file that it stands in for; "": the only one
	socket string // where it listens; "": no plugin was
	digest string // its identity
}

// attachmentOf returns the attachment that the command line of ctx gives.
func attachmentOf(ctx context.Context) attachment {
	a, _ := ctx.Value(attachKey{}).(attachment)
	return a
}

// attachable gives a command that starts plugins the flag --attach.
func attachable(c *cobra.Command) *cobra.Command {
	flag := ""
	c.Flags().StringVar(&flag, "attach", "",
		"socket, or FILE=SOCKET, of a plugin that runs in a debugger, as it prints it where it is started with "+
			"SHATTER_ATTACH=1; it stands in for the plugin file, without limits, sandbox and cache")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if flag == "" {
			return run(c, args)
		}
		var a attachment
		file, socket, named := strings.Cut(flag, "=")
		if !named {
			socket = flag
		} else if a.plugin, err = filepath.Abs(file); err != nil {
			return err
		}
		if a.socket, err = filepath.Abs(socket); err != nil {
			return err
		}
		if a.digest, err = host.Attached(a.socket); err != nil {
			return usageError{err}
		}
		c.SetContext(context.WithValue(c.Context(), attachKey{}, a))
		fmt.Fprintf(c.ErrOrStderr(),
			"shatter: attached to %s: no limits of time and memory, no sandbox, and nothing is cached\n", a.socket)
		return run(c, args)
	}
	return c
}

// attach has the attached plugin stand in for the file that it is meant for, out of the given ones.
func (a attachment) attach(c *host.Catalog, files []string) error {
	if a.socket == "" {
		return nil
	}
	known := map[string]bool{}
	for _, f := range files {
		known[f] = true
	}
	switch {
	case a.plugin == "" && len(known) == 0:
		return usageError{errors.New("--attach: the sweep file names no plugin file that is there: add that of the plugin " +
			"to its plugins; shatter check says what is wrong with one")}
	case a.plugin == "" && len(known) > 1:
		return usageError{fmt.Errorf("--attach: the sweep file names %s: say which one is attached, as in --attach %s=%s",
			wording.Count(len(known), "plugin"), wording.ShellWord(files[0]), wording.ShellWord(a.socket))}
	case a.plugin == "":
		a.plugin = files[0]
	case !known[a.plugin]:
		return usageError{fmt.Errorf("--attach: the plugin %q is not among those of the sweep file: %s",
			a.plugin, wording.And(files))}
	}
	bridge, err := builtin()
	if err != nil {
		return err
	}
	bridge.Args = []string{"plugin", "bridge", a.socket}
	c.Attach(a.plugin, a.digest, bridge)
	return nil
}

// pluginBridgeCommand is what takes the place of a plugin file that is attached.
func pluginBridgeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "bridge SOCKET", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return host.Bridge(args[0], c.OutOrStdout()) },
	}
}
