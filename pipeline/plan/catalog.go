package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/pipeline/sweep"
)

// A catalog holds the algorithms that a sweep file may use.
type catalog struct {
	byName     map[string]Described
	parameters map[string]bool // names of the parameters of all algorithms
}

// newCatalog lists the algorithms by name. It reports a name in two plugins.
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
		other, twice := c.byName[d.GetName()]
		if twice && d.Plugin == "" {
			d, other = other, d
		}
		switch where := pluginItem(r.File, dir, d.Plugin); {
		case !twice:
			c.byName[d.GetName()] = d
		case other.Plugin == "":
			c.byName[d.GetName()] = other
			r.At(where, "the algorithm name %q is built in: rename the plugin's algorithm", d.GetName())
		default:
			r.At(where, "the algorithm name %q is in use by %q: rename one of them", d.GetName(),
				other.Plugin)
		}
	}
	return c, nil
}

// names returns the names of all algorithms, ascending.
func (c *catalog) names() []string { return slices.Sorted(maps.Keys(c.byName)) }

// pluginItem returns the path of a plugin in the file.
func pluginItem(f *sweep.File, dir, plugin string) string {
	for i, p := range f.Sweep.Plugins {
		if abs, err := sweep.Absolute(dir, p); err == nil && abs == plugin {
			return f.Item("plugins", i)
		}
	}
	return "plugins"
}
