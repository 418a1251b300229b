package prediction

import (
	"context"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// hypothesis labels points -1 or +1; it is a model, and answers queries.
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

// dichotomy is one labeling of the queries by the class: the fewest errors on the sample of a hypothesis with it, and what names it.
type dichotomy struct {
	errors int
	from   int // thresholds: number of queries below t; intervals: rank of the first query inside, -1: none; matrix: the first row
	to     int // intervals: rank of the last query inside
}

// dichotomies are all labelings of the queries, and for each a hypothesis that has it and is a function of the queries alone.
type dichotomies struct {
	list       []dichotomy
	hypothesis func(c dichotomy) hypothesis
}

// draw is the exponential mechanism over the dichotomies (Beimel, Nissim and Stemmer 2015 in this form): the number of errors has sensitivity
// 1, and so the hypothesis is epsilon-differentially private. gumbel gives standard Gumbel numbers, one for each labeling.
func (c dichotomies) draw(epsilon float64, gumbel func() float64) hypothesis {
	best, most := 0, math.Inf(-1)
	for i, l := range c.list {
		if score := gumbel() - float64(epsilon*float64(l.errors)/2); score > most {
			best, most = i, score
		}
	}
	return c.hypothesis(c.list[best])
}

// labelings are the dichotomies of a class, sample and queries (points of the domain, one number each).
func labelings(p algo.Problem, sample block, queries []float64) (dichotomies, error) {
	if err := checkPoints(p.Domain, p.Dim, sample.x); err != nil {
		return dichotomies{}, err
	}
	distinct := slices.Clone(queries)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	var l line
	l.reset(sample.x, sample.y)
	switch {
	case p.Class == "thresholds":
		last := float64(p.Domain)
		if p.NoConstant {
			last--
		}
		return thresholdDichotomies(&l, distinct, last), nil
	case isIntervals(p):
		return intervalDichotomies(&l, distinct), nil
	case p.Class == "matrix":
		return matrixDichotomies(&l, distinct, p.Matrix, int(p.Domain)), nil
	}
	return dichotomies{}, algo.Invalid("prediction: no list of all labelings for class %q in dimension %d: use thresholds, intervals or matrix",
		p.Class, p.Dim)
}

func isIntervals(p algo.Problem) bool {
	return p.Class == "intervals" || p.Class == "rectangles" && p.Dim == 1
}

// thresholdDichotomies are in the order of t; a labeling's hypothesis is its middle threshold, rounded down.
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
			continue // all thresholds of the domain lie at or below the last query
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
		return func(x []float64) float64 {
			if x[0] >= t {
				return 1
			}
			return -1
		}
	}}
}

// intervalDichotomies are in the order of their first and then last query inside, the one without queries last; a labeling's hypothesis is
// the least interval with its queries. O(n log n + queries^2).
func intervalDichotomies(l *line, queries []float64) dichotomies {
	positives := l.both
	sums := []int{0} // of the weights of the values up to there
	for _, w := range l.weights {
		positives += max(w, 0)
		sums = append(sums, sums[len(sums)-1]+w)
	}
	// An interval with the queries from..to holds what lies between these, and as much as it likes of the gaps next to them.
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
		begin := sums[lowerBound(l.values, queries[i])]
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
		return func(x []float64) float64 {
			if s.holds(x[0]) {
				return 1
			}
			return -1
		}
	}}
}

// gains are the largest sums of weights that a span may have from below q and from above q on, strictly inside the wall.
func gains(l *line, q float64, wall span) (before, after int) {
	sum := 0
	for j := lowerBound(l.values, q) - 1; j >= 0 && l.values[j] > wall.lo; j-- {
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

// matrixDichotomies are in the order of the first row of each, which is the labeling's hypothesis.
func matrixDichotomies(l *line, queries []float64, text string, points int) dichotomies {
	positives := l.both
	for _, w := range l.weights {
		positives += max(w, 0)
	}
	var list []dichotomy
	index := map[string]int{}
	key := make([]byte, len(queries))
	for h := range len(text) / points {
		row := text[h*points : (h+1)*points]
		errors := positives
		for j, v := range l.values {
			if row[int(v)] == '1' {
				errors -= l.weights[j]
			}
		}
		for j, q := range queries {
			key[j] = row[int(q)]
		}
		if at, ok := index[string(key)]; ok {
			list[at].errors = min(list[at].errors, errors)
			continue
		}
		index[string(key)] = len(list)
		list = append(list, dichotomy{errors: errors, from: h})
	}
	return dichotomies{list, func(c dichotomy) hypothesis {
		row := text[c.from*points : (c.from+1)*points]
		return func(x []float64) float64 {
			if row[int(x[0])] == '1' {
				return 1
			}
			return -1
		}
	}}
}

// gumbel draws standard Gumbel numbers.
func (s seeded) gumbel() float64 { return privacy.Gumbel(privacy.Uniform(s.Rand)) }
