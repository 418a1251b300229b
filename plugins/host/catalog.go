package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Catalog knows the built-in plugin and files of third parties, and asks them about settings: it
// implements plan.Algorithms. It keeps at most one process for each file, starts it when it is
// first asked, and again when it has ended. It is safe for concurrent use.
type Catalog struct {
	order   []string // "" first: built in
	entries map[string]*entry
}

var _ plan.Algorithms = (*Catalog)(nil)

// entry is one plugin of a catalog.
type entry struct {
	command Command
	digest  func() (string, error) // of the file, read once

	mu      sync.Mutex
	process *Process // nil: none was started yet
	closed  bool
}

// NewCatalog makes a catalog of the built-in plugin, with the command that starts it, and of files
// with absolute paths, which get the same limits.
func NewCatalog(builtin Command, files ...string) *Catalog {
	c := &Catalog{entries: make(map[string]*entry)}
	c.add("", builtin)
	for _, file := range files {
		third := builtin
		third.Path, third.Args, third.Env = file, nil, nil
		c.add(file, third)
	}
	return c
}

func (c *Catalog) add(plugin string, command Command) {
	if c.entries[plugin] != nil {
		return
	}
	c.order = append(c.order, plugin)
	c.entries[plugin] = &entry{
		command: command,
		digest:  sync.OnceValues(func() (string, error) { return digest(command.Path) }),
	}
}

// List describes all algorithms: the built-in ones first, then those of the files in their order.
func (c *Catalog) List(ctx context.Context) ([]plan.Described, error) {
	var all []plan.Described
	for _, plugin := range c.order {
		p, err := c.process(ctx, plugin)
		if err != nil {
			return nil, err
		}
		for _, a := range p.Describe().Algorithms {
			all = append(all, plan.Described{Plugin: plugin, Algorithm: a})
		}
	}
	return all, nil
}

// Ask asks the plugin ("": built in) about settings.
func (c *Catalog) Ask(ctx context.Context, plugin string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	p, err := c.process(ctx, plugin)
	if err != nil {
		return nil, err
	}
	return p.Ask(ctx, settings)
}

// Digest returns the SHA-256 of the plugin's file in hex, as the file was at the first call.
func (c *Catalog) Digest(plugin string) (string, error) {
	e, err := c.entry(plugin)
	if err != nil {
		return "", err
	}
	return e.digest()
}

// Command returns the command that starts the plugin, with the limits of the built-in one.
func (c *Catalog) Command(plugin string) (Command, error) {
	e, err := c.entry(plugin)
	if err != nil {
		return Command{}, err
	}
	return e.command, nil
}

// Close stops all processes. Nothing is started after it.
func (c *Catalog) Close() {
	var all sync.WaitGroup
	for _, e := range c.entries {
		all.Go(e.close)
	}
	all.Wait()
}

func (c *Catalog) entry(plugin string) (*entry, error) {
	if e := c.entries[plugin]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("plugin %q is not in the catalog", plugin)
}

func (c *Catalog) process(ctx context.Context, plugin string) (*Process, error) {
	e, err := c.entry(plugin)
	if err != nil {
		return nil, err
	}
	return e.running(ctx)
}

// running returns the entry's process. It starts one if there is none that lives.
func (e *entry) running(ctx context.Context) (*Process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("the catalog is closed")
	}
	if e.process != nil && e.process.child.ended() == "" {
		return e.process, nil
	}
	if e.process != nil {
		e.process.Stop()
		e.process = nil
	}
	p, err := Start(ctx, e.command)
	if err != nil {
		return nil, err
	}
	e.process = p
	return p, nil
}

func (e *entry) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.process != nil {
		e.process.Stop()
	}
}

// digest returns the SHA-256 of a file in hex.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("digest of plugin: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("digest of plugin %q: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
