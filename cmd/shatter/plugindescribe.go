package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/plugintest"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

func pluginDescribeCommand() *cobra.Command {
	var files []string
	var format string
	var reasons bool
	c := &cobra.Command{
		Use:   "describe ALGORITHM",
		Short: "Show an algorithm's tasks, classes, parameters and bounds",
		Args:  cobra.ExactArgs(1),
		Long: `Show an algorithm's tasks, classes, parameters, metrics, bounds and SDK.

Classes and bounds are the algorithm's answers to the acceptance suite's example of each class, with
clean labels and the default parameters. The answers may differ for other parameters, dimensions or
noise: shatter check FILE asks about a sweep.`,
		RunE: func(c *cobra.Command, args []string) error {
			all, _, err := catalogOf(c.Context(), files)
			if err != nil {
				return err
			}
			defer all.Close()
			list, err := algorithmsOf(c.Context(), all)
			if err != nil {
				return err
			}
			names := make([]string, 0, len(list))
			for _, d := range list {
				if d.Name != args[0] {
					names = append(names, d.Name)
					continue
				}
				r, err := describe(c.Context(), all, d)
				switch {
				case err != nil:
					return err
				case format == "json":
					return writeJSON(c.OutOrStdout(), r)
				}
				return r.write(forPeople(c.OutOrStdout()), reasons)
			}
			hint := wording.DidYouMean(args[0], names)
			return wrong("describe %q: no such algorithm%s", args[0], hint)
		},
	}
	addOutput(c, &format, listFormats, "")
	c.Flags().StringArrayVar(&files, "plugin", nil, "plugin `FILE` with further algorithms (repeatable)")
	c.Flags().BoolVar(&reasons, "reasons", false, "reasons why classes are refused (always in -o json)")
	return c
}

// A description is the JSON form of an algorithm in describe. The names of its keys do not change.
type description struct {
	algorithmReport
	Classes    []classAnswer     `json:"classes"`
	Guarantees []guaranteeAnswer `json:"guarantees"`
	Bounds     []boundAnswer     `json:"bounds"`

	parameters []*pluginv1.Parameter
}

// A classAnswer is the answer of an algorithm about a class.
type classAnswer struct {
	Task     string `json:"task"`
	Offline  bool   `json:"offline,omitempty"` // predict: the queries are known beforehand
	Class    string `json:"class"`
	Dim      int    `json:"dim"`
	Domain   uint64 `json:"domain,omitempty"`
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"` // why it is refused
}

// A guaranteeAnswer is a guarantee that an algorithm states.
type guaranteeAnswer struct {
	Pure     bool     `json:"pure"`
	Unproved bool     `json:"unproved"`
	Source   string   `json:"source"`
	Classes  []string `json:"classes"`
}

