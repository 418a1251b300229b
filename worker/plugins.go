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
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// AllowAny in Config.Allow allows every plugin.
const AllowAny = "any"

// plugins holds the plugins that the slots of a worker can start: local ones and, if allowed, ones fetched by digest.
// A slot that waits for a plugin does not block slots that need another one.
type plugins struct {
	local map[string]host.Command // commands by digest
	allow []string
	dir   string // folder of fetched plugins; empty: the worker fetches none

	sandbox sandbox.Policy // policy for fetched plugins

	open func(ctx context.Context, digest string) (*queue.CachedFile, error)

	mu           sync.Mutex
	fetched      map[string]*fetched // plugins by digest
	environments map[string]string   // descriptions of the environments of started plugins, by digest
}

// A fetched is a plugin that was fetched, or is being fetched.
type fetched struct {
	turn chan struct{} // full while a goroutine fetches the plugin or checks its copy
	copy pluginCopy    // guarded by plugins.mu

	otherPlatform *pluginfile.PlatformError // the plugin has no file for this machine; nil: unknown. Guarded by plugins.mu
}

// A pluginCopy is a verified file that is kept open. The zero value holds no file.
type pluginCopy struct {
	file *queue.CachedFile
	info fs.FileInfo // state of the file when it was verified

	digest string
}

// path returns the path of the file; "" without a file.
func (c pluginCopy) path() string {
	if c.file == nil {
		return ""
	}
	return c.file.Path
}

// unchanged reports whether the path still holds the verified file. It ignores the file's times, because other workers
// change them when they open the file.
func (c pluginCopy) unchanged() bool {
	now, err := os.Stat(c.path())
	return err == nil && os.SameFile(now, c.info) && now.Size() == c.info.Size()
}

func (c pluginCopy) close() {
	if c.file != nil {
		_ = c.file.Close() // this only releases its lock
	}
}

func newPlugins(c Config) *plugins {
	ps := &plugins{local: c.Plugins, allow: c.Allow, sandbox: c.Sandbox, fetched: map[string]*fetched{}}
	if c.Cache != "" && c.Conn != nil {
		cache := queue.FileCache{Dir: filepath.Join(c.Cache, "plugins"), Quota: c.CacheSize}
		ps.dir = cache.Dir
		ps.open = func(ctx context.Context, digest string) (*queue.CachedFile, error) {
			return cache.Open(ctx, c.Conn.Files, digest)
		}
	}
	return ps
}

// learn records the environment in which a plugin was started.
func (ps *plugins) learn(digest string, e schemas.Environment) {
	if len(e) == 0 {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.environments == nil {
		ps.environments = map[string]string{}
	}
	ps.environments[digest] = wording.OneLine(e.String(), maxEnvironment)
}

// maxEnvironment is the size in bytes of an environment in a heartbeat.
const maxEnvironment = 500

// known returns the environments of the plugins that were started, in words, by digest.
func (ps *plugins) known() map[string]string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return maps.Clone(ps.environments)
}

