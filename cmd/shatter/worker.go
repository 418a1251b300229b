package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/worker"
)

func workerCommand() *cobra.Command {
	var (
		server, credentials, cache string
		slots                      int
		files                      []string
	)
	c := &cobra.Command{
		Use:   "worker --server URL",
		Short: "Work for sweeps that run with --server",
		Long: `Lease jobs from a NATS server, run them here and publish their outcomes, until interrupted: the first interrupt finishes
the jobs in work. Data files come by content; plugins of others have to be named with --plugin.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case server == "":
				return usageError{errors.New("--server is needed: the URL of the NATS server that `shatter run FILE --server URL` uses")}
			case slots < 1:
				return usageError{fmt.Errorf("--workers %d: at least 1 is needed", slots)}
			case slots > maxWorkers:
				return usageError{fmt.Errorf("--workers %d: each is a process of its own; at most %d are allowed", slots, maxWorkers)}
			}
			commands, err := commandsByDigest(files)
			if err != nil {
				return usageError{err}
			}
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			conn, err := bus.Dial(c.Context(), server, bus.Options{Name: "shatter worker " + workerName(), Credentials: credentials, Log: log})
			if err != nil {
				return err
			}
			defer conn.Close()
			log.Info("working", "server", server, "slots", slots, "name", workerName())
			return worker.Run(c.Context(), context.Background(), worker.Config{
				Conn: conn, Slots: slots, Name: workerName(), Plugins: commands, Cache: cache, Log: log,
			})
		},
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	fs := c.Flags()
	fs.StringVar(&server, "server", "", "NATS server with JetStream, nats://host:port")
	fs.StringVar(&credentials, "creds", "", "NATS credentials file")
	fs.IntVar(&slots, "workers", runtime.NumCPU(), "plugin processes that work at the same time")
	fs.StringArrayVar(&files, "plugin", nil, "plugin file of others (again for more)")
	fs.StringVar(&cache, "cache", filepath.Join(dir, "shatter", "files"), "folder for data files")
	return c
}

// commandsByDigest is how to start the built-in plugin and the given files, by the SHA-256 of each.
func commandsByDigest(files []string) (map[string]host.Command, error) {
	all, paths, err := catalogOf(files)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	commands := map[string]host.Command{}
	for _, f := range append([]string{""}, paths...) {
		digest, err := all.Digest(f)
		if err != nil {
			return nil, err
		}
		if commands[digest], err = all.Command(f); err != nil {
			return nil, err
		}
	}
	return commands, nil
}
