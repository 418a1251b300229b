package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/baseline"
	"github.com/shatterlab/shatter/plugins/boosting"
	"github.com/shatterlab/shatter/plugins/expmech"
	"github.com/shatterlab/shatter/plugins/halfspace"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/plugins/online"
	"github.com/shatterlab/shatter/plugins/perturbed"
	"github.com/shatterlab/shatter/plugins/prediction"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// builtins returns the algorithms that this binary serves.
func builtins() []algo.Plugin {
	return slices.Concat(
		baseline.Plugins(), boosting.Plugins(), expmech.Plugins(), halfspace.Plugins(),
		online.Plugins(), perturbed.Plugins(), prediction.Plugins(),
	)
}

// builtinsDescribed returns the descriptions of the built-in algorithms by a process that serves them.
var builtinsDescribed = sync.OnceValues(func() (all []*pluginv1.Algorithm, err error) {
	for _, p := range builtins() {
		a, err := algo.Describe(p)
		if err != nil {
			return nil, fmt.Errorf("built-in algorithms: %w", err)
		}
		all = append(all, a)
	}
	return all, nil
})

// builtInDigests returns the identities of the algorithms of this binary, by name.
var builtInDigests = sync.OnceValues(func() (map[string]string, error) {
	all, err := builtinsDescribed()
	digests := map[string]string{}
	for _, a := range all {
		digests[a.Name] = pluginfile.BuiltinDigest(a.Name, a.Version)
	}
	return digests, err
})

func pluginCommand() *cobra.Command {
	c := &cobra.Command{Use: "plugin", Short: "Describe algorithms; write, build and test plugins"}
	c.AddCommand(confined(pluginListCommand()), confined(pluginDescribeCommand()),
		confined(attachable(pluginTestCommand())), pluginNewCommand(), pluginBuildCommand(),
		pluginBridgeCommand(), &cobra.Command{
			Use: "serve", Short: "Serve the built-in algorithms (started by Shatter)", Args: cobra.NoArgs,
			Run: func(*cobra.Command, []string) { algo.Serve(builtins()...) },
		})
	return c
}

// An algorithmOf is an algorithm and what serves it.
type algorithmOf struct {
	plan.Described
	sdk      string // as its plugin names it; "": it does not
	protocol int    // the version of the plugin protocol that this binary speaks with it
}

// described returns the algorithms of this binary and of the given files.
func described(c *cobra.Command, files []string) ([]algorithmOf, error) {
	all, _, err := catalogOf(c.Context(), files)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	return algorithmsOf(c.Context(), all)
}

// algorithmsOf returns the algorithms of a catalog.
func algorithmsOf(ctx context.Context, all *host.Catalog) ([]algorithmOf, error) {
	list, err := all.List(ctx)
	if err != nil {
		return nil, err
	}
	served := make([]algorithmOf, len(list))
	for i, d := range list {
		says, err := all.Describe(ctx, d.Plugin)
		if err != nil {
			return nil, err
		}
		served[i] = algorithmOf{d, says.Sdk, spoken(says)}
	}
	return served, nil
}

// spoken returns the version of the protocol that this binary speaks with a plugin.
func spoken(says *pluginv1.DescribeResponse) int {
	return int(min(says.GetProtocolMax(), pluginv1.Version))
}

func pluginListCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "list [FILE...]", Short: "List the algorithms of Shatter and of plugin files",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			list, err := described(c, args)
			if err != nil {
				return err
			}
			if format == "json" {
				return listJSON(c, list)
			}
			w := tabwriter.NewWriter(forPeople(c.OutOrStdout()), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ALGORITHM\tVERSION\tPRIVATE\tWHAT")
			for _, d := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Name, d.Version, yesOrNo(d.Private), d.Doc)
			}
			return w.Flush()
		},
	}
	addOutput(c, &format, listFormats, "")
	return c
}

// An algorithmReport is the JSON form of an algorithm in list and describe. The names of its keys do not change.
type algorithmReport struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	Doc        string            `json:"doc"`
	Plugin     string            `json:"plugin"` // its file; "": built in
	Identity   string            `json:"identity"`
	SDK        string            `json:"sdk"`      // version of the SDK of the plugin; "": unknown
	Protocol   int               `json:"protocol"` // the version that is spoken with it
	Tasks      []string          `json:"tasks"`
	Private    bool              `json:"private"`
	Parameters []parameterReport `json:"parameters"`
	Metrics    map[string]string `json:"metrics"`      // with their meaning
	Units      map[string]string `json:"metric_units"` // of those that state one
}

type parameterReport struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default any      `json:"default"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"doc"`
}

// reportOf returns the JSON form of an algorithm.
func reportOf(d algorithmOf) (algorithmReport, error) {
	r := algorithmReport{
		Name: d.Name, Version: d.Version, Doc: d.Doc, Plugin: d.Plugin, Private: d.Private, Tasks: taskNames(d),
		SDK: d.sdk, Protocol: d.protocol, Parameters: []parameterReport{}, Metrics: map[string]string{},
		Units: map[string]string{},
	}
	for _, p := range d.Parameters {
		kind, _ := valueText(p.Default)
		r.Parameters = append(r.Parameters, parameterReport{
			Name: p.Name, Type: kind, Default: p.Default.Plain(), Min: p.Min, Max: p.Max, Choices: p.Choices,
			Doc: p.Doc,
		})
	}
	for _, m := range d.Metrics {
		r.Metrics[m.Name] = m.Doc
		if unit := schemas.DeclaredMetric(m.Name, m.Doc).Unit; unit != "" {
			r.Units[m.Name] = unit
		}
	}
	var err error
	r.Identity, err = identity(d)
	return r, err
}

// taskNames lists the tasks of an algorithm.
func taskNames(d algorithmOf) []string {
	names := make([]string, len(d.Tasks))
	for i, t := range d.Tasks {
		names[i] = t.Name()
	}
	return names
}

func listJSON(c *cobra.Command, list []algorithmOf) error {
	reports := make([]algorithmReport, len(list))
	for i, d := range list {
		var err error
		if reports[i], err = reportOf(d); err != nil {
			return err
		}
	}
	return writeJSON(c.OutOrStdout(), reports)
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// identity returns the digest of what runs an algorithm's trials.
func identity(d algorithmOf) (string, error) {
	if d.Plugin == "" {
		return pluginfile.BuiltinDigest(d.Name, d.Version), nil
	}
	file, err := pluginfile.Read(d.Plugin)
	if err != nil {
		return "", err
	}
	return file.Digest, nil
}
