package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shatterlab/shatter/plugins/host"
)

// builtin returns how this binary serves its own algorithms: it starts itself under go-plugin, like
// any other plugin file.
func builtin() (host.Command, error) {
	self, err := os.Executable()
	if err != nil {
		return host.Command{}, fmt.Errorf("find this binary: %w", err)
	}
	return host.Command{Path: self, Args: []string{"plugin", "serve"}}, nil
}

// catalog returns the built-in algorithms and those of plugin files with absolute paths, in the
// sandbox, and with the attached plugin, that ctx gives.
func catalog(ctx context.Context, files ...string) (*host.Catalog, error) {
	self, err := builtin()
	if err != nil {
		return nil, err
	}
	self.Sandbox = sandboxOf(ctx)
	known, err := builtinsDescribed()
	if err != nil {
		return nil, err
	}
	c := host.NewCatalog(self, files...)
	c.KnowBuiltin(known)
	return c, attachmentOf(ctx).attach(c, files)
}

// catalogOf returns the catalog with plugin files as they were named on the command line, and their
// absolute paths.
func catalogOf(ctx context.Context, files []string) (*host.Catalog, []string, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		var err error
		if paths[i], err = filepath.Abs(f); err != nil {
			return nil, nil, err
		}
	}
	c, err := catalog(ctx, paths...)
	return c, paths, err
}
