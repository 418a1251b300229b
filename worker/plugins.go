package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// AllowAny in Config.Allow stands for every plugin.
const AllowAny = "any"

// plugins are the plugins that the slots of a worker can start: those that it was given and, as far
// as that is allowed, those that it fetches by content. A slot that waits for a plugin holds up no
// slot that needs another.
type plugins struct {
	given map[string]host.Command // by digest
	allow []string
	dir   string // of the fetched ones; empty: nothing is fetched
	fetch func(ctx context.Context, digest, dir string) (path string, err error)

	mu      sync.Mutex
	fetched map[string]*fetched // by digest
}

// fetched is a plugin that was fetched, or is being fetched.
type fetched struct {
	turn chan struct{} // full while a goroutine fetches it or looks at its copy
	copy verifiedCopy  // guarded by plugins.mu

	elsewhere *pluginfile.PlatformError // it has no file for this machine; nil: it may have one. Guarded by plugins.mu
}

// verifiedCopy is a file whose content was verified. The zero value is none.
type verifiedCopy struct {
	path string
	info fs.FileInfo // when it was verified
}

// same reports whether the file is still the one that was verified, as far as its size and times
// tell.
func (v verifiedCopy) same() bool {
	if v.path == "" {
		return false
	}
	now, err := os.Stat(v.path)
	return err == nil && os.SameFile(now, v.info) && now.Size() == v.info.Size() && now.ModTime().Equal(v.info.ModTime())
}

func newPlugins(c Config) *plugins {
	ps := &plugins{given: c.Plugins, allow: c.Allow, fetched: map[string]*fetched{}}
	if c.Cache != "" && c.Conn != nil {
		ps.dir, ps.fetch = filepath.Join(c.Cache, "plugins"), c.Conn.FetchFile
	}
	return ps
}

// here returns the digests of the plugins that can be started at once, in ascending order.
func (ps *plugins) here() []string {
	digests := slices.Collect(maps.Keys(ps.given))
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for digest, f := range ps.fetched {
		if f.copy.path != "" {
			digests = append(digests, digest)
		}
	}
	slices.Sort(digests)
	return digests
}

// allows returns the digests of plugins that the worker may fetch and start; AllowAny stands for all.
func (ps *plugins) allows() []string {
	if ps.dir == "" {
		return nil
	}
	return ps.allow
}

// allowed reports whether the worker may fetch a plugin and start it.
func (ps *plugins) allowed(digest string) bool {
	return slices.Contains(ps.allows(), AllowAny) || slices.Contains(ps.allows(), digest)
}

// Reasons of a PluginError.
const (
	PluginNotHere       = "not here"       // and it cannot be fetched: it is built in, or the worker fetches nothing
	PluginNotAllowed    = "not allowed"    // it could be fetched, if the worker allowed it
	PluginNotFetched    = "not fetched"    // it is not on the server, or the disk is full, ...
	PluginOtherPlatform = "other platform" // it has no file for this machine
)

// A PluginError reports why a worker cannot start a plugin. It says nothing about trials.
type PluginError struct {
	Digest string
	Reason string
	what   string // the plugin, in words
	err    error  // nil where Reason says it all
}

func (e *PluginError) Error() string {
	text := fmt.Sprintf("%s (sha256 %.12s) ", e.what, e.Digest)
	switch e.Reason {
	case PluginNotAllowed:
		return text + "is not here, and this worker may not fetch it: start the worker with --allow-plugins " + e.Digest +
			" (or any), or with --plugin and its file"
	case PluginNotHere:
		return text + "is not here: start the worker with a shatter that has it, and with --plugin for plugins of others"
	case PluginOtherPlatform:
		return text + "is not for this machine: " + e.err.Error()
	}
	return text + "is not here and cannot be fetched: " + e.err.Error()
}

func (e *PluginError) Unwrap() error { return e.err }

// Lasting reports whether the worker will never be able to start the plugin. Otherwise a later try may
// find what is missing.
func (e *PluginError) Lasting() bool { return e.Reason != PluginNotFetched }

