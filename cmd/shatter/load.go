package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/plugins/host"
)

// A loadedSweep is a sweep whose file was found right, with the plugins that it uses. Close it.
type loadedSweep struct {
	*plan.Plan
	catalog *host.Catalog // nil if the plan was saved by an earlier run
	kept    *plan.Kept    // what its files hold, for the workers of this process
}

func (s *loadedSweep) close() {
	if s.catalog != nil {
		s.catalog.Close()
	}
	_ = s.kept.Close() // the memory goes with the process in any case
}

// load reads, checks and resolves a sweep file.
func load(ctx context.Context, path string) (*loadedSweep, error) {
	src, err := disk.ReadFile(path, sweep.MaxSource)
	if err != nil {
		return nil, usageError{fmt.Errorf("read sweep file: %w", err)}
	}
	s, err := resolve(ctx, path, src, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if s.File, err = filepath.Abs(path); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// resolve checks and resolves the text of the sweep file at path. Its relative paths start at dir.
func resolve(ctx context.Context, path string, src []byte, dir string) (*loadedSweep, error) {
	file := sweep.Read(path, src)
	plugins, _ := file.PluginPaths(dir) // what is wrong with them is among the mistakes that Resolve returns
	c, err := catalog(ctx, plugins...)
	if err != nil {
		return nil, err
	}
	c.LimitTrials(plan.TrialTime(file))
	s := &loadedSweep{catalog: c, kept: &plan.Kept{}}
	if s.Plan, err = plan.Resolve(ctx, file, c, plan.Options{Dir: dir, Kept: s.kept}); err != nil {
		s.close()
		return nil, blamePlugin(err)
	}
	return s, nil
}

// encode returns the plan with the identities of its algorithms, for plan.Decode.
func (s *loadedSweep) encode() ([]byte, error) {
	digests, _, err := pluginsOf(s)
	if err != nil {
		return nil, err
	}
	return s.Encode(digests)
}

// blamePlugin makes the error of a plugin that does not start a usage error: somebody named it.
func blamePlugin(err error) error {
	var start *host.StartError
	if errors.As(err, &start) {
		return usageError{err}
	}
	return err
}

// warn prints the warnings about a sweep file.
func warn(c *cobra.Command, p *plan.Plan) {
	for _, w := range p.Warnings {
		fmt.Fprintf(c.ErrOrStderr(), "shatter: warning: %s\n", printable(w))
	}
}

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

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Check a sweep file whole and say in words what was understood",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := load(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer s.close()
			warn(c, s.Plan)
			return s.Explain(c.OutOrStdout())
		},
	}
}
