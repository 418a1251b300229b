package main

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/reference"
	"github.com/shatterlab/shatter/schemas"
)

// A classQuery holds the flags of explain that choose one class of a family.
type classQuery struct {
	domain     string
	dim        int
	noConstant bool
}

func (q *classQuery) register(c *cobra.Command) {
	c.Flags().StringVar(&q.domain, "domain", "",
		"`X` of a class whose points are numbers in 0..X-1, like 1024 or 2^10")
	c.Flags().IntVar(&q.dim, "d", 0, "`number` of coordinates of a point")
	c.Flags().BoolVar(&q.noConstant, "no-constant", false,
		"class thresholds without the hypothesis that labels every point -1")
}

// given returns the name of a flag that is set, or "".
func (q *classQuery) given(c *cobra.Command) string {
	for _, flag := range []string{"domain", "d", "no-constant"} {
		if c.Flags().Changed(flag) {
			return "--" + flag
		}
	}
	return ""
}

// listed reports whether the hypotheses of a class are listed in a file.
func listed(class string) bool { return concept.ShapeOf(class) == concept.Column }

// isMatrixFile reports whether the word of explain is the path of a file that lists hypotheses.
func isMatrixFile(word string) bool {
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() ||
		slices.Contains([]string{".csv", ".parquet", ".arrow"}, filepath.Ext(word))
}

// addNumbers adds the facts of one class to the entry of its family, if there is one in found. Without flags
// it does so only if the family has no parameters.
func (q *classQuery) addNumbers(c *cobra.Command, word string, found []reference.Entry) error {
	given := q.given(c)
	i := slices.IndexFunc(found, func(e reference.Entry) bool { return e.Kind == "class" && !listed(e.Name) })
	if i < 0 {
		if given != "" {
			return wrong("%s is for a class, and %q is none", given, word)
		}
		return nil
	}
	s := concept.Spec{Name: found[i].Name, Dim: q.dim, NoConstant: q.noConstant}
	if q.domain != "" {
		var x schemas.Size
		if err := x.UnmarshalText([]byte(q.domain)); err != nil {
			return wrong("--domain: %w", err)
		}
		s.Domain = uint64(x)
	}
	facts, err := classFacts(s)
	switch {
	case err != nil && given == "": // its parameters are needed
		facts = []reference.Fact{{What: "more", Text: "--domain or --d add its size, dimensions and separator"}}
	case err != nil:
		return wrong("explain %s: %w", word, err)
	}
	found[i].Facts = append(slices.Clone(found[i].Facts), facts...)
	return nil
}

// matrixEntry describes the class whose hypotheses a file lists.
func (q *classQuery) matrixEntry(c *cobra.Command, path string) (reference.Entry, error) {
	if given := q.given(c); given != "" {
		return reference.Entry{}, wrong("%s does not apply to a file; leave it out", given)
	}
	file := schemas.Problem{Class: concept.Matrix, Distribution: "uniform", Matrix: &schemas.Matrix{File: path}}
	o, err := problem.Open(file, path)
	if wrong, ok := errors.AsType[*problem.Error](err); ok { // its key is one of sweep files
		err = errors.New(wrong.Reason)
	}
	var facts []reference.Fact
	if err == nil {
		p := o.Public()
		facts, err = classFacts(concept.Spec{Name: concept.Matrix, Domain: p.Domain, Matrix: p.Matrix})
	}
	if err != nil {
		return reference.Entry{}, wrong("explain: %w", err)
	}
	doc := "A class of hypotheses that the file lists: a row for each hypothesis, a column for each point."
	return reference.Entry{Kind: "class", Name: path, Doc: doc, Facts: facts}, nil
}

// classFacts computes the size, the dimensions and the separator of a class. A dimension that is neither proved
// nor found within some seconds is given between two bounds.
func classFacts(s concept.Spec) (facts []reference.Fact, err error) {
	d, err := concept.Describe(s)
	if err != nil {
		return nil, err
	}
	add := func(what, format string, a ...any) {
		facts = append(facts, reference.Fact{What: what, Text: fmt.Sprintf(format, a...)})
	}
	each := ""
	if d.Dim > 1 {
		each = fmt.Sprintf(", each of %d numbers", d.Dim)
	}
	add("points", "%s%s", numberText(d.Points), each)
	add("hypotheses", "%s", numberText(d.Size))
	if d.Size != nil {
		add("ln |H|", "%.6g", d.LogSize)
	}
	add("dimensions", "VC %v, Littlestone %v, representation %v nats", d.VC, d.Ldim, d.Representation)
	z := d.Separator
	if z == nil {
		add("separator", "none: %v", d.NoSeparator)
		return facts, nil
	}
	margin := fmt.Sprintf("%.6g", d.Margin.Lower)
	if high := fmt.Sprintf("%.6g", d.Margin.Upper); high != margin {
		margin = "between " + margin + " and " + high
	}
	add("separator", "m = %d, h = %d", z.Len(), z.Hamming)
	add("rho", "%.6g (labels 0 and 1), %.6g (labels -1 and +1): least distance of two hypotheses on the separator",
		z.Rho01(), z.RhoPM())
	add("hull margin", "%s", margin)
	return facts, nil
}

// numberText writes a number exactly, and rounds it if it has more than 40 digits.
func numberText(n *big.Int) string {
	if n == nil {
		return "infinitely many"
	}
	if text := n.String(); len(text) <= 40 {
		return text
	}
	return "about " + new(big.Float).SetInt(n).Text('g', 6)
}
