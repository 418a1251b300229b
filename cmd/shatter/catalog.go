package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
)

// builtin returns how this binary serves its own algorithms: it starts itself under go-plugin, like
// any other plugin file.
func builtin() (host.Command, error) {
	self, err := os.Executable()
	if err != nil {
		return host.Command{}, fmt.Errorf("find this binary: %w", err)
	}
	return host.Command{Path: self, Args: []string{"plugin", "serve"}}, nil
}

// catalog returns the built-in algorithms and those of plugin files with absolute paths, in the
// sandbox, and with the attached plugin, that ctx gives.
func catalog(ctx context.Context, files ...string) (*host.Catalog, error) {
	self, err := builtin()
	if err != nil {
		return nil, err
	}
	self.Sandbox = sandboxOf(ctx)
	known, err := builtinsDescribed()
	if err != nil {
		return nil, err
	}
	c := host.NewCatalog(self, files...)
	c.KnowBuiltin(known)
	return c, attachmentOf(ctx).attach(c, files)
}

// catalogOf returns the catalog with plugin files as they were named on the command line, and their
// absolute paths.
func catalogOf(ctx context.Context, files []string) (*host.Catalog, []string, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		var err error
		if paths[i], err = filepath.Abs(f); err != nil {
			return nil, nil, err
		}
	}
	c, err := catalog(ctx, paths...)
	return c, paths, err
}

// attachKey is the key of an attachment in the context of a command.
type attachKey struct{}

// An attachment names the plugin that a person has started.
type attachment struct {
	plugin string // path of the plugin file that it replaces; "": the only one
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
	c.Flags().StringVar(&flag, "attach", "", "`SOCKET`, or FILE=SOCKET, of a plugin in a debugger, started with "+
		"SHATTER_ATTACH=1; it runs without limits, sandbox and cache")
	before(c, func() (err error) {
		if flag == "" {
			return nil
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
		return nil
	})
	return c
}

// attach replaces the file that the attachment names by the attached plugin. files are the files of the command line.
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
		return wrong("--attach: the sweep file names no plugin file that is there: add that of the plugin " +
			"to its plugins; shatter check says what is wrong with one")
	case a.plugin == "" && len(known) > 1:
		return wrong("--attach: the sweep file names %s: say which one is attached, as in --attach %s=%s",
			wording.Count(len(known), "plugin"), wording.ShellWord(files[0]), wording.ShellWord(a.socket))
	case a.plugin == "":
		a.plugin = files[0]
	case !known[a.plugin]:
		return wrong("--attach: the plugin %q is not among those of the sweep file: %s", a.plugin, wording.And(files))
	}
	bridge, err := builtin()
	if err != nil {
		return err
	}
	bridge.Args = []string{"plugin", "bridge", a.socket}
	c.Attach(a.plugin, a.digest, bridge)
	return nil
}

// pluginBridgeCommand is the hidden command that replaces an attached plugin file.
func pluginBridgeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "bridge SOCKET", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return host.Bridge(args[0], c.OutOrStdout()) },
	}
}

// sandboxKey is the key of the policy of the sandbox in the context of a command.
type sandboxKey struct{}

// sandboxOf returns the policy of the sandbox that the command line of ctx gives.
func sandboxOf(ctx context.Context) sandbox.Policy {
	p, _ := ctx.Value(sandboxKey{}).(sandbox.Policy)
	return p
}

// confined gives a command that starts plugins the flags of the sandbox.
func confined(c *cobra.Command) *cobra.Command {
	mode, read, names := string(sandbox.Prefer), []string(nil), []string(nil)
	flags := c.Flags()
	flags.StringVar(&mode, "sandbox", mode,
		"`layers` around plugins: prefer (those that this machine has), require ("+
			wording.And(sandbox.Required())+"), or off")
	flags.StringArrayVar(&read, "sandbox-read", nil,
		"`path` that plugins may read, in addition to themselves and the system's libraries (repeatable)")
	flags.StringArrayVar(&names, "plugin-env", nil,
		"environment `variable` that plugins receive; its value is part of their identity (repeatable)")
	before(c, func() error {
		policy, err := sandboxPolicy(mode, read, names)
		if err != nil {
			return usageError{err}
		}
		c.SetContext(context.WithValue(c.Context(), sandboxKey{}, policy))
		return nil
	})
	return c
}

// showSandbox prints the layers around a plugin, as they are found when it starts.
func showSandbox(c *cobra.Command, cmd host.Command) error {
	p, err := host.Start(c.Context(), cmd)
	if err != nil {
		return nil // the suite reports the error
	}
	defer p.Stop()
	if len(p.Sandbox()) == 0 {
		_, err = fmt.Fprintln(c.OutOrStdout(), "sandbox  off")
	}
	for _, l := range p.Sandbox() {
		verdict := "holds "
		if !l.Held {
			verdict = "absent"
		}
		if _, err := fmt.Fprintf(c.OutOrStdout(), "sandbox  %s  %s: %s\n", verdict, l.Name, l.How); err != nil {
			return err
		}
	}
	return err
}

// sandboxPolicy checks the values of the flags of the sandbox.
func sandboxPolicy(mode string, read, names []string) (p sandbox.Policy, err error) {
	if p.Mode, err = sandbox.ParseMode(mode); err != nil {
		return p, fmt.Errorf("--sandbox: %w", err)
	}
	for _, path := range read {
		if path, err = filepath.Abs(path); err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return p, fmt.Errorf("--sandbox-read: %w", err)
		}
		p.Read = append(p.Read, path)
	}
	for _, name := range names {
		value, set := os.LookupEnv(name)
		if !set {
			return p, fmt.Errorf("--plugin-env %s: the environment has no such variable", name)
		}
		p.Env = append(p.Env, name+"="+value)
	}
	return p, nil
}
