package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/report"
	"github.com/shatterlab/shatter/pipeline/wording"
)

var plotFormats = []string{"svg", "pdf", "png"}

type plotFlags struct {
	out     string
	formats []string
	width   string
	where   whereFlag
	choice  report.Choice
}

func plotCommand() *cobra.Command {
	var f plotFlags
	c := &cobra.Command{
		Use: "plot DIR", Short: "Draw the figures of a result for papers", Args: cobra.ExactArgs(1),
		Long: `Draw the figures of report.html as files for papers, and print their paths: SVG and PDF, a column
wide, or PNG with 300 dots per inch. The file FIGURE.txt has the caption. The same result gives the
same bytes.

If there are more settings than a figure can show, it shows one of them. Its caption and a line on
stderr name it. --where, --x and --group choose instead.`,
		RunE: func(c *cobra.Command, args []string) error { return f.plot(c, args[0]) },
	}
	c.Flags().StringVar(&f.out, "out", "", "`folder` for the figures (default DIR/figures)")
	c.Flags().StringSliceVar(&f.formats, "format", []string{"svg", "pdf"},
		"`formats` of the files: "+strings.Join(plotFormats, ", "))
	f.where.add(c)
	c.Flags().StringVar(&f.choice.X, "x", "",
		"`parameter` along the x axis (default each one that varies; n with curve and error)")
	c.Flags().StringSliceVar(&f.choice.Group, "group", nil,
		"`keys` with a line for each value; the others are fixed (default all keys, up to 12 lines)")
	c.Flags().StringVar(&f.choice.Scale, "scale", "",
		"`scale` of the axes: linear, log (of x), semilog (of y) or log-log (default log-log; log with curve and error)")
	c.Flags().StringSliceVar(&f.choice.What, "what", nil,
		"`figures`: n (n* against parameters), curve (success rates), "+
			"error (mean error), regret, find (another number against n), or a metric (default all but metrics)")
	c.Flags().StringVar(&f.width, "width", "column",
		"`width` of a figure: column (3.25 inches), page (two columns, 6.75 inches), or inches")
	return c
}

// plot writes the figures of the result in dir and prints their paths.
func (f *plotFlags) plot(c *cobra.Command, dir string) error {
	for _, v := range f.formats {
		if !slices.Contains(plotFormats, v) {
			return wrong("--format %q: one of %s is needed, or several with commas", v, strings.Join(plotFormats, ", "))
		}
	}
	inches, err := figureWidth(f.width)
	if err != nil {
		return err
	}
	opened, err := openResult(c, dir)
	if err != nil {
		return err
	}
	defer opened.close()
	sweep, err := f.where.load(opened.Dir, dir)
	if err != nil {
		return err
	}
	if len(sweep.Dropped) > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "shatter: no row of %s satisfies --where\n", wording.Few(sweep.Dropped, 6))
	}
	figures, left, err := sweep.Choose(f.choice)
	if choice, ok := errors.AsType[*report.ChoiceError](err); ok {
		return wrong("--%w", choice)
	}
	if err != nil {
		return usageError{err}
	}
	if len(f.choice.What) > 0 {
		for _, line := range left {
			fmt.Fprintf(c.ErrOrStderr(), "shatter: not drawn: %s\n", line)
		}
	}
	if f.out == "" {
		f.out = filepath.Join(dir, "figures")
		if info, err := os.Lstat(f.out); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return wrong("%s is a symbolic link, which may lead out of the result: name a folder with --out", f.out)
		}
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return err
	}
	for _, figure := range figures {
		for _, line := range figure.Choices {
			fmt.Fprintf(c.ErrOrStderr(), "shatter: %s: %s\n", figure.Name, line)
		}
		if err := f.write(c, &figure, inches); err != nil {
			return err
		}
	}
	return nil
}

// figureWidth returns the value of --width in inches.
func figureWidth(text string) (inches float64, err error) {
	switch text {
	case "column":
		return 3.25, nil
	case "page":
		return 6.75, nil
	}
	if inches, err = strconv.ParseFloat(text, 64); err != nil || !(inches >= 1 && inches <= 40) {
		return 0, wrong("--width %s: inches from 1 to 40 are needed, or column or page", text)
	}
	return inches, nil
}

// write writes one figure in each format, and its caption.
func (f *plotFlags) write(c *cobra.Command, figure *report.Figure, inches float64) error {
	for _, format := range append(slices.Clone(f.formats), "txt") {
		var b bytes.Buffer
		var err error
		switch format {
		case "svg":
			err = figure.SVG(&b, inches)
		case "pdf":
			err = figure.PDF(&b, inches)
		case "png":
			err = figure.PNG(&b, inches)
		case "txt":
			b.WriteString(figure.Text())
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

func reportCommand() *cobra.Command {
	var where whereFlag
	var out string
	c := &cobra.Command{
		Use: "report DIR...", Short: "Write the page report.html of a result again", Args: cobra.MinimumNArgs(1),
		Long: `Write DIR/report.html again and print its path: one page with the table, its figures, undecided
cells and the facts about the run. The file needs no network. shatter run writes it at its end. With
--where the page has only the chosen rows; --out is its path. A page of several
folders needs --out.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(where.texts) > 0 && out == "" {
				return wrong("--where %s: name the file of this page with --out FILE, so that "+
					"report.html goes on to show the whole result", where.texts[0])
			}
			if len(args) > 1 && out == "" {
				return wrong("name the file of a page of several folders with --out FILE")
			}
			known, err := openResults(c, args)
			if err != nil {
				return err
			}
			defer known.close()
			sweep, err := where.load(known.Dir, args[0])
			if err != nil {
				return err
			}
			if known.temporary && len(args) == 1 && folder.HasFinalResult(args[0]) { // the run has ended meanwhile
				if sweep, err = where.load(args[0], args[0]); err != nil {
					return err
				}
			}
			path := cmp.Or(out, filepath.Join(args[0], "report.html"))
			if err := disk.WriteFile(path, sweep.WriteHTML); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), path)
			return err
		},
	}
	where.add(c)
	c.Flags().StringVar(&out, "out", "", "`file` of the page (default DIR/report.html)")
	return c
}

// writeReport writes the page at the end of a run.
func writeReport(dir string) error {
	sweep, err := report.Load(dir)
	if err == nil {
		_, err = sweep.WriteFile()
	}
	return err
}
