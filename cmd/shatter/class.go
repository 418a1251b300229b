package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// classQuery holds the flags of class describe.
type classQuery struct {
	domain     string
	dim        int
	noConstant bool
	format     string
	tree       bool
	separator  bool
}

func classCommand() *cobra.Command {
	c := &cobra.Command{Use: "class", Short: "Look at concept classes"}
	c.AddCommand(classDescribeCommand())
	return c
}

func classDescribeCommand() *cobra.Command {
	var q classQuery
	c := &cobra.Command{
		Use:   "describe NAME|FILE",
		Short: "Show the size, the dimensions and the separator of a class",
		Args:  cobra.ExactArgs(1),
		Long: `Show the size, the Vapnik-Chervonenkis, Littlestone and representation dimensions and the separator of a class:
one of ` + strings.Join(classNames(), ", ") + `,
or a file (.csv, .parquet, .arrow) with a row for each hypothesis, a column for each point, and cells 0 and 1.

Numbers of points and hypotheses are exact. A dimension that is neither proved nor found within some seconds is given
between two bounds. The representation dimension is what learning with pure differential privacy costs: the ln of the
size of the smallest random set that is likely to hold a function near to each hypothesis. The separator is the one that
follow-the-perturbed-leader uses if not told otherwise: on m points any two hypotheses differ at h or more; rho is their
least distance there. In JSON all digits are given, and null is infinite.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOutput(c.OutOrStdout(), q.format, listFormats); err != nil {
				return err
			}
			spec, err := q.spec(c, args[0])
			if err != nil {
				return usageError{fmt.Errorf("describe class: %w", err)}
			}
			r, err := q.report(args[0], spec)
			if err != nil {
				return err
			}
			return r.write(c.OutOrStdout(), q.format)
		},
	}
	c.Flags().StringVar(&q.domain, "domain", "", "X, where the numbers of a point are 0..X-1; 1024 or 2^10")
	c.Flags().IntVar(&q.dim, "d", 0, "numbers per point")
	c.Flags().BoolVar(&q.noConstant, "no-constant", false, "thresholds without the one that labels every point -1")
	addOutput(c, &q.format, listFormats, "")
	c.Flags().BoolVar(&q.tree, "tree", false, "witnesses of the dimensions too: a mistake tree and a shattered set")
	c.Flags().BoolVar(&q.separator, "separator", false, "the points of the separator too")
	return c
}

// classNames lists the classes that a name and numbers describe; the others are described by files.
func classNames() []string { return slices.DeleteFunc(concept.Names(), ofFiles) }

// ofFiles reports whether the hypotheses of a class are listed in a file.
func ofFiles(class string) bool { return concept.ShapeOf(class) == concept.Column }

// spec returns the class that the command line names.
func (q *classQuery) spec(c *cobra.Command, arg string) (concept.Spec, error) {
	names := classNames()
	if !slices.Contains(names, arg) {
		if ofFiles(arg) {
			return concept.Spec{}, fmt.Errorf("%q is a class of files: name the file instead", arg)
		}
		if _, err := os.Stat(arg); err != nil && !strings.ContainsAny(arg, `./\`) {
			return concept.Spec{}, fmt.Errorf("no class or file %q%s", arg, wording.DidYouMean(arg, names))
		}
		for _, flag := range []string{"domain", "d", "no-constant"} {
			if c.Flags().Changed(flag) {
				return concept.Spec{}, fmt.Errorf("--%s does not apply to a file; leave it out", flag)
			}
		}
		return matrixSpec(arg)
	}
	s := concept.Spec{Name: arg, Dim: q.dim, NoConstant: q.noConstant}
	if q.domain != "" {
		var x schemas.Size
		if err := x.UnmarshalText([]byte(q.domain)); err != nil {
			return s, fmt.Errorf("--domain: %w", err)
		}
		s.Domain = uint64(x)
	}
	_, err := concept.New(s)
	if err != nil && q.domain == "" && q.dim == 0 {
		err = fmt.Errorf("%w; --domain and --d set them", err)
	}
	return s, err
}

// matrixSpec returns the class whose hypotheses a file lists.
func matrixSpec(path string) (concept.Spec, error) {
	file := schemas.Problem{Class: concept.Matrix, Distribution: "uniform", Matrix: &schemas.Matrix{File: path}}
	o, err := problem.Open(file, path)
	var wrong *problem.Error
	switch {
	case errors.As(err, &wrong): // its key is one of sweep files
		return concept.Spec{}, errors.New(wrong.Reason)
	case err != nil:
		return concept.Spec{}, err
	}
	p := o.Public()
	s := concept.Spec{Name: concept.Matrix, Domain: p.Domain, Matrix: p.Matrix}
	_, err = concept.New(s)
	return s, err
}

// classReport is the description of a class as JSON. A null number is infinite.
type classReport struct {
	Class     string           `json:"class"`
	File      string           `json:"file,omitempty"`
	Dim       int              `json:"dim"`
	Points    *big.Int         `json:"points"`
	Size      *big.Int         `json:"size"`
	LogSize   *float64         `json:"ln_size"`
	VC        dimensionReport  `json:"vc"`
	Ldim      dimensionReport  `json:"ldim"`
	RepDim    boundsReport     `json:"representation"` // in nats
	Separator *separatorReport `json:"separator,omitempty"`
	Reason    string           `json:"no_separator,omitempty"`
	Targets   targetsReport    `json:"targets"`
	Tree      [][]float64      `json:"tree,omitempty"`
	Shattered [][]float64      `json:"shattered,omitempty"`

	described *concept.Description
}

// targetsReport says what the targets of a class may be; all is empty where an adversary says the
// labels.
type targetsReport struct {
	Random string `json:"random,omitempty"`
	Middle string `json:"middle,omitempty"`
	Stated string `json:"stated,omitempty"` // how to write a hypothesis
}

type dimensionReport struct {
	Low  *int `json:"low"`
	High *int `json:"high"`
}

// boundsReport holds bounds of a number; null: there is no finite one.
type boundsReport struct {
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

type separatorReport struct {
	Len     int         `json:"m"`
	Hamming int         `json:"h"`
	Rho01   float64     `json:"rho_01"`
	RhoPM   float64     `json:"rho_pm"`
	Margin  [2]float64  `json:"hull_margin"`
	Points  [][]float64 `json:"points,omitempty"`
}

// report describes the class of s, which the argument arg names.
func (q *classQuery) report(arg string, s concept.Spec) (*classReport, error) {
	d, err := concept.Describe(s)
	if err != nil {
		return nil, err
	}
	r := &classReport{
		Class: d.Name, Dim: d.Dim, Points: d.Points, Size: d.Size, VC: boundsOf(d.VC), Ldim: boundsOf(d.Ldim),
		described: d,
	}
	if b := d.Representation; !math.IsInf(b.Low, 1) {
		r.RepDim.Low = &b.Low
	}
	if b := d.Representation; !math.IsInf(b.High, 1) {
		r.RepDim.High = &b.High
	}
	class, _ := concept.Lookup(s.Name)
	r.Targets = targetsReport{class.RandomDoc, class.MiddleDoc, class.Notation}
	if ofFiles(s.Name) {
		r.File = arg
	}
	if d.Size != nil {
		r.LogSize = &d.LogSize
	}
	if z := d.Separator; z == nil {
		r.Reason = d.NoSeparator.Error()
	} else {
		r.Separator = &separatorReport{
			Len: z.Len(), Hamming: z.Hamming, Rho01: z.Rho01(), RhoPM: z.RhoPM(),
			Margin: [2]float64{d.Margin.Lower, d.Margin.Upper},
		}
		if q.separator {
			r.Separator.Points = slices.Collect(slices.Chunk(z.Points, z.Dim))
		}
	}
	if q.tree {
		return r, r.witness(s)
	}
	return r, nil
}

func boundsOf(d concept.Dimension) (r dimensionReport) {
	if !d.Infinite() {
		r = dimensionReport{&d.Low, &d.High}
	}
	return r
}

// witness adds a mistake tree and a shattered set, and checks both.
func (r *classReport) witness(s concept.Spec) error {
	c, err := concept.New(s)
	if err != nil {
		return err
	}
	finite, ok := c.(concept.Finite)
	if !ok {
		return usageError{fmt.Errorf("--tree: class %q has infinitely many hypotheses", s.Name)}
	}
	t, err := concept.NewLabelTable(finite, s)
	if err != nil {
		return usageError{fmt.Errorf("--tree: %w", err)}
	}
	tree := t.Versions().Tree()
	_, shattered := t.VC()
	if err := errors.Join(t.Realizes(tree), t.Shatters(shattered)); err != nil {
		return fmt.Errorf("check the witnesses of class %q: %w", s.Name, err)
	}
	for _, v := range tree {
		r.Tree = append(r.Tree, t.Point(v))
	}
	for _, v := range shattered {
		r.Shattered = append(r.Shattered, t.Point(v))
	}
	return nil
}

func (r *classReport) write(w io.Writer, format string) error {
	if format == "json" {
		return json.NewEncoder(w).Encode(r)
	}
	var b strings.Builder
	r.table(&b)
	if z := r.Separator; z != nil && len(z.Points) > 0 {
		fmt.Fprintf(&b, "\nseparator: %s\n", pointsText(z.Points))
	}
	if len(r.Shattered) > 0 {
		fmt.Fprintf(&b, "\nshattered set: %s\n", pointsText(r.Shattered))
	}
	if len(r.Tree) > 0 {
		fmt.Fprintf(&b, "\nmistake tree: some hypothesis agrees with the labels on each path down\n")
		r.branch(&b, 0, "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes the description for people.
func (r *classReport) table(b *strings.Builder) {
	d := r.described
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	row := func(what, format string, a ...any) { fmt.Fprintf(w, what+"\t"+format+"\n", a...) }
	row("class", "%s", r.Class)
	if r.File != "" {
		row("file", "%s", r.File)
	}
	row("points", "%s%s", numberText(d.Points), ofNumbers(d.Dim))
	row("hypotheses", "%s", numberText(d.Size))
	if r.LogSize != nil {
		row("ln |H|", "%.6g", d.LogSize)
	}
	row("VC dimension", "%v", d.VC)
	row("Littlestone dimension", "%v", d.Ldim)
	row("representation (nats)", "%v", d.Representation)
	if z := r.Separator; z != nil {
		row("separator", "m = %d, h = %d", z.Len, z.Hamming)
		row("rho", "%.6g (labels 0 and 1), %.6g (labels -1 and +1)", z.Rho01, z.RhoPM)
		row("hull margin", "%s", marginText(z.Margin))
	} else {
		row("separator", "none: %s", r.Reason)
	}
	r.targets(row)
	_ = w.Flush() // to memory
}

// targets writes what the targets may be: the default, and what else a sweep file may state.
func (r *classReport) targets(row func(what, format string, a ...any)) {
	t := r.Targets
	if t.Random == "" {
		row("target", "none: an adversary says the labels")
		return
	}
	row("target", "random: %s", t.Random)
	if t.Middle != "" {
		row("", "middle: %s", t.Middle)
	}
	if t.Stated != "" {
		row("", "or %s", t.Stated)
	}
}

// numberText writes a number exactly, and rounds it only where it has more than 40 digits.
func numberText(n *big.Int) string {
	if n == nil {
		return "infinitely many"
	}
	if text := n.String(); len(text) <= 40 {
		return text
	}
	return "about " + new(big.Float).SetInt(n).Text('g', 6)
}

func ofNumbers(dim int) string {
	if dim == 1 {
		return ""
	}
	return fmt.Sprintf(", each of %d numbers", dim)
}

func marginText(m [2]float64) string {
	low, high := fmt.Sprintf("%.6g", m[0]), fmt.Sprintf("%.6g", m[1])
	if low == high {
		return low
	}
	return "between " + low + " and " + high
}

// branch writes the mistake tree below a node, depth first and one node per line, each after the
// label that leads to it.
func (r *classReport) branch(b *strings.Builder, node int, lead string) {
	if node >= len(r.Tree) {
		return
	}
	fmt.Fprintf(b, "%s%s\n", lead, pointText(r.Tree[node]))
	indent := strings.Repeat("  ", (len(lead)+1)/2)
	r.branch(b, 2*node+1, indent+"- ")
	r.branch(b, 2*node+2, indent+"+ ")
}

// pointText writes a point as in 3 or (1 0 4).
func pointText(x []float64) string {
	if len(x) == 1 {
		return fmt.Sprint(x[0])
	}
	return "(" + strings.Trim(fmt.Sprint(x), "[]") + ")"
}

func pointsText(points [][]float64) string {
	texts := make([]string, len(points))
	for i, x := range points {
		texts[i] = pointText(x)
	}
	return strings.Join(texts, " ")
}
