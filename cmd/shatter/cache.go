package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/schemas"
)

const cacheUsage = "folder where trials of other sweeps are found and left, or off " +
	"(default: $SHATTER_CACHE, or shatter/trials in the user's cache folder)"

// cacheDir returns the folder of the cache of trials, and an empty one if the cache is off.
func cacheDir(flag string) string {
	dir := cmp.Or(flag, os.Getenv("SHATTER_CACHE"))
	if dir == "off" {
		return ""
	}
	if dir != "" {
		return dir
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "shatter", "trials")
}

func cacheCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "cache", Short: "Look after the trials that are kept for other sweeps",
		Long: `A trial is a function of the seed, its cell, n, its repetition, and the plugin file or the version of the
built-in algorithm, so a sweep need not run what another one has run. Runs leave their ok outcomes in
the cache, and take from it what their ledger lacks: of the same seed and cell, made by the same code
under the same float profile. It is kept below 2 GiB; what was used longest ago goes first.`,
	}
	c.PersistentFlags().StringVar(&dir, "cache", "", cacheUsage)
	open := func() (*cache.Cache, error) {
		if dir := cacheDir(dir); dir != "" {
			return &cache.Cache{Dir: dir}, nil
		}
		return nil, usageError{errors.New("the cache is off; name its folder with --cache")}
	}
	c.AddCommand(cacheListCommand(open), cacheCollectCommand(open))
	return c
}

func cacheListCommand(open func() (*cache.Cache, error)) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "ls", Short: "List the cells in the cache, with their trials, bytes and last use", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkOutput(c.OutOrStdout(), format, listFormats); err != nil {
				return err
			}
			trials, err := open()
			if err != nil {
				return err
			}
			entries, err := trials.List()
			if err != nil {
				return err
			}
			if format == "json" {
				return writeJSON(c.OutOrStdout(), append([]cache.Entry{}, entries...))
			}
			return listCache(c.OutOrStdout(), trials.Dir, entries)
		},
	}
	addOutput(c, &format, listFormats, "")
	return c
}

// minutes is how times of last use are written.
const minutes = "2006-01-02 15:04"

// writeJSON writes a value for people and programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func listCache(w io.Writer, dir string, entries []cache.Entry) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(entries) > 0 {
		fmt.Fprintln(tab, "cell\tseed\ttrials\tbytes\tlast used\twhat")
	}
	var trials, bytes int64
	for _, e := range entries {
		if e.Damaged > 0 {
			e.What += fmt.Sprintf(" (%d damaged parts)", e.Damaged)
		}
		fmt.Fprintf(tab, "%s\t%s\t%d\t%d\t%s\t%s\n",
			e.Cell, e.Seed, e.Trials, e.Bytes, e.Used.Format(minutes), e.What)
		trials, bytes = trials+e.Trials, bytes+e.Bytes
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d cells, %d trials, %d bytes in %s\n", len(entries), trials, bytes, dir)
	return err
}

func cacheCollectCommand(open func() (*cache.Cache, error)) *cobra.Command {
	var older, to string
	c := &cobra.Command{
		Use: "gc", Short: "Remove what was used longest ago", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			trials, err := open()
			if err != nil {
				return err
			}
			age, err := parseAge("older", older)
			if err != nil {
				return usageError{err}
			}
			limit, err := parseLimit(to)
			if err != nil {
				return usageError{err}
			}
			before := time.Time{}
			if age > 0 {
				before = time.Now().Add(-age)
			}
			removed, err := trials.Trim(c.Context(), before, limit)
			return errors.Join(err, writeRemoved(c.OutOrStdout(), trials.Dir, removed))
		},
	}
	c.Flags().StringVar(&older, "older", "", "remove what was not used for this time, like 30d or 12h")
	c.Flags().StringVar(&to, "to", "2 GiB",
		"remove what was used longest ago until this size is left, like 1GB; 0: everything")
	return c
}

// writeRemoved lists the cells that were removed from the cache.
func writeRemoved(w io.Writer, dir string, removed []cache.Entry) error {
	var b strings.Builder
	var bytes int64
	for _, e := range removed {
		fmt.Fprintf(&b, "removed %s, seed %s: %d bytes, last used %s\n", e.Cell, e.Seed, e.Bytes, e.Used.Format(minutes))
		bytes += e.Bytes
	}
	fmt.Fprintf(&b, "%d cells with %d bytes removed from %s\n", len(removed), bytes, dir)
	_, err := io.WriteString(w, b.String())
	return err
}

// parseAge reads the value of a flag that is a time, 30d or 12h. No text is 0.
func parseAge(flag, s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 36500 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	} else if age, err := time.ParseDuration(s); err == nil && age > 0 {
		return age, nil
	}
	return 0, fmt.Errorf("--%s %q: a time like 30d or 12h is needed", flag, s)
}

// parseLimit reads the value of --to in bytes: 0, 1GB or 512 MiB.
func parseLimit(s string) (int64, error) {
	if s == "0" {
		return 0, nil
	}
	var b schemas.Bytes
	if err := b.UnmarshalText([]byte(s)); err != nil {
		return 0, fmt.Errorf("--to %q: a size like 512 MiB or 1GB, 1 MiB at least, or 0 is needed", s)
	}
	return int64(b), nil
}
