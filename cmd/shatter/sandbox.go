package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
)

// sandboxKey is the key of the policy of the sandbox in the context of a command.
type sandboxKey struct{}

// sandboxOf returns the policy of the sandbox that the command line of ctx gives.
func sandboxOf(ctx context.Context) sandbox.Policy {
	p, _ := ctx.Value(sandboxKey{}).(sandbox.Policy)
	return p
}

// needsLayers says in the usage of flags what sandbox.Require needs.
var needsLayers = "require (an error without " + wording.And(sandbox.Required()) + ")"

// confined gives a command that starts plugins the flags of the sandbox.
func confined(c *cobra.Command) *cobra.Command {
	mode, read := string(sandbox.Prefer), []string(nil)
	flags := c.Flags()
	flags.StringVar(&mode, "sandbox", mode,
		"layers around plugins: prefer (those that this machine has), "+needsLayers+", or off")
	flags.StringArrayVar(&read, "sandbox-read", nil,
		"file or folder that plugins may read, beside themselves and the system's libraries (again for more)")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		policy, err := sandboxPolicy(mode, read)
		if err != nil {
			return usageError{err}
		}
		c.SetContext(context.WithValue(c.Context(), sandboxKey{}, policy))
		return run(c, args)
	}
	return c
}

// showSandbox prints the layers around a plugin, as they are found when it starts.
func showSandbox(c *cobra.Command, cmd host.Command) error {
	p, err := host.Start(c.Context(), cmd)
	if err != nil {
		return nil // the suite tells
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
func sandboxPolicy(mode string, read []string) (p sandbox.Policy, err error) {
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
	return p, nil
}
