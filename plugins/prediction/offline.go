package prediction

import (
	"context"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

func offline() algo.Algorithm[struct{}] {
	const name = "prediction/offline"
	return algo.Algorithm[struct{}]{
		Name: name, Version: version,
		Doc: "Exponential mechanism over the labelings that the class has on the queries, all of which must be fixed " +
			"beforehand (in the spirit of Beimel, Nissim and Stemmer 2015).",
		Metrics: map[string]string{
			"labelings": "labelings of the queries that the mechanism chooses from [labelings]",
		},
		Check: func(s *algo.Setting[struct{}]) error {
			if err := checkProblem(s, name, true, finiteClasses()...); err != nil {
				return err
			}
			if !s.Offline {
				return algo.Invalid("%s needs all queries beforehand: set adversary.offline to true", name)
			}
			return checkLabelings(s.Problem, s.Queries)
		},
		Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
			c, err := labelings(t.Problem, block{sample.Xs(), sample.Ys()}, t.Revealed.Xs())
			if err != nil {
				return nil, err
			}
			t.Report("labelings", float64(len(c.list)))
			return c.draw(t.Epsilon, seeded{t.Rand}.gumbel), nil
		},
		Guarantee: func(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
			return algo.Guarantee{
				Pure: true, Epsilon: s.Epsilon, Rho: s.Epsilon * s.Epsilon / 8,
				Source: "exponential mechanism (McSherry and Talwar 2007), sensitivity 1; " +
					"rho by bounded range (Cesar and Rogers 2021)",
			}, nil
		},
		Bound: offlineBounds,
	}
}

// maxLabeled is the largest number of different points whose labelings by intervals are listed:
// there are 2^22 of them.
const maxLabeled = 2895

// maxListing is the largest number of labels of queries that listedLabelings computes; it takes a
// few seconds.
const maxListing = 1 << 29

// maxQueries returns the largest number of different queries whose labelings by the class of p are
// listed; 0 for any. It is below 1 if the class has too many hypotheses. The error is Invalid if
// they cannot be listed for any number of queries.
func maxQueries(p algo.Problem) (int, error) {
	if f := familyOf(p.Class); f.onLine(p) {
		return f.maxQueries, nil
	}
	c, err := listable(p)
	if err != nil {
		return 0, err
	}
	return int(min(maxListing/c.Size().Int64(), math.MaxInt32)), nil
}

// maxLabelers is the largest number of hypotheses that listedLabelings lists.
const maxLabelers = 1 << 16

// listable returns the class of p, or an Invalid error if its hypotheses cannot be listed for their
// labelings.
func listable(p algo.Problem) (concept.Finite, error) {
	if !slices.Contains(finiteClasses(), p.Class) {
		return nil, algo.Invalid("prediction: cannot list all labelings by class %q: use one of %s",
			p.Class, strings.Join(finiteClasses(), ", "))
	}
	c, err := concept.New(finite.SpecOf(p))
	if err != nil {
		return nil, algo.Invalid("prediction: %v", err)
	}
	if c.Size().Cmp(big.NewInt(maxLabelers)) > 0 {
		return nil, algo.Invalid("prediction: cannot list the labelings by the %v hypotheses of class %q in dimension %d: "+
			"use at most %d, with a smaller domain or d", c.Size(), p.Class, p.Dim, maxLabelers)
	}
	return c.(concept.Finite), nil
}

// checkLabelings returns an Invalid error if labelings cannot list the labelings of the given
// number of queries.
func checkLabelings(p algo.Problem, queries int) error {
	most, err := maxQueries(p)
	if err != nil {
		return err
	}
	if p.Dim <= 1 { // equal queries are labeled once
		queries = int(min(uint64(queries), concept.Side(finite.SpecOf(p))))
	}
	if most > 0 && queries > most {
		return algo.Invalid("prediction: %d queries have too many labelings by %s: use at most %d",
			queries, p.Class, most)
	}
	return nil
}

// A hypothesis labels points -1 or +1. It is a model and answers queries.
type hypothesis func(x []float64) float64

// Predict implements algo.Model.
func (h hypothesis) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = h(x.X(i))
	}
	return ctx.Err()
}

// Answer implements algo.Answerer.
func (h hypothesis) Answer(_ context.Context, x []float64) (float64, bool, error) {
	return h(x), false, nil
}

// A dichotomy is one labeling of the queries by the class, with the fewest errors on the sample of
// a hypothesis with that labeling.
type dichotomy struct {
	errors int
	// from is, for thresholds, the number of queries below t; for intervals, the rank of the first
	// query inside, or -1 if there is none; for a class whose hypotheses are listed, the number of
	// the first hypothesis.
	from int
	// to is, for intervals, the rank of the last query inside.
	to int
}

// dichotomies lists all labelings of the queries. hypothesis returns a hypothesis with a given
// labeling; it depends only on the queries.
type dichotomies struct {
	list       []dichotomy
	hypothesis func(c dichotomy) hypothesis
}

// draw draws a hypothesis by the exponential mechanism over the dichotomies (Beimel, Nissim and
// Stemmer 2015 in this form). The number of errors has sensitivity 1, so the hypothesis is
// epsilon-differentially private. gumbel draws standard Gumbel numbers, one for each labeling.
func (c dichotomies) draw(epsilon float64, gumbel func() float64) hypothesis {
	best, most := 0, math.Inf(-1)
	for i, l := range c.list {
		if score := gumbel() - float64(epsilon*float64(l.errors)/2); score > most {
			best, most = i, score
		}
	}
	return c.hypothesis(c.list[best])
}

