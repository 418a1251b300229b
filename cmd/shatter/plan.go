package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline"
	"github.com/shatterlab/shatter/plugins/host"
)

// sweep is a sweep file that was understood, with the plugins that it uses. Close it.
type sweep struct {
	*pipeline.Plan
	catalog *host.Catalog
}

func (s *sweep) close() { s.catalog.Close() }

// builtin is how this binary serves its own algorithms: it starts itself under go-plugin, like any other plugin file.
func builtin() (host.Command, error) {
	self, err := os.Executable()
	if err != nil {
		return host.Command{}, fmt.Errorf("find this binary: %w", err)
	}
	return host.Command{Path: self, Args: []string{"plugin", "serve"}}, nil
}

func catalog(files ...string) (*host.Catalog, error) {
	self, err := builtin()
	if err != nil {
		return nil, err
	}
	return host.NewCatalog(self, files...), nil
}

// catalogOf is the catalog with plugin files as they were named on the command line, and their absolute paths.
func catalogOf(files []string) (*host.Catalog, []string, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		var err error
		if paths[i], err = filepath.Abs(f); err != nil {
			return nil, nil, err
		}
	}
	c, err := catalog(paths...)
	return c, paths, err
}

// load reads, checks and resolves a sweep file.
func load(ctx context.Context, path string) (*sweep, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("read sweep file: %w", err)}
	}
	s, err := understand(ctx, path, src, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if s.File, err = filepath.Abs(path); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// understand checks and resolves the text of a sweep file, whose relative paths start at dir.
func understand(ctx context.Context, path string, src []byte, dir string) (*sweep, error) {
	file, err := pipeline.Parse(path, src)
	if err != nil {
		return nil, invalid(err)
	}
	plugins, err := file.PluginPaths(dir)
	if err != nil {
		return nil, invalid(err)
	}
	c, err := catalog(plugins...)
	if err != nil {
		return nil, err
	}
	plan, err := pipeline.Resolve(ctx, file, c, pipeline.Options{Dir: dir})
	if err != nil {
		c.Close()
		return nil, invalid(err)
	}
	return &sweep{Plan: plan, catalog: c}, nil
}

// invalid makes what is wrong with a sweep file, or with a plugin that it names, the user's to mend.
func invalid(err error) error {
	var start *host.StartError
	if errors.As(err, &start) {
		return usageError{err}
	}
	return err
}

func checkCommand() *cobra.Command {
	return planning("check FILE", "Check a sweep file whole and say in words what was understood",
		func(w io.Writer, p *pipeline.Plan) error { return p.Explain(w) })
}

func planCommand() *cobra.Command {
	return planning("plan FILE", "Count the cells and trials of a sweep file without running any", writeCounts)
}

// planning is a command that understands a sweep file and says something of it, without running anything.
func planning(use, short string, say func(io.Writer, *pipeline.Plan) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := load(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer s.close()
			warn(c, s.Plan)
			return say(c.OutOrStdout(), s.Plan)
		},
	}
}

func writeCounts(w io.Writer, p *pipeline.Plan) error {
	n := p.Counts()
	text := fmt.Sprintf("%d cells, %d trials, at least %d jobs\n", n.Cells, n.Trials, n.Jobs)
	if !n.Exact {
		text = fmt.Sprintf("%d cells, %d to %d trials (a search stops where its cell is decided)\n", n.Cells, n.Trials, n.TrialsMax)
	}
	_, err := io.WriteString(w, text)
	return err
}

func warn(c *cobra.Command, p *pipeline.Plan) {
	for _, w := range p.Warnings {
		fmt.Fprintf(c.ErrOrStderr(), "shatter: warning: %s\n", w)
	}
}
