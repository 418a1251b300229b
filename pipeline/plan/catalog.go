package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/pipeline/sweep"
)

// catalog holds the algorithms that a sweep file may name.
type catalog struct {
	byName     map[string]Described
	parameters map[string]bool // names, of all algorithms
	clashes    []clash
}

// clash is a plugin's algorithm whose name was taken before.
type clash struct {
	path    string // of the plugin in the sweep file
	name    string
	claimed string // by whom
}

// newCatalog lists the algorithms by name. Names that two files claim are clashes.
func newCatalog(ctx context.Context, r *sweep.Reporter, algorithms Algorithms, dir string) (*catalog, error) {
	list, err := algorithms.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list algorithms: %w", err)
	}
	c := &catalog{byName: map[string]Described{}, parameters: map[string]bool{}}
	for _, d := range list {
		for _, p := range d.GetParameters() {
			c.parameters[p.GetName()] = true
		}
		first, ok := c.byName[d.GetName()]
		if !ok {
			c.byName[d.GetName()] = d
			continue
		}
		if d.Plugin == "" {
			first, d = d, first
			c.byName[d.GetName()] = first
		}
		c.clashes = append(c.clashes, clash{pluginItem(r.File, dir, d.Plugin), d.GetName(), claimed(first)})
	}
	return c, nil
}

// names returns the names of all algorithms, ascending.
func (c *catalog) names() []string { return slices.Sorted(maps.Keys(c.byName)) }

// claimed says who has a name already.
func claimed(d Described) string {
	if d.Plugin == "" {
		return "is built in: rename the plugin's algorithm"
	}
	return fmt.Sprintf("%q serves already", d.Plugin)
}

// pluginItem returns the path of a plugin in the file.
func pluginItem(f *sweep.File, dir, plugin string) string {
	for i, p := range f.Sweep.Plugins {
		if abs, err := sweep.Absolute(dir, p); err == nil && abs == plugin {
			return f.Item("plugins", i)
		}
	}
	return "plugins"
}
