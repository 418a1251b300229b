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

	"golang.org/x/sync/singleflight"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// AllowAny in Config.Allow allows every plugin.
const AllowAny = "any"

// plugins holds the plugins that the slots of a worker can start: local ones and, if allowed, ones fetched by digest.
// A slot that waits for a plugin does not block slots that need another one.
type plugins struct {
	local   map[string]host.Command // commands by digest
	allow   []string
	dir     string         // folder of fetched plugins; empty: the worker fetches none
	sandbox sandbox.Policy // policy for fetched plugins

	path     func(digest string) (string, error) // fetches a file
	fetching singleflight.Group

	mu           sync.Mutex
	fetched      map[string]*fetched // plugins by digest
	environments map[string]string   // descriptions of the environments of started plugins, by digest
}

// A fetched is the result of fetching a plugin: a verified file for this machine, or the reason why there is none.
type fetched struct {
	path, digest  string
	file          *os.File                  // the file, open so that no other file gets its number; nil: there is none
	info          fs.FileInfo               // state of the file when it was verified
	otherPlatform *pluginfile.PlatformError // the plugin has no file for this machine; nil: it has one
}

// unchanged reports whether the path still holds the verified file. It ignores the file's times, because they are those
// of its last use.
func (f *fetched) unchanged() bool {
	if f == nil || f.file == nil {
		return false
	}
	now, err := os.Stat(f.path)
	return err == nil && os.SameFile(now, f.info) && now.Size() == f.info.Size()
}

// newPlugins returns the plugins of a worker. life ends the fetching of files.
func newPlugins(life context.Context, c Config) *plugins {
	ps := &plugins{
		local: c.Plugins, allow: c.Allow, sandbox: c.Sandbox, fetched: map[string]*fetched{},
		environments: map[string]string{},
	}
	if c.Cache != "" && c.Conn != nil {
		cache := queue.FileCache{Dir: filepath.Join(c.Cache, "plugins"), Quota: c.CacheSize}
		ps.dir = cache.Dir
		ps.path = func(digest string) (string, error) { return cache.Path(life, c.Conn.Files, digest) }
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
	ps.environments[digest] = wording.OneLine(e.String(), maxEnvironment)
}

// maxEnvironment is the size in bytes of an environment in a heartbeat.
const maxEnvironment = 500

// startedIn returns the environments of the plugins that were started, in words, by digest.
func (ps *plugins) startedIn() map[string]string {
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
		if f.file != nil {
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

// A PluginError reports why a worker cannot start a plugin. It is not an outcome of trials.
type PluginError struct {
	Permanent bool   // the worker can never start it; otherwise a later attempt may succeed
	plugin    string // the plugin in words
	text      string
	err       error // cause; may be nil
}

func (e *PluginError) Error() string { return e.text }
func (e *PluginError) Unwrap() error { return e.err }

// pluginError returns an error about a plugin. reason continues a sentence about it.
func pluginError(n fleet.Need, permanent bool, reason string, cause error) *PluginError {
	return &PluginError{permanent, n.Name, fmt.Sprintf("%s (sha256 %.12s) %s", n.Name, n.Plugin, reason), cause}
}

// unavailable returns the known reason why a plugin cannot be started here; nil if there is none. It fetches nothing.
func (ps *plugins) unavailable(n fleet.Need) *PluginError {
	if _, ok := ps.local[n.Plugin]; ok {
		return nil
	}
	switch f := ps.known(n.Plugin); {
	case n.Own, ps.dir == "":
		return pluginError(n, true, "is not here: start the worker with a shatter that has it, and with --plugin for "+
			"plugins of others", nil)
	case !ps.allowed(n.Plugin):
		return pluginError(n, true, "is not here, and this worker may not fetch it: start the worker with --allow-plugins "+
			n.Plugin+" (or any), or with --plugin and its file", nil)
	case f != nil && f.otherPlatform != nil:
		return pluginError(n, true, "is not for this machine: "+f.otherPlatform.Error()+"; start a worker on a machine "+
			"that it is for, or submit it as a folder with a file for this platform too", f.otherPlatform)
	}
	return nil
}

// known returns the result of fetching a plugin; nil: there is none yet.
func (ps *plugins) known(digest string) *fetched {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.fetched[digest]
}

// get returns the command of a plugin that a job needs. It fetches the plugin if necessary, and waits while another
// slot fetches the same one. The error is a *PluginError or that of ctx.
func (ps *plugins) get(ctx context.Context, need fleet.Need) (host.Command, error) {
	if command, ok := ps.local[need.Plugin]; ok {
		return command, nil
	}
	if e := ps.unavailable(need); e != nil {
		return host.Command{}, e
	}
	f := ps.known(need.Plugin)
	var err error
	if !f.unchanged() {
		result := ps.fetching.DoChan(need.Plugin, func() (any, error) { return ps.fetchOnce(need.Plugin) })
		select {
		case r := <-result:
			f, err = r.Val.(*fetched), r.Err
		case <-ctx.Done():
			return host.Command{}, ctx.Err()
		}
	}
	if err == nil {
		queue.MarkUsed(f.path)
		return host.Command{Path: f.path, Digest: f.digest, Sandbox: ps.sandbox}, nil
	}
	if e := ps.unavailable(need); e != nil {
		return host.Command{}, e
	}
	return host.Command{}, pluginError(need, false, "is not here and cannot be fetched: "+err.Error(), err)
}

// fetchOnce fetches a plugin unless its file is unchanged, and records the result.
func (ps *plugins) fetchOnce(digest string) (f *fetched, err error) {
	if f = ps.known(digest); f.unchanged() {
		return f, nil
	}
	f = &fetched{}
	err = ps.fetch(digest, f)
	errors.As(err, &f.otherPlatform)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if old := ps.fetched[digest]; old != nil {
		_ = old.file.Close() // an error for nil
	}
	ps.fetched[digest] = f
	return f, err
}

// fetch fetches a plugin's file for this machine and makes it executable.
func (ps *plugins) fetch(digest string, f *fetched) (err error) {
	path, err := ps.path(digest)
	if err != nil {
		return err
	}
	list, err := pluginfile.ReadList(path)
	if list != nil {
		var here pluginfile.File
		if here, err = pluginfile.FileHere(list); err == nil {
			digest = here.Digest
			path, err = ps.path(digest)
		}
	}
	if err != nil {
		return err
	}
	is, err := pluginfile.Platform(path)
	if err != nil {
		return err
	}
	if is != "" && is != pluginfile.Here {
		return &pluginfile.PlatformError{Want: pluginfile.Here, Has: []string{is}}
	}
	if err := os.Chmod(path, 0o500); err != nil {
		return err
	}
	f.path, f.digest = path, digest
	if f.file, err = os.Open(path); err == nil {
		f.info, err = f.file.Stat()
	}
	return err
}
