package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/worker"
)

// workerFlags holds the flags of worker, some as fields of the worker's configuration.
type workerFlags struct {
	processFlags
	worker.Config
	files []string // plugins of others
}

func workerCommand() *cobra.Command {
	f := workerFlags{Config: worker.Config{CacheSize: defaultCacheSize}}
	c := &cobra.Command{
		Use:   "worker --server URL",
		Short: "Run trials of all sweeps on a server",
		Long: `Lease jobs from the queues of all sweeps on a NATS server, run them and publish their outcomes,
until interrupted: the first interrupt returns the jobs that wait and finishes those in work. A job
of a worker that dies is delivered to another one when its lease of ten seconds ends. A worker
leases no jobs of a sweep that it cannot run, and shatter workers shows the reason. Data files are
fetched by content. Plugins of others have to be named with --plugin, or allowed with
--allow-plugins: then they are fetched by content too, and run with the rights of this user.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	f.register(flags)
	addWorkers(c, &f.Slots, "`number` of plugin processes that work in parallel")
	flags.StringArrayVar(&f.files, "plugin", nil, "plugin `path`: a file, or the folder of a set (repeatable)")
	flags.StringArrayVar(&f.Allow, "allow-plugins", nil,
		"`SHA-256` of a plugin that may be fetched from the server and run, or any (repeatable)")
	flags.DurationVar(&f.Drain, "drain-timeout", 20*time.Second,
		"`time` for running jobs after an interrupt; then they return to the queue")
	addUntil(flags, &f.Until, "end of this worker's time, like 2h30m or 2026-01-02T15:04:05Z; it leases no job "+
		"that cannot end by then (default none)")
	flags.StringVar(&f.Cache, "cache", fileCache(),
		"`folder` for fetched data files and plugins, shared by the workers of this machine")
	addSize(flags, &f.CacheSize, "cache-size", "maximal size of the files in --cache; the least recently used ones are "+
		"removed first, but not within 10 minutes")
	return c
}

func (f *workerFlags) run(c *cobra.Command) (err error) {
	ctx := c.Context()
	if err := f.server.check(); err != nil {
		return err
	}
	if f.Plugins, err = commandsByDigest(ctx, f.files); err != nil {
		return usageError{err}
	}
	if f.Allow, err = allowedPlugins(f.Allow); err != nil {
		return usageError{err}
	}
	if err := errors.Join(checkUntil(f.Until, f.Drain), checkCache(f.Cache)); err != nil {
		return usageError{err}
	}
	f.Sandbox = sandboxOf(ctx)
	layers, err := sandbox.Probe(f.Sandbox)
	if err != nil {
		return err
	}
	p, err := f.serve(c, queue.Worker)
	if err != nil {
		return err
	}
	defer p.close()
	f.Conn, f.Log, f.Layers, f.Build, f.Monitor = p.conn, p.log, sandbox.Summary(layers), version(), &worker.Monitor{}
	watchWorker(p.http, p.conn, f.Monitor)
	if !f.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, f.Until.Add(-f.Drain))
		defer cancel()
	}
	f.Name = workerName()
	if who := p.conn.Holder(); who.Role == queue.Worker {
		f.Name = who.Name // the server lets it have no other
	}
	p.log.Info("working", "server", queue.Redact(f.server.url), "slots", f.Slots, "name", f.Name, "sandbox", f.Layers)
	defer context.AfterFunc(ctx, func() { p.log.Info("leaving", "why", leaving(ctx)) })()
	return worker.Run(ctx, context.Background(), f.Config)
}

// allowedPlugins checks the values of --allow-plugins.
func allowedPlugins(values []string) (allowed []string, err error) {
	for _, v := range values {
		digest := strings.TrimPrefix(strings.ToLower(v), "sha256:")
		if raw, err := hex.DecodeString(digest); digest != worker.AllowAny && (err != nil || len(raw) != sha256.Size) {
			return nil, fmt.Errorf("--allow-plugins %q: the SHA-256 of a plugin, as a worker names it that refuses "+
				"it, or %s is needed", v, worker.AllowAny)
		}
		allowed = append(allowed, digest)
	}
	return allowed, nil
}

// commandsByDigest returns how to start the built-in algorithms and the given plugins, by the
// identity of each.
func commandsByDigest(ctx context.Context, files []string) (map[string]host.Command, error) {
	all, paths, err := catalogOf(ctx, files)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	commands := map[string]host.Command{}
	builtIn, err := builtInDigests()
	if err != nil {
		return nil, err
	}
	for _, digest := range builtIn {
		if commands[digest], err = all.Command(""); err != nil {
			return nil, err
		}
	}
	for _, path := range paths {
		digest, err := all.Digest(path)
		if err != nil {
			return nil, err
		}
		if commands[digest], err = all.Command(path); err != nil {
			return nil, err
		}
	}
	return commands, nil
}

// fileCache returns the folder where workers keep what they have fetched.
func fileCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "shatter", "files")
}

// dialPatiently connects to a server. It waits for one that is not up yet.
func dialPatiently(ctx context.Context, url string, o queue.Options) (*queue.Conn, error) {
	for {
		conn, err := queue.Dial(ctx, url, o)
		var failed *queue.ConnectError
		if err == nil || !errors.As(err, &failed) || !failed.Waits {
			return conn, err
		}
		o.Log.Warn("waiting for the server", "error", err.Error())
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// leaving returns the reason why a worker leaves.
func leaving(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "its time is over (--until)"
	}
	return "interrupted"
}

// defaultCacheSize is the number of bytes that fetched files may take.
const defaultCacheSize = 20 << 30

// checkUntil refuses a moment that leaves no time to work before the time for draining begins.
func checkUntil(until time.Time, drain time.Duration) error {
	if now := time.Now(); !until.IsZero() && !until.Add(-drain).After(now) {
		return fmt.Errorf("--until %s leaves no time to work: by this machine's clock it is %s, and --drain-timeout, %v, is "+
			"part of it; give a later time, or set the clock", until.Format(time.RFC3339), now.Format(time.RFC3339), drain)
	}
	return nil
}

// checkCache refuses a folder in which nothing can be kept.
func checkCache(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, "probe-*.new"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("--cache %s: data files and plugins cannot be kept there (%w); choose another folder", dir, err)
	}
	return nil
}

// workerName returns a name for the workers of this process: host and process id, without dots.
func workerName() string {
	name, err := os.Hostname()
	if err != nil {
		name = "worker"
	}
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(name, ".", "-"), os.Getpid())
}