// cannot returns why a job's plugin cannot be started here, as far as that is known without fetching
// it; nil if nothing is known.
func (ps *plugins) cannot(job *trial.Job) *PluginError {
	if _, ok := ps.given[job.Plugin]; ok {
		return nil
	}
	e := &PluginError{Digest: job.Plugin, what: "plugin " + job.Cell.Plugin}
	switch {
	case job.Cell.Plugin == "":
		e.what, e.Reason = "the built-in "+job.Cell.Algorithm, PluginNotHere
	case ps.dir == "":
		e.Reason = PluginNotHere
	case !ps.allowed(job.Plugin):
		e.Reason = PluginNotAllowed
	default:
		other := ps.elsewhere(job.Plugin)
		if other == nil {
			return nil
		}
		e.Reason, e.err = PluginOtherPlatform, other
	}
	return e
}

// elsewhere returns the platforms of a plugin that was found to have no file for this machine.
func (ps *plugins) elsewhere(digest string) *pluginfile.PlatformError {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if f := ps.fetched[digest]; f != nil {
		return f.elsewhere
	}
	return nil
}

// get returns how a job's plugin is started, and fetches it if need be. It waits while another slot
// fetches the same. Its error is a *PluginError, or ctx's.
func (ps *plugins) get(ctx context.Context, job *trial.Job) (host.Command, error) {
	if command, ok := ps.given[job.Plugin]; ok {
		return command, nil
	}
	if e := ps.cannot(job); e != nil {
		return host.Command{}, e
	}
	path, err := ps.copyOf(ctx, job.Plugin)
	if err == nil || ctx.Err() != nil {
		return host.Command{Path: path}, ctx.Err()
	}
	if e := ps.cannot(job); e != nil {
		return host.Command{}, e
	}
	return host.Command{}, &PluginError{
		Digest: job.Plugin, what: "plugin " + job.Cell.Plugin, Reason: PluginNotFetched, err: err,
	}
}

// copyOf returns the path of a verified copy of a plugin's file. It fetches the plugin unless the
// copy is there as it was verified.
func (ps *plugins) copyOf(ctx context.Context, digest string) (path string, err error) {
	ps.mu.Lock()
	f := ps.fetched[digest]
	if f == nil {
		f = &fetched{turn: make(chan struct{}, 1)}
		ps.fetched[digest] = f
	}
	ps.mu.Unlock()
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if f.copy.same() { // only the one whose turn it is writes to it
		return f.copy.path, nil
	}
	made, err := ps.obtain(ctx, digest)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	f.copy = made
	errors.As(err, &f.elsewhere)
	return made.path, err
}

// obtain fetches a plugin's file for this machine and makes it executable.
func (ps *plugins) obtain(ctx context.Context, digest string) (made verifiedCopy, err error) {
	path, err := ps.verified(ctx, digest)
	if err != nil {
		return made, err
	}
	list, err := pluginfile.ReadList(path)
	if err != nil {
		return made, err
	}
	if list != nil {
		file, err := pluginfile.FileHere(list)
		if err != nil {
			return made, err
		}
		if path, err = ps.verified(ctx, file.Digest); err != nil {
			return made, err
		}
	}
	is, err := pluginfile.Platform(path)
	if err != nil {
		return made, err
	}
	if is != "" && is != pluginfile.Here {
		return made, &pluginfile.PlatformError{Want: pluginfile.Here, Has: []string{is}}
	}
	if ps.ours(path) {
		if err := os.Chmod(path, 0o500); err != nil {
			return made, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return made, err
	}
	return verifiedCopy{path, info}, nil
}

// ours reports whether a file was made by fetch. An embedded server has no copies.
func (ps *plugins) ours(path string) bool { return filepath.Dir(path) == ps.dir }

// verified returns the path of a copy of a file whose content is that of the digest. A damaged copy
// is removed and fetched again.
func (ps *plugins) verified(ctx context.Context, digest string) (string, error) {
	for again := false; ; again = true {
		path, err := ps.fetch(ctx, digest, ps.dir)
		if err != nil {
			return "", err
		}
		sum, err := pluginfile.Sum(path)
		if err == nil && sum == digest {
			return path, nil
		}
		if err == nil {
			err = fmt.Errorf("%q was changed: its content has SHA-256 %s, not %s", path, sum, digest)
		}
		if again || !ps.ours(path) {
			return "", err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
}