// A boundAnswer is a bound that an algorithm states.
type boundAnswer struct {
	Task     string   `json:"task"`
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`             // what its value counts: examples, regret or mistakes
	Metric   string   `json:"metric,omitempty"` // by which it is reported of each game, in the place of the value
	Standing string   `json:"standing"`         // proved, declared or printed
	Order    bool     `json:"order,omitempty"`  // an order of magnitude alone
	Premises []string `json:"premises"`
	Source   string   `json:"source"`
	Classes  []string `json:"classes"` // for which it is stated
}

// describe asks an algorithm of the catalog about the examples of all classes.
func describe(ctx context.Context, all plan.Algorithms, d algorithmOf) (*description, error) {
	report, err := reportOf(d)
	if err != nil {
		return nil, err
	}
	settings := plugintest.Examples(d.Algorithm)
	answers, err := all.Ask(ctx, d.Plugin, settings)
	if err != nil {
		return nil, err
	}
	r := &description{
		algorithmReport: report, Guarantees: []guaranteeAnswer{}, Bounds: []boundAnswer{}, parameters: d.Parameters,
	}
	for i, s := range settings {
		refusal, class := answers[i].GetCheck().GetRefusal(), s.GetProblem().GetClass()
		r.Classes = append(r.Classes, classAnswer{
			Task: s.GetTask().Name(), Offline: s.GetOffline(), Class: class, Dim: int(s.GetProblem().GetDim()),
			Domain: s.GetProblem().GetDomain(), Accepted: refusal == nil, Reason: refusal.GetMessage(),
		})
		if g := answers[i].GetCheck().GetGuarantee(); g != nil && refusal == nil {
			r.addGuarantee(g, class)
		}
		for _, b := range answers[i].GetBound().GetBounds() {
			r.addBound(d, s.GetTask(), b, class)
		}
	}
	return r, nil
}

// addGuarantee notes a guarantee that is stated for a class.
func (r *description) addGuarantee(g *pluginv1.Guarantee, class string) {
	i := slices.IndexFunc(r.Guarantees, func(known guaranteeAnswer) bool {
		return known.Source == g.GetSource() && known.Pure == g.GetPure() && known.Unproved == g.GetUnproved()
	})
	if i < 0 {
		i = len(r.Guarantees)
		r.Guarantees = append(r.Guarantees, guaranteeAnswer{g.GetPure(), g.GetUnproved(), g.GetSource(), nil})
	}
	r.Guarantees[i].Classes = withClass(r.Guarantees[i].Classes, class)
}

// addBound notes a bound that is stated for a class in a task.
func (r *description) addBound(d algorithmOf, task pluginv1.Task, b *pluginv1.Bound, class string) {
	i := slices.IndexFunc(r.Bounds, func(known boundAnswer) bool {
		return known.Task == task.Name() && known.Name == b.GetName() && known.Source == b.GetSource() &&
			slices.Equal(known.Premises, b.GetPremises())
	})
	if i < 0 {
		a := boundAnswer{
			Task: task.Name(), Name: b.GetName(), Unit: theory.UnitOf(b, task), Order: b.GetOrder(),
			Standing: (&trial.Cell{Plugin: d.Plugin}).Standing(b), Source: b.GetSource(),
			Premises: append([]string{}, b.GetPremises()...),
		}
		metric := theory.PrintedRegret
		if b.GetProved() {
			metric = theory.ProvedRegret
		}
		if _, reported := r.Metrics[metric]; reported && a.Unit != theory.Examples {
			a.Metric = metric
		}
		i = len(r.Bounds)
		r.Bounds = append(r.Bounds, a)
	}
	r.Bounds[i].Classes = withClass(r.Bounds[i].Classes, class)
}

func withClass(list []string, class string) []string {
	if slices.Contains(list, class) {
		return list
	}
	return append(list, class)
}

// write writes the description for people.
func (r *description) write(out io.Writer, reasons bool) error {
	fmt.Fprintf(out, "%s %s: %s\n", r.Name, r.Version, r.Doc)
	if r.Plugin != "" {
		fmt.Fprintf(out, "served by %s\n", r.Plugin)
	}
	fmt.Fprintf(out, "identity sha256 %s\n", r.Identity)
	fmt.Fprintf(out, "built with %s, speaks protocol %d\n", cmp.Or(r.SDK, "an SDK that it does not name"), r.Protocol)
	fmt.Fprintf(out, "tasks: %s\n", strings.Join(r.Tasks, ", "))
	if r.Private {
		fmt.Fprintln(out, "private: runs once for each epsilon (and delta) of the sweep")
	} else {
		fmt.Fprintln(out, "not private: runs once, whatever epsilon")
	}
	r.writeGuarantees(out)
	r.writeClasses(out, reasons)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Parameters) > 0 {
		fmt.Fprintln(w, "\nPARAMETER\tTYPE\tDEFAULT\tALLOWED\tWHAT")
	}
	for _, p := range r.parameters {
		kind, value := valueText(p.Default)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Name, kind, value, allowed(p), p.Doc)
	}
	if len(r.Metrics) > 0 {
		fmt.Fprintln(w, "\nMETRIC\tUNIT\tWHAT")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		m := schemas.DeclaredMetric(name, r.Metrics[name])
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Name, cmp.Or(m.Unit, "-"), m.Doc)
	}
	if len(r.Bounds) > 0 {
		fmt.Fprintln(w, "\nBOUND\tCOUNTS\tSTANDING\tPREMISES\tSOURCE")
	}
	for _, b := range r.Bounds {
		counts, standing := b.Unit, b.Standing
		if b.Metric != "" {
			counts += ", in each game m_" + b.Metric
		}
		if b.Order {
			standing += ", order alone"
		}
		premises := cmp.Or(strings.Join(b.Premises, ", "), "-")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", b.Name, counts, standing, premises, b.Source)
	}
	return w.Flush()
}

// writeGuarantees writes the privacy that is stated, each kind with its source.
func (r *description) writeGuarantees(out io.Writer) {
	for _, g := range r.Guarantees {
		kind := "approximate"
		if g.Pure {
			kind = "pure"
		}
		if g.Unproved {
			kind += ", unproved"
		}
		where := ""
		if len(r.Guarantees) > 1 {
			where = " (" + strings.Join(g.Classes, ", ") + ")"
		}
		fmt.Fprintf(out, "guarantee%s: %s: %s\n", where, kind, g.Source)
	}
}

// writeClasses writes which classes are accepted in each kind of game, and, with reasons, why others are not.
func (r *description) writeClasses(out io.Writer, reasons bool) {
	for _, same := range gamesOf(r.Classes) {
		var accepted, refused []string
		for _, c := range same {
			if c.Accepted {
				accepted = append(accepted, c.Class)
			} else {
				refused = append(refused, c.Class)
			}
		}
		game := same[0].Task
		if same[0].Offline {
			game += ", offline"
		}
		fmt.Fprintf(out, "classes (%s), as it answers when asked:\n", game)
		fmt.Fprintf(out, "  accepted: %s\n", cmp.Or(strings.Join(accepted, ", "), "none of the examples"))
		switch {
		case len(refused) > 0 && !reasons:
			fmt.Fprintf(out, "  refused:  %s (--reasons says why)\n", strings.Join(refused, ", "))
		case len(refused) > 0:
			for _, c := range same {
				if !c.Accepted {
					fmt.Fprintf(out, "  refused:  %s: %s\n", c.size(), wording.OneLine(c.Reason, 1000))
				}
			}
		}
	}
}

// size returns the class with the numbers that it was asked about.
func (c classAnswer) size() string {
	text := c.Class
	if c.Domain > 0 {
		text += fmt.Sprintf(", domain %d", c.Domain)
	}
	if c.Dim > 1 {
		text += fmt.Sprintf(", d %d", c.Dim)
	}
	return text
}

// gamesOf groups answers by kind of game, in their order.
func gamesOf(list []classAnswer) (games [][]classAnswer) {
	for _, c := range list {
		i := slices.IndexFunc(games, func(g []classAnswer) bool {
			return g[0].Task == c.Task && g[0].Offline == c.Offline
		})
		if i < 0 {
			i, games = len(games), append(games, nil)
		}
		games[i] = append(games[i], c)
	}
	return games
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

// allowed describes the values that a parameter may have.
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
