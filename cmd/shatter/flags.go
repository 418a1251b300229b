package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/report"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A textFlag is a flag whose value is read from a text.
type textFlag[T any] struct {
	value *T
	kind  string // name of the value in the help
	parse func(string) (T, error)
	text  func(T) string
}

func (f textFlag[T]) Type() string   { return f.kind }
func (f textFlag[T]) String() string { return f.text(*f.value) }

func (f textFlag[T]) Set(text string) error {
	v, err := f.parse(text)
	if err == nil {
		*f.value = v
	}
	return err
}

// addBudget adds --budget: a number of trials (50000, 5e4) or a time (2h, 1h30m).
func addBudget(flags *pflag.FlagSet, b *coordinator.Budget, usage string) {
	flags.Var(textFlag[coordinator.Budget]{b, "limit", parseBudget, func(b coordinator.Budget) string {
		switch {
		case b.Trials > 0:
			return strconv.FormatInt(b.Trials, 10)
		case b.Time > 0:
			return wording.RoughDuration(b.Time)
		}
		return ""
	}}, "budget", usage)
}

func parseBudget(text string) (coordinator.Budget, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 1 && n <= 1e15 && n == math.Trunc(n) {
		return coordinator.Budget{Trials: int64(n)}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return coordinator.Budget{Time: d}, nil
	}
	return coordinator.Budget{},
		errors.New("a whole number of trials from 1 on (50000) or a time above 0 (2h, 1h30m, 90s) is needed")
}

// defaultRecheck is the share of trials that a run rechecks unless --recheck is given.
const defaultRecheck = 0.01

// addRecheck adds --recheck: a share of trials.
func addRecheck(flags *pflag.FlagSet, share *float64) {
	*share = defaultRecheck
	text := func(share float64) string { return fmt.Sprintf("%v%%", 100*share) }
	flags.Var(textFlag[float64]{share, "share", parseShare, text}, "recheck",
		"share of each cell's trials to recheck, with a minimum per cell, or all; 0 for none")
}

// parseShare reads 1%, all or 0.
func parseShare(text string) (float64, error) {
	switch text {
	case "0", "0%":
		return 0, nil
	case "all":
		return 1, nil
	}
	share, ok := strings.CutSuffix(text, "%")
	if v, err := strconv.ParseFloat(strings.TrimSpace(share), 64); ok && err == nil && v > 0 && v <= 100 {
		return v / 100, nil
	}
	return 0, errors.New("a share like 1%, all, or 0 for none is needed")
}

// addSize adds a flag for an amount of disk, in bytes.
func addSize(flags *pflag.FlagSet, size *int64, name, usage string) {
	flags.Var(textFlag[int64]{size, "size", func(text string) (int64, error) {
		var b schemas.Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil {
			return 0, fmt.Errorf("%q is no size of at least 1 MiB: write it like 20 GiB", text)
		}
		return int64(b), nil
	}, wording.Bytes}, name, usage)
}

// addUntil adds --until: a time, or a duration from now.
func addUntil(flags *pflag.FlagSet, until *time.Time, usage string) {
	flags.Var(textFlag[time.Time]{until, "time", func(text string) (time.Time, error) {
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return time.Now().Add(d), nil
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			err = fmt.Errorf("%q is neither a duration like 2h30m nor a time like 2026-01-02T15:04:05Z", text)
		}
		return t, err
	}, func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}}, "until", usage)
}

// addAge adds a flag for a time of hours or days, such as 12h or 30d.
func addAge(flags *pflag.FlagSet, age *time.Duration, name, usage string) {
	flags.Var(textFlag[time.Duration]{age, "duration", func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if days, ok := strings.CutSuffix(text, "d"); ok {
			var n float64
			n, err = strconv.ParseFloat(days, 64)
			d = time.Duration(min(n, 36500) * 24 * float64(time.Hour))
		}
		if err != nil || d < time.Second {
			return 0, fmt.Errorf("%q is no time like 12h or 30d, of a second at least", text)
		}
		return d, nil
	}, func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}}, name, usage)
}

