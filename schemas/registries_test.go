package schemas_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/baseline"
	"github.com/shatterlab/shatter/plugins/boosting"
	"github.com/shatterlab/shatter/plugins/expmech"
	"github.com/shatterlab/shatter/plugins/halfspace"
	"github.com/shatterlab/shatter/plugins/online"
	"github.com/shatterlab/shatter/plugins/perturbed"
	"github.com/shatterlab/shatter/plugins/prediction"
)

func distributionTable(*testing.T) string {
	var rows [][]string
	for _, l := range distribution.All() {
		var classes, keys []string
		for _, class := range concept.Names() {
			if l.Fits(class) {
				classes = append(classes, class)
			}
		}
		for _, k := range l.Keys {
			keys = append(keys, k.Name)
		}
		rows = append(rows, []string{code(l.Name), codes(classes), codes(keys), l.Doc})
	}
	var keys [][]string
	for _, k := range distribution.Keys() {
		standard := "none: it must be stated"
		if k.Default != 0 {
			standard = fmt.Sprint(k.Default)
		}
		keys = append(keys, []string{code(k.Name), codes(k.Distributions()), standard, k.Doc})
	}
	return table([]string{"distribution (`distribution`)", "classes", "keys", "how points are drawn"}, rows) + "\n" +
		table([]string{"key", "distributions", "default", "meaning"}, keys)
}

func noiseTable(*testing.T) string {
	var rows [][]string
	for _, n := range noise.All() {
		rate := ""
		if n.Rate {
			rate = code("rate")
		}
		rows = append(rows, []string{code(n.Name), rate, n.Doc})
	}
	return table([]string{"`kind`", "takes", "which labels are wrong"}, rows)
}

func adversaryTables(*testing.T) string {
	var b strings.Builder
	for _, t := range task.All() {
		if !t.Adversary {
			continue
		}
		var rows [][]string
		for _, a := range adversary.All() {
			if a.PlaysRounds() == t.Rounds() {
				rows = append(rows, []string{code(a.Name), codes(adversaryKeys(a)), a.Doc, a.Reveals})
			}
		}
		columns := []string{"`kind`", "takes", "what it asks", "what it reveals"}
		fmt.Fprintf(&b, "Task `%s`:\n\n%s\n", t.Name, table(columns, rows))
	}
	return b.String()
}

// adversaryKeys lists the keys that an adversary accepts, with the values of sees.
func adversaryKeys(a *adversary.Adversary) []string {
	keys := a.Keys()
	if i := slices.Index(keys, "sees"); i >= 0 {
		keys[i] += ": " + strings.Join(a.Sees, " or ")
	}
	return keys
}

// families are the built-in algorithms.
var families = [][]algo.Plugin{
	baseline.Plugins(), expmech.Plugins(), perturbed.Plugins(), boosting.Plugins(), halfspace.Plugins(),
	prediction.Plugins(), online.Plugins(),
}

func algorithmTable(*testing.T) string {
	var rows [][]string
	for _, p := range slices.Concat(families...) {
		a := reflect.Indirect(reflect.ValueOf(p)) // an algo.Algorithm with its own parameter type
		var tasks []string
		for _, task := range []string{"Learn", "Predict", "Online"} {
			if !a.FieldByName(task).IsNil() {
				tasks = append(tasks, strings.ToLower(task))
			}
		}
		private := "no"
		if !a.FieldByName("Guarantee").IsNil() {
			private = "yes"
		}
		name, doc := a.FieldByName("Name").String(), a.FieldByName("Doc").String()
		rows = append(rows, []string{code(name), codes(tasks), private, doc})
	}
	return table([]string{"algorithm", "task", "private", "what it does"}, rows)
}

func premiseTable(*testing.T) string {
	var rows [][]string
	for _, p := range theory.Premises() {
		rows = append(rows, []string{code(p.Name), p.Doc})
	}
	return table([]string{"premise", "what it says of a cell"}, rows)
}
