package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// addGroup adds commands to root and lists them below the group's name in its help.
func addGroup(root *cobra.Command, name string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: name, Title: name + ":"})
	for _, c := range commands {
		c.GroupID = name
	}
	root.AddCommand(commands...)
}

// examples holds command lines for the help of each command, by its path without "shatter".
var examples = map[string]string{
	"init":   "shatter init quick mine.yaml",
	"schema": "shatter schema result",
	"check":  "shatter check mine.yaml",
	"plan":   "shatter plan mine.yaml",
	"run":    "shatter run mine.yaml --out out --budget 2h\nshatter run mine.yaml seed=2 --out second",
	"trial":  "shatter trial out 0123456789/100/7",
	"verify": "shatter verify out --sample 1%",
	"cache":  "shatter cache",
	"table": "shatter table out --where epsilon=0.5 --sort algorithm,-n_star\n" +
		"shatter table out --columns algorithm,epsilon,n_star,m_training_error -o tex",
	"plot": "shatter plot out --what error                            # mean error against n\n" +
		"shatter plot out --x noise_rate --where epsilon=1,2      # n* against the noise rate\n" +
		"shatter plot out --what curve --group epsilon            # success rates, a color per epsilon\n" +
		"shatter plot out --what m_training_error --scale linear  # a metric of a plugin",
	"report": "shatter report out",
	"query": "shatter query out 'select epsilon, n_star, ratio_high from cells order by epsilon'\n" +
		"shatter query out 'select n, epsilon, avg(error) from trials group by all order by all'\n" +
		"shatter query out -o csv 'select n_star, t.* from trials t join cells using (cell)' > all.csv",
	"serve": "shatter serve out",
	"compare": "shatter compare out other\nshatter compare out --by replica\n" +
		"shatter compare out --by algorithm=expmech/em,expmech/pf",
	"merge":             "shatter merge out other",
	"submit":            "shatter submit mine.yaml --server nats://host:4222",
	"sweeps":            "shatter sweeps --server nats://host:4222",
	"status":            "shatter status 0123",
	"watch":             "shatter watch 0123",
	"logs":              "shatter logs 0123",
	"pause":             "shatter pause 0123",
	"resume":            "shatter resume 0123 --budget 50000",
	"cancel":            "shatter cancel 0123",
	"results":           "shatter results 0123 --out out",
	"delete":            "shatter delete 0123",
	"worker":            "shatter worker --server nats://host:4222 --workers 8",
	"workers":           "shatter workers",
	"coordinator":       "shatter coordinator --server nats://host:4222 --dir sweeps",
	"cluster init":      "shatter cluster init mycluster --host nats1.example.org",
	"cluster worker":    "shatter cluster worker node7 --dir mycluster",
	"cluster submitter": "shatter cluster submitter ann --dir mycluster",
	"cluster coordinator": "shatter cluster coordinator second --dir mycluster\n" +
		"shatter cluster coordinator blue --team blue --dir mycluster",
	"cluster renew":   "shatter cluster renew node7 --dir mycluster",
	"cluster revoke":  "shatter cluster revoke node7 --dir mycluster",
	"plugin new":      "shatter plugin new mine --lang python",
	"plugin build":    "shatter plugin build mine.py --include weights.npy",
	"plugin list":     "shatter plugin list ./mine",
	"plugin serve":    "shatter plugin serve",
	"plugin describe": "shatter plugin describe expmech/em",
	"plugin test":     "shatter plugin test ./mine",
	"audit":           "shatter audit ./mine\nshatter audit ./mine privacy.epsilon=0.1 n=[50]",
	"doctor":          "shatter doctor\nshatter doctor sweeps --server nats://host:4222",
	"version":         "shatter version",
}

// addExamples gives each command below c its example, unless it has one.
func addExamples(c *cobra.Command) {
	for _, below := range c.Commands() {
		if text := examples[strings.TrimPrefix(below.CommandPath(), "shatter ")]; text != "" && below.Example == "" {
			below.Example = "  " + strings.ReplaceAll(text, "\n", "\n  ")
		}
		addExamples(below)
	}
}

// blameArguments turns wrong numbers of arguments and unknown commands, of c and of all commands
// below it, into usage errors.
func blameArguments(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, given []string) error {
			if err := args(c, given); err != nil {
				return wrong("wrong number of arguments (%d); usage: %s", len(given), c.UseLine())
			}
			return nil
		}
	} else if !c.Runnable() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return c.Help()
			}
			return unknownCommand(c, given[0])
		}
	}
	for _, below := range c.Commands() {
		blameArguments(below)
	}
}

// unknownCommand returns the error for a word that is no command below c.
func unknownCommand(c *cobra.Command, word string) error {
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	hint := cmp.Or(isNow(word), wording.DidYouMean(word, names), fmt.Sprintf("; `%s --help` lists them", c.CommandPath()))
	return wrong("unknown command %q for %q%s", word, c.CommandPath(), hint)
}

// renamed holds the present names of former commands and flags.
var renamed = map[string]string{"forget": "delete", "--looks": "--recheck", "--check-share": "--recheck"}

// isNow returns the end of a message about a former name; "" for other names.
func isNow(name string) string {
	if now, ok := renamed[name]; ok {
		return fmt.Sprintf("; it is called %s now", now)
	}
	return ""
}

var (
	flagNames = regexp.MustCompile(`--[a-z-]+`)
	parsing   = regexp.MustCompile(`: strconv\.\w+: parsing ".*": `)
)

// wrongFlag describes a mistake in a flag, with the flag that was perhaps meant.
func wrongFlag(c *cobra.Command, err error) error {
	text := parsing.ReplaceAllString(err.Error(), ": ")
	var unknown interface{ GetSpecifiedName() string }
	if errors.As(err, &unknown) {
		names := flagNames.FindAllString(c.Flags().FlagUsages(), -1)
		name := "--" + unknown.GetSpecifiedName()
		text += cmp.Or(isNow(name), wording.DidYouMean(name, names))
	}
	return wrong("%s; see %s --help", strings.TrimSuffix(text, "?"), c.CommandPath())
}