// labelings lists the dichotomies of a class on queries, row-major points, with their errors on the
// sample.
func labelings(p algo.Problem, sample block, queries []float64) (dichotomies, error) {
	if err := checkPoints(concept.Side(finite.SpecOf(p)), p.Dim, sample.x); err != nil {
		return dichotomies{}, err
	}
	if p.Dim <= 1 {
		queries = slices.Clone(queries)
		slices.Sort(queries)
		queries = slices.Compact(queries)
	}
	f := familyOf(p.Class)
	if !f.onLine(p) {
		c, err := listable(p)
		if err != nil {
			return dichotomies{}, err
		}
		return listedLabelings(c, sample, queries), nil
	}
	var l line
	l.reset(sample.x, sample.y)
	return f.labelings(p, &l, queries), nil
}

// listedLabelings lists the labelings by the hypotheses of a class, ordered by the first hypothesis
// of each labeling, which is the labeling's hypothesis.
func listedLabelings(c concept.Finite, sample block, queries []float64) dichotomies {
	var list []dichotomy
	index := map[string]int{}
	asked, fitted := make([]float64, len(queries)/c.Dim()), make([]float64, len(sample.y))
	key := make([]byte, (len(asked)+7)/8)
	for h := range c.Size().Uint64() {
		f, errors := c.Member(h), 0
		f.Labels(sample.x, fitted)
		for i, y := range sample.y {
			if fitted[i] != y {
				errors++
			}
		}
		f.Labels(queries, asked)
		clear(key)
		for i, label := range asked {
			if label > 0 {
				key[i/8] |= 1 << (i % 8)
			}
		}
		if i, ok := index[string(key)]; ok {
			list[i].errors = min(list[i].errors, errors)
			continue
		}
		index[string(key)] = len(list)
		list = append(list, dichotomy{errors: errors, from: int(h)})
	}
	return dichotomies{list, func(d dichotomy) hypothesis {
		f, out := c.Member(uint64(d.from)), make([]float64, 1)
		return func(x []float64) float64 {
			f.Labels(x, out)
			return out[0]
		}
	}}
}

// thresholdDichotomies lists the labelings by thresholds in the order of t. A labeling's hypothesis
// is its middle threshold, rounded down.
func thresholdDichotomies(l *line, queries []float64, last float64) dichotomies {
	ends := append(slices.Clone(queries), last)
	bounds := func(i int) (first, end float64) {
		if i > 0 {
			first = ends[i-1] + 1
		}
		return first, ends[i]
	}
	var list []dichotomy
	steps := l.steps(nil, last)
	for i := range ends {
		first, end := bounds(i)
		if first > end {
			continue // all thresholds of the domain are at or below the last query
		}
		fewest := math.MaxInt
		for len(steps) > 1 && steps[0].last < first {
			steps = steps[1:]
		}
		for _, s := range steps {
			if s.first > end {
				break
			}
			fewest = min(fewest, s.errors)
		}
		list = append(list, dichotomy{errors: fewest, from: i})
	}
	return dichotomies{list, func(c dichotomy) hypothesis {
		first, end := bounds(c.from)
		t := math.Floor((first + end) / 2)
		return func(x []float64) float64 { return labelOf(x[0] >= t) }
	}}
}

// intervalDichotomies lists the labelings by intervals, ordered by their first and then their last
// query inside; the labeling without queries inside comes last. A labeling's hypothesis is the
// smallest interval with its queries. It takes O(n log n + queries^2) steps.
func intervalDichotomies(l *line, queries []float64) dichotomies {
	positives := l.both
	sums := []int{0} // sums[j] is the sum of the first j weights
	for _, w := range l.weights {
		positives += max(w, 0)
		sums = append(sums, sums[len(sums)-1]+w)
	}
	// An interval with the queries from..to contains all values between these, and any part of the
	// gaps next to them.
	n := len(queries)
	before, after := make([]int, n), make([]int, n)
	for i, q := range queries {
		wall := span{math.Inf(-1), math.Inf(1)}
		if i > 0 {
			wall.lo = queries[i-1]
		}
		if i+1 < n {
			wall.hi = queries[i+1]
		}
		before[i], after[i] = gains(l, q, wall)
	}
	list := make([]dichotomy, 0, n*(n+1)/2+1)
	for i := range queries {
		begin := sums[sort.SearchFloat64s(l.values, queries[i])]
		for j := i; j < n; j++ {
			inside := sums[upTo(l.values, queries[j])] - begin
			list = append(list, dichotomy{positives - inside - before[i] - after[j], i, j})
		}
	}
	_, none := bestFree(l.values, l.weights, queries)
	list = append(list, dichotomy{positives - none, -1, -1})
	return dichotomies{list, func(c dichotomy) hypothesis {
		s := emptySpan()
		if c.from >= 0 {
			s = span{queries[c.from], queries[c.to]}
		}
		return func(x []float64) float64 { return labelOf(s.holds(x[0])) }
	}}
}

// gains returns the largest sums of weights that a span around q can add below q and above q,
// strictly inside the wall.
func gains(l *line, q float64, wall span) (before, after int) {
	sum := 0
	for j := sort.SearchFloat64s(l.values, q) - 1; j >= 0 && l.values[j] > wall.lo; j-- {
		sum += l.weights[j]
		before = max(before, sum)
	}
	sum = 0
	for j := upTo(l.values, q); j < len(l.values) && l.values[j] < wall.hi; j++ {
		sum += l.weights[j]
		after = max(after, sum)
	}
	return before, after
}

// gumbel draws standard Gumbel numbers.
func (s seeded) gumbel() float64 { return privacy.Gumbel(privacy.Uniform(s.Rand)) }
