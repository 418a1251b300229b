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

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/sandbox"
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

	sandbox sandbox.Policy // of the fetched ones

	open func(ctx context.Context, digest string) (*queue.CachedFile, error)

	mu      sync.Mutex
	fetched map[string]*fetched // by digest
}

// fetched is a plugin that was fetched, or is being fetched.
type fetched struct {
	turn chan struct{} // full while a goroutine fetches it or looks at its copy
	copy openCopy      // guarded by plugins.mu

	elsewhere *pluginfile.PlatformError // it has no file for this machine; nil: it may have one. Guarded by plugins.mu
}

// openCopy is a file whose content was verified and that is kept open. The zero value is none.
type openCopy struct {
	file *queue.CachedFile
	info fs.FileInfo // when it was verified

	digest string
}

// path returns the path of the file; "" if there is none.
func (c openCopy) path() string {
	if c.file == nil {
		return ""
	}
	return c.file.Path
}

// same reports whether the file at the path is still the one that was verified. Its times tell
// nothing, because other workers that open it change them.
func (c openCopy) same() bool {
	now, err := os.Stat(c.path())
	return err == nil && os.SameFile(now, c.info) && now.Size() == c.info.Size()
}

func (c openCopy) close() {
	if c.file != nil {
		_ = c.file.Close() // only its lock goes
	}
}

func newPlugins(c Config) *plugins {
	ps := &plugins{given: c.Plugins, allow: c.Allow, sandbox: c.Sandbox, fetched: map[string]*fetched{}}
	if c.Cache != "" && c.Conn != nil {
		cache := queue.FileCache{Dir: filepath.Join(c.Cache, "plugins"), Quota: c.CacheSize}
		ps.dir = cache.Dir
		ps.open = func(ctx context.Context, digest string) (*queue.CachedFile, error) {
			return cache.Open(ctx, c.Conn.Files, digest)
		}
	}
	return ps
}

// here returns the digests of the plugins that can be started at once, in ascending order.
func (ps *plugins) here() []string {
	digests := slices.Collect(maps.Keys(ps.given))
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for digest, f := range ps.fetched {
		if f.copy.file != nil {
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
		return text + "is not for this machine: " + e.err.Error() + "; start a worker on a machine that it is for, or " +
			"submit it as a folder with a file for this platform too"
	}
	return text + "is not here and cannot be fetched: " + e.err.Error()
}

func (e *PluginError) Unwrap() error { return e.err }

// Lasting reports whether the worker will never be able to start the plugin. Otherwise a later try may
// find what is missing.
func (e *PluginError) Lasting() bool { return e.Reason != PluginNotFetched }

// cannot returns why a plugin cannot be started here, as far as that is known without fetching it; nil if nothing is
// known.
func (ps *plugins) cannot(n fleet.Need) *PluginError {
	if _, ok := ps.given[n.Plugin]; ok {
		return nil
	}
	e := &PluginError{Digest: n.Plugin, what: n.Name}
	switch {
	case n.Own, ps.dir == "":
		e.Reason = PluginNotHere
	case !ps.allowed(n.Plugin):
		e.Reason = PluginNotAllowed
	default:
		other := ps.elsewhere(n.Plugin)
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
	need := job.Cell.Need(job.Plugin)
	if e := ps.cannot(need); e != nil {
		return host.Command{}, e
	}
	made, err := ps.copyOf(ctx, job.Plugin)
	if err == nil || ctx.Err() != nil {
		return host.Command{Path: made.path(), Digest: made.digest, Sandbox: ps.sandbox}, ctx.Err()
	}
	if e := ps.cannot(need); e != nil {
		return host.Command{}, e
	}
	return host.Command{}, &PluginError{
		Digest: job.Plugin, what: need.Name, Reason: PluginNotFetched, err: err,
	}
}

// copyOf returns a verified copy of a plugin's file. It fetches the plugin unless the copy is there
// as it was verified.
func (ps *plugins) copyOf(ctx context.Context, digest string) (made openCopy, err error) {
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
		return made, ctx.Err()
	}
	if f.copy.same() { // only the one whose turn it is writes to it
		return f.copy, nil
	}
	made, err = ps.obtain(ctx, digest)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	f.copy.close()
	f.copy = made
	errors.As(err, &f.elsewhere)
	return made, err
}

// obtain fetches a plugin's file for this machine and makes it executable. The copy stays open, so that
// it is not removed for others to have room.
func (ps *plugins) obtain(ctx context.Context, digest string) (made openCopy, err error) {
	file, err := ps.open(ctx, digest)
	if err != nil {
		return made, err
	}
	list, err := pluginfile.ReadList(file.Path)
	if list != nil {
		var here pluginfile.File
		if here, err = pluginfile.FileHere(list); err == nil {
			_ = file.Close() // it was read only
			digest = here.Digest
			if file, err = ps.open(ctx, here.Digest); err != nil {
				return made, err
			}
		}
	}
	if err == nil {
		made, err = ps.executable(file, digest)
	}
	if err != nil {
		err = errors.Join(err, file.Close())
	}
	return made, err
}

// executable makes a verified file executable, if it is a program for this machine.
func (ps *plugins) executable(file *queue.CachedFile, digest string) (made openCopy, err error) {
	is, err := pluginfile.Platform(file.Path)
	if err != nil {
		return made, err
	}
	if is != "" && is != pluginfile.Here {
		return made, &pluginfile.PlatformError{Want: pluginfile.Here, Has: []string{is}}
	}
	if filepath.Dir(file.Path) == ps.dir { // else it is no copy: an embedded server has none
		if err := os.Chmod(file.Path, 0o500); err != nil {
			return made, err
		}
	}
	info, err := os.Stat(file.Path)
	if err != nil {
		return made, err
	}
	return openCopy{file, info, digest}, nil
}

// close lets the copies go.
func (ps *plugins) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, f := range ps.fetched {
		f.copy.close()
	}
	clear(ps.fetched)
}