// listFormats are the formats of commands that print one thing or a short list.
var listFormats = []string{"table", "json"}

// before has c call check before it runs.
func before(c *cobra.Command, check func() error) {
	earlier := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if earlier != nil {
			if err := earlier(c, args); err != nil {
				return err
			}
		}
		return check()
	}
}

// addOutput adds the flag -o with its formats, of which the first is the default.
func addOutput(c *cobra.Command, format *string, formats []string, further string) {
	c.Flags().StringVarP(format, "output", "o", formats[0], "output `format`: "+strings.Join(formats, ", ")+further)
	before(c, func() error {
		f, _ := render.Find(*format)
		switch {
		case !slices.Contains(formats, *format):
			return wrong("-o %q: one of %s is needed", *format, strings.Join(formats, ", "))
		case f.Binary && isTerminal(c.OutOrStdout()):
			return wrong("-o %s is not for terminals: send it to a file with > FILE.%[1]s", *format)
		}
		return nil
	})
}

// maxWorkers keeps a slip of the finger from filling the machine with processes.
const maxWorkers = 1024

// checkWorkers refuses a value of --workers below least or above maxWorkers.
func checkWorkers(workers, least int) error {
	switch {
	case workers < least:
		return wrong("--workers %d: a number from %d on is needed", workers, least)
	case workers > maxWorkers:
		return wrong("--workers %d: each is a process of its own; at most %d are allowed", workers, maxWorkers)
	}
	return nil
}

// addWorkers adds --workers, of which there has to be one. The default is one per core.
func addWorkers(c *cobra.Command, workers *int, usage string) {
	c.Flags().IntVar(workers, "workers", runtime.NumCPU(), usage)
	before(c, func() error { return checkWorkers(*workers, 1) })
}

// addWidth adds --width.
func addWidth(c *cobra.Command, width *int, format *string) {
	c.Flags().IntVar(width, "width", 0, "`characters` per line, for -o table (default the width of the terminal)")
	before(c, func() error {
		if *width < 0 || *width > 0 && *format != "table" {
			return wrong("--width %d: a number of characters, for -o table only", *width)
		}
		return nil
	})
}

// whereFlag holds the conditions of --where, which choose rows.
type whereFlag struct{ texts []string }

func (f *whereFlag) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.texts, "where", nil,
		"`condition` on rows: COLUMN=VALUE or COLUMN=VALUE,VALUE (repeatable; all hold)")
}

// conditions returns the conditions of the flag.
func (f *whereFlag) conditions() ([]sheet.Condition, error) {
	all, err := sheet.ParseConditions(f.texts)
	if err != nil {
		return nil, wrong("--where %w", err)
	}
	return all, nil
}

// filter returns the sheet with the rows that the flag keeps.
func (f *whereFlag) filter(s *sheet.Sheet) (*sheet.Sheet, error) {
	all, err := f.conditions()
	if err != nil {
		return nil, err
	}
	kept, err := s.Where(all...)
	if err != nil {
		return nil, wrong("--where %w", err)
	}
	return kept, nil
}

// load reads the rows of a result that the flag keeps. Messages call the folder dir.
func (f *whereFlag) load(from, dir string) (*report.Sweep, error) {
	conditions, err := f.conditions()
	if err != nil {
		return nil, err
	}
	sweep, err := report.Load(from)
	if err != nil {
		return nil, explainRead(dir, err)
	}
	sweep.Folder = dir
	if sweep, err = sweep.Where(conditions...); err != nil {
		return nil, wrong("--where %w", err)
	}
	return sweep, nil
}

// addBase adds the flag --base.
func addBase(c *cobra.Command, base *string) {
	c.Flags().StringVar(base, "base", "",
		"`folder` of relative paths in the sweep file (default the folder where it was run)")
}
