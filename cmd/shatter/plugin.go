package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/baseline"
	"github.com/shatterlab/shatter/plugins/boosting"
	"github.com/shatterlab/shatter/plugins/expmech"
	"github.com/shatterlab/shatter/plugins/halfspace"
	"github.com/shatterlab/shatter/plugins/online"
	"github.com/shatterlab/shatter/plugins/perturbed"
	"github.com/shatterlab/shatter/plugins/prediction"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// builtins returns the algorithms that this binary serves.
func builtins() []algo.Plugin {
	return slices.Concat(
		baseline.Plugins(), boosting.Plugins(), expmech.Plugins(), halfspace.Plugins(),
		online.Plugins(), perturbed.Plugins(), prediction.Plugins(),
	)
}

// builtInDigests returns the identities of the algorithms of this binary, by name.
var builtInDigests = sync.OnceValues(func() (map[string]string, error) {
	digests := map[string]string{}
	for _, p := range builtins() {
		a, err := algo.Describe(p)
		if err != nil {
			return nil, fmt.Errorf("built-in algorithms: %w", err)
		}
		digests[a.Name] = pluginfile.BuiltinDigest(a.Name, a.Version)
	}
	return digests, nil
})

func pluginCommand() *cobra.Command {
	c := &cobra.Command{Use: "plugin", Short: "Look at algorithms, and test plugins"}
	c.AddCommand(confined(pluginListCommand()), confined(pluginDescribeCommand()),
		confined(attachable(pluginTestCommand())), pluginNewCommand(), pluginBuildCommand(),
		pluginBridgeCommand(), &cobra.Command{
			Use: "serve", Short: "Serve the built-in algorithms (Shatter starts this itself)", Args: cobra.NoArgs,
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
	list, err := all.List(c.Context())
	if err != nil {
		return nil, blamePlugin(err)
	}
	served := make([]algorithmOf, len(list))
	for i, d := range list {
		says, err := all.Describe(c.Context(), d.Plugin)
		if err != nil {
			return nil, blamePlugin(err)
		}
		served[i] = algorithmOf{d, says.Sdk, int(min(says.ProtocolMax, pluginv1.Version))}
	}
	return served, nil
}

func pluginListCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "list [FILE...]", Short: "List the built-in algorithms, and those of plugin files",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOutput(c.OutOrStdout(), format, listFormats); err != nil {
				return err
			}
			list, err := described(c, args)
			if err != nil {
				return err
			}
			if format == "json" {
				return listJSON(c, list)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
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

// An algorithmReport is what list and describe say of an algorithm with -o json. The names of its keys stay.
type algorithmReport struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	Doc        string            `json:"doc"`
	Plugin     string            `json:"plugin"` // its file; "": built in
	Identity   string            `json:"identity"`
	SDK        string            `json:"sdk"`      // that the plugin was built with; "": it does not say
	Protocol   int               `json:"protocol"` // the version that is spoken with it
	Tasks      []string          `json:"tasks"`
	Private    bool              `json:"private"`
	Parameters []parameterReport `json:"parameters"`
	Metrics    map[string]string `json:"metrics"` // with their meaning
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

// reportOf returns what is said of an algorithm with -o json.
func reportOf(d algorithmOf) (algorithmReport, error) {
	r := algorithmReport{
		Name: d.Name, Version: d.Version, Doc: d.Doc, Plugin: d.Plugin, Private: d.Private, Tasks: taskNames(d),
		SDK: d.sdk, Protocol: d.protocol, Parameters: []parameterReport{}, Metrics: map[string]string{},
	}
	for _, p := range d.Parameters {
		kind, _ := valueText(p.Default)
		r.Parameters = append(r.Parameters, parameterReport{
			Name: p.Name, Type: kind, Default: p.Default.Plain(), Min: p.Min, Max: p.Max, Choices: p.Choices, Doc: p.Doc,
		})
	}
	for _, m := range d.Metrics {
		r.Metrics[m.Name] = m.Doc
	}
	var err error
	r.Identity, err = identity(d)
	return r, err
}

// taskNames lists the tasks of an algorithm.
func taskNames(d algorithmOf) []string {
	names := make([]string, len(d.Tasks))
	for i, t := range d.Tasks {
		names[i] = strings.ToLower(strings.TrimPrefix(t.String(), "TASK_"))
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

func pluginDescribeCommand() *cobra.Command {
	var files []string
	var format string
	c := &cobra.Command{
		Use: "describe ALGORITHM", Short: "Show an algorithm's tasks, parameters, metrics and SDK", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOutput(c.OutOrStdout(), format, listFormats); err != nil {
				return err
			}
			list, err := described(c, files)
			if err != nil {
				return err
			}
			names := make([]string, 0, len(list))
			for _, d := range list {
				if d.Name == args[0] {
					return describe(c, d, format)
				}
				names = append(names, d.Name)
			}
			return usageError{fmt.Errorf("describe %q: no such algorithm%s", args[0], wording.DidYouMean(args[0], names))}
		},
	}
	addOutput(c, &format, listFormats, "")
	c.Flags().StringArrayVar(&files, "plugin", nil, "plugin file of others (again for more)")
	return c
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

// describe prints what an algorithm says of itself.
func describe(c *cobra.Command, d algorithmOf, format string) error {
	out := c.OutOrStdout()
	if format == "json" {
		r, err := reportOf(d)
		if err != nil {
			return err
		}
		return writeJSON(out, r)
	}
	fmt.Fprintf(out, "%s %s: %s\n", d.Name, d.Version, d.Doc)
	if d.Plugin != "" {
		fmt.Fprintf(out, "served by %s\n", d.Plugin)
	}
	digest, err := identity(d)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "identity sha256 %s\n", digest)
	fmt.Fprintf(out, "built with %s, speaks protocol %d\n", cmp.Or(d.sdk, "an SDK that it does not name"), d.protocol)
	fmt.Fprintf(out, "tasks: %s\n", strings.Join(taskNames(d), ", "))
	if d.Private {
		fmt.Fprintln(out, "private: runs once for each epsilon (and delta) of the sweep")
	} else {
		fmt.Fprintln(out, "not private: runs once, whatever epsilon")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(d.Parameters) > 0 {
		fmt.Fprintln(w, "\nPARAMETER\tTYPE\tDEFAULT\tALLOWED\tWHAT")
	}
	for _, p := range d.Parameters {
		kind, value := valueText(p.Default)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Name, kind, value, allowed(p), p.Doc)
	}
	if len(d.Metrics) > 0 {
		fmt.Fprintln(w, "\nMETRIC\tWHAT")
	}
	slices.SortFunc(d.Metrics, func(a, b *pluginv1.Metric) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range d.Metrics {
		fmt.Fprintf(w, "%s\t%s\n", m.Name, m.Doc)
	}
	return w.Flush()
}

// valueText returns the type and the text of a parameter's value.
func valueText(v *pluginv1.Value) (kind, text string) {
	switch v := v.GetKind().(type) {
	case *pluginv1.Value_Int:
		return "int", fmt.Sprint(v.Int)
	case *pluginv1.Value_Float:
		return "float", fmt.Sprint(v.Float)
	case *pluginv1.Value_Bool:
		return "bool", fmt.Sprint(v.Bool)
	case *pluginv1.Value_String_:
		return "string", v.String_
	}
	return "?", ""
}

// allowed says which values a parameter may have.
func allowed(p *pluginv1.Parameter) string {
	switch {
	case len(p.Choices) > 0:
		return strings.Join(p.Choices, ", ")
	case p.Min != nil && p.Max != nil:
		return fmt.Sprintf("%v to %v", *p.Min, *p.Max)
	case p.Min != nil:
		return fmt.Sprintf("%v and more", *p.Min)
	case p.Max != nil:
		return fmt.Sprintf("up to %v", *p.Max)
	}
	return ""
}
