package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/wording"
)

const cacheUsage = "`folder` of the cache of trials, or off (default $SHATTER_CACHE, or shatter/trials in the user's " +
	"cache folder)"

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
	var folder string
	var empty bool
	c := &cobra.Command{
		Use: "cache", Short: "Show the size of the cache of trials, or empty it", Args: cobra.NoArgs,
		Long: `A trial is a function of the seed, its cell, n, its repetition, and the plugin file or the version
of the built-in algorithm, so a sweep can reuse trials of another one. Runs store their ok outcomes
in the cache, and take from it outcomes that their ledger lacks: of the same seed and cell, made by
the same code under the same float profile. Each run keeps it below 2 GiB: it removes the least
recently used cells.`,
		RunE: func(c *cobra.Command, _ []string) error {
			trials := &cache.Cache{Dir: cacheDir(folder)}
			if trials.Dir == "" {
				return wrong("the cache is off; name its folder with --cache")
			}
			if empty {
				if err := trials.Trim(0); err != nil {
					return err
				}
			}
			entries, err := trials.List()
			if err != nil {
				return err
			}
			bytes := int64(0)
			for _, e := range entries {
				bytes += e.Bytes
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s, %s in %s\n",
				wording.Count(len(entries), "cell"), wording.Bytes(bytes), trials.Dir)
			return err
		},
	}
	c.Flags().StringVar(&folder, "cache", "", cacheUsage)
	c.Flags().BoolVar(&empty, "empty", false, "removal of all trials from the cache")
	return c
}
