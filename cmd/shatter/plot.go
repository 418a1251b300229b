package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/result/report"
)

var (
	plotFormats = []string{"svg", "pdf", "vl.json"}
	plotKinds   = []string{"n", "curve", "regret"}
)

type plotFlags struct {
	out           string
	formats, what []string
	width         float64
}

func plotCommand() *cobra.Command {
	var f plotFlags
	c := &cobra.Command{
		Use: "plot DIR", Short: "Draw the figures of a finished sweep for papers", Args: cobra.ExactArgs(1),
		Long: `Draw the figures of report.html as files for papers, and print their paths: SVG and PDF, a column wide,
or vl.json, the specification of Vega-Lite 6. The same result gives the same bytes.`,
		RunE: func(c *cobra.Command, args []string) error { return f.plot(c, args[0]) },
	}
	c.Flags().StringVar(&f.out, "out", "", "folder for the figures (default DIR/figures)")
	c.Flags().StringSliceVar(&f.formats, "format", []string{"svg", "pdf"}, "formats: "+strings.Join(plotFormats, ", "))
	c.Flags().StringSliceVar(&f.what, "what", plotKinds,
		"which: n (n* against parameters), curve (success rates), regret (regret and mistakes)")
	c.Flags().Float64Var(&f.width, "width", 3.25, "width in inches")
	return c
}

// plot writes the figures of the result in dir and prints their paths.
func (f *plotFlags) plot(c *cobra.Command, dir string) error {
	for _, flag := range []struct {
		name           string
		given, allowed []string
	}{{"format", f.formats, plotFormats}, {"what", f.what, plotKinds}} {
		for _, v := range flag.given {
			if !slices.Contains(flag.allowed, v) {
				return usageError{fmt.Errorf("--%s %q: one of %s is needed, or several with commas",
					flag.name, v, strings.Join(flag.allowed, ", "))}
			}
		}
	}
	if !(f.width >= 1 && f.width <= 40) {
		return usageError{fmt.Errorf("--width %v: inches from 1 to 40 are needed", f.width)}
	}
	known, err := openResult(c, dir)
	if err != nil {
		return err
	}
	defer known.close()
	sweep, err := report.Load(known.Dir)
	if err != nil {
		return explainRead(dir, err)
	}
	if f.out == "" {
		f.out = filepath.Join(dir, "figures")
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return err
	}
	for _, figure := range sweep.Figures() {
		if slices.Contains(f.what, figure.Kind) {
			if err := f.write(c, &figure); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes one figure in each format.
func (f *plotFlags) write(c *cobra.Command, figure *report.Figure) error {
	for _, format := range f.formats {
		var b bytes.Buffer
		var err error
		switch format {
		case "svg":
			err = figure.SVG(&b, f.width)
		case "pdf":
			err = figure.PDF(&b, f.width)
		case "vl.json":
			var spec []byte
			spec, err = figure.VegaLite()
			b.Write(spec)
		}
		if err != nil {
			return err
		}
		path := filepath.Join(f.out, figure.Name+"."+format)
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c.OutOrStdout(), path); err != nil {
			return err
		}
	}
	return nil
}