// available returns the digests of the plugins that need no fetching, ascending.
func (ps *plugins) available() []string {
	digests := slices.Collect(maps.Keys(ps.local))
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

// allowlist returns the digests of plugins that the worker may fetch and start, or AllowAny.
func (ps *plugins) allowlist() []string {
	if ps.dir == "" {
		return nil
	}
	return ps.allow
}

func (ps *plugins) allowed(digest string) bool {
	return slices.Contains(ps.allowlist(), AllowAny) || slices.Contains(ps.allowlist(), digest)
}

// Reasons of a PluginError.
const (
	PluginNotHere       = "not here"       // cannot be fetched: it is built in, or the worker fetches nothing
	PluginNotAllowed    = "not allowed"    // could be fetched if the worker allowed it
	PluginNotFetched    = "not fetched"    // fetching failed: not on the server, disk full, ...
	PluginOtherPlatform = "other platform" // has no file for this machine
)

// A PluginError reports why a worker cannot start a plugin. It is not an outcome of trials.
type PluginError struct {
	Digest string
	Reason string
	plugin string // the plugin in words
	err    error  // cause; may be nil
}

func (e *PluginError) Error() string {
	text := fmt.Sprintf("%s (sha256 %.12s) ", e.plugin, e.Digest)
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

// Permanent reports whether the worker can never start the plugin. Otherwise a later attempt may succeed.
func (e *PluginError) Permanent() bool { return e.Reason != PluginNotFetched }

// unavailable returns the known reason why a plugin cannot be started here; nil if there is none. It fetches nothing.
func (ps *plugins) unavailable(n fleet.Need) *PluginError {
	if _, ok := ps.local[n.Plugin]; ok {
		return nil
	}
	e := &PluginError{Digest: n.Plugin, plugin: n.Name}
	switch {
	case n.Own, ps.dir == "":
		e.Reason = PluginNotHere
	case !ps.allowed(n.Plugin):
		e.Reason = PluginNotAllowed
	default:
		other := ps.otherPlatform(n.Plugin)
		if other == nil {
			return nil
		}
		e.Reason, e.err = PluginOtherPlatform, other
	}
	return e
}

// otherPlatform returns the error of an earlier attempt to fetch a plugin that has no file for this machine; else nil.
func (ps *plugins) otherPlatform(digest string) *pluginfile.PlatformError {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if f := ps.fetched[digest]; f != nil {
		return f.otherPlatform
	}
	return nil
}

// get returns the command of a job's plugin. It fetches the plugin if necessary, and waits while another slot fetches
// the same one. The error is a *PluginError or that of ctx.
func (ps *plugins) get(ctx context.Context, job *trial.Job) (host.Command, error) {
	if command, ok := ps.local[job.Plugin]; ok {
		return command, nil
	}
	need := job.Cell.Need(job.Plugin)
	if e := ps.unavailable(need); e != nil {
		return host.Command{}, e
	}
	made, err := ps.verifiedCopy(ctx, job.Plugin)
	if err == nil || ctx.Err() != nil {
		return host.Command{Path: made.path(), Digest: made.digest, Sandbox: ps.sandbox}, ctx.Err()
	}
	if e := ps.unavailable(need); e != nil {
		return host.Command{}, e
	}
	return host.Command{}, &PluginError{
		Digest: job.Plugin, plugin: need.Name, Reason: PluginNotFetched, err: err,
	}
}

// verifiedCopy returns a verified copy of a plugin's file. It fetches the plugin unless an unchanged copy exists.
func (ps *plugins) verifiedCopy(ctx context.Context, digest string) (made pluginCopy, err error) {
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
	if f.copy.unchanged() { // only the goroutine that holds the turn writes to it
		return f.copy, nil
	}
	made, err = ps.fetch(ctx, digest)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	f.copy.close()
	f.copy = made
	errors.As(err, &f.otherPlatform)
	return made, err
}

// fetch fetches a plugin's file for this machine and makes it executable. The copy stays open, so that the cache does
// not remove it to make room.
func (ps *plugins) fetch(ctx context.Context, digest string) (made pluginCopy, err error) {
	file, err := ps.open(ctx, digest)
	if err != nil {
		return made, err
	}
	list, err := pluginfile.ReadList(file.Path)
	if list != nil {
		var here pluginfile.File
		if here, err = pluginfile.FileHere(list); err == nil {
			_ = file.Close() // it was only read
			digest = here.Digest
			if file, err = ps.open(ctx, here.Digest); err != nil {
				return made, err
			}
		}
	}
	if err == nil {
		made, err = ps.makeExecutable(file, digest)
	}
	if err != nil {
		err = errors.Join(err, file.Close())
	}
	return made, err
}

// makeExecutable makes a verified file executable if it is a program for this machine.
func (ps *plugins) makeExecutable(file *queue.CachedFile, digest string) (made pluginCopy, err error) {
	is, err := pluginfile.Platform(file.Path)
	if err != nil {
		return made, err
	}
	if is != "" && is != pluginfile.Here {
		return made, &pluginfile.PlatformError{Want: pluginfile.Here, Has: []string{is}}
	}
	if filepath.Dir(file.Path) == ps.dir { // otherwise it is the original, not a copy: an embedded server makes none
		if err := os.Chmod(file.Path, 0o500); err != nil {
			return made, err
		}
	}
	info, err := os.Stat(file.Path)
	if err != nil {
		return made, err
	}
	return pluginCopy{file, info, digest}, nil
}

// close releases all copies.
func (ps *plugins) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, f := range ps.fetched {
		f.copy.close()
	}
	clear(ps.fetched)
}
