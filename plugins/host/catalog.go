package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Catalog holds the built-in plugin and plugins of third parties, and asks them about settings: it implements
// plan.Algorithms. It has at most one process per plugin, which it starts for the first question, and again if it has
// ended. It is safe for concurrent use.
type Catalog struct {
	order   []string // "" first: built in
	entries map[string]*entry
	builtin []*pluginv1.Algorithm // its algorithms, if known; nil: ask the process
}

var _ plan.Algorithms = (*Catalog)(nil)

// entry is one plugin of a catalog.
type entry struct {
	builtin bool
	command Command
	file    func() (*pluginfile.Plugin, error) // read once

	mu      sync.Mutex
	process *Process // nil: none was started yet
	closed  bool
}

// NewCatalog makes a catalog of the built-in plugin, with the command that starts it, and of plugins
// with absolute paths, which get the same limits.
func NewCatalog(builtin Command, files ...string) *Catalog {
	c := &Catalog{entries: make(map[string]*entry)}
	c.add("", builtin)
	for _, path := range files {
		third := builtin
		third.Path, third.Args, third.Env = path, nil, nil
		c.add(path, third)
	}
	return c
}

func (c *Catalog) add(plugin string, command Command) {
	if c.entries[plugin] != nil {
		return
	}
	c.order = append(c.order, plugin)
	c.entries[plugin] = &entry{
		builtin: plugin == "",
		command: command,
		file:    sync.OnceValues(func() (*pluginfile.Plugin, error) { return pluginfile.Read(command.Path) }),
	}
}

// LimitTimes sets the time in which a plugin gets ready, and the time that each question about a setting may take to
// that of a trial. It must be called before the first question.
func (c *Catalog) LimitTimes(start, trial time.Duration) {
	for _, e := range c.entries {
		e.command.Start, e.command.Trial = start, trial
	}
}

// KnowBuiltin sets the algorithms of the built-in plugin, so that List starts no process to ask it.
func (c *Catalog) KnowBuiltin(algorithms []*pluginv1.Algorithm) { c.builtin = algorithms }

// List describes all algorithms: first the built-in ones, then the algorithms of each file in order.
func (c *Catalog) List(ctx context.Context) ([]plan.Described, error) {
	var all []plan.Described
	for _, plugin := range c.order {
		served, err := c.algorithms(ctx, plugin)
		if err != nil {
			return nil, err
		}
		for _, a := range served {
			d := plan.Described{Plugin: plugin, Algorithm: a}
			if a.IsProblem() {
				if d.Digest, err = c.Digest(plugin); err != nil {
					return nil, err
				}
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// algorithms returns what a plugin serves.
func (c *Catalog) algorithms(ctx context.Context, plugin string) ([]*pluginv1.Algorithm, error) {
	if plugin == "" && c.builtin != nil {
		return c.builtin, nil
	}
	d, err := c.Describe(ctx, plugin)
	return d.GetAlgorithms(), err
}

// Describe returns the description of the plugin ("": built in).
func (c *Catalog) Describe(ctx context.Context, plugin string) (*pluginv1.DescribeResponse, error) {
	p, err := c.process(ctx, plugin)
	if err != nil {
		return nil, err
	}
	return p.Describe(), nil
}

// Environment returns the environment that a plugin reports. It is empty for the built-in one.
func (c *Catalog) Environment(ctx context.Context, plugin string) (schemas.Environment, error) {
	if plugin == "" {
		return nil, nil
	}
	p, err := c.process(ctx, plugin)
	if err != nil {
		return nil, err
	}
	return p.Environment(), nil
}

// Ask asks the plugin ("": built in) about settings.
func (c *Catalog) Ask(ctx context.Context, plugin string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	p, err := c.process(ctx, plugin)
	if err != nil {
		return nil, err
	}
	return p.Ask(ctx, settings)
}

// File returns the plugin as it lies on the disk, with its digests, as it was at the first call.
func (c *Catalog) File(plugin string) (*pluginfile.Plugin, error) {
	e, err := c.entry(plugin)
	if err != nil {
		return nil, err
	}
	return e.file()
}

// Digest returns the identity of a plugin of a third party. It is "" for the built-in one, whose
// algorithms have identities of their own: pluginfile.BuiltinDigest.
func (c *Catalog) Digest(plugin string) (string, error) {
	if plugin == "" {
		return "", nil
	}
	file, err := c.File(plugin)
	if err != nil {
		return "", err
	}
	return file.Digest, nil
}

// Command returns the command that starts the plugin on this machine, with the limits of the built-in
// one.
func (c *Catalog) Command(plugin string) (Command, error) {
	e, err := c.entry(plugin)
	if err != nil {
		return Command{}, err
	}
	return e.here()
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
	command, err := e.here()
	if err != nil {
		return nil, err
	}
	p, err := Start(ctx, command)
	if err != nil {
		return nil, err
	}
	e.process = p
	return p, nil
}

// here returns the command with the file for this machine, or a *StartError if the plugin is a set without such a file.
// Start checks a single file.
func (e *entry) here() (Command, error) {
	command := e.command
	if e.builtin || command.Attached {
		return command, nil
	}
	info, err := os.Stat(command.Path)
	if err != nil {
		return command, nil
	}
	p, err := e.file()
	if err != nil && !info.IsDir() {
		return command, nil
	}
	var here pluginfile.File
	if err == nil {
		here, err = p.FileHere()
	}
	if err != nil {
		return Command{}, &StartError{Plugin: e.command.Path, Reason: err.Error(), err: err}
	}
	command.Path, command.Digest = here.Path, here.Digest
	return command, nil
}

func (e *entry) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.process != nil {
		e.process.Stop()
	}
}
