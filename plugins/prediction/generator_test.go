package prediction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/plugins/algo"
)

// boxes returns all rectangles over 0..domain-1 in the given dimension, the empty one first.
func boxes(domain, dim int) []box {
	spans := []span{}
	for a := range domain {
		for b := a; b < domain; b++ {
			spans = append(spans, span{float64(a), float64(b)})
		}
	}
	list := []box{nil}
	for range dim {
		var next []box
		for _, b := range list {
			for _, s := range spans {
				next = append(next, append(slices.Clone(b), s))
			}
		}
		list = next
	}
	return append([]box{emptyBox(dim)}, list...)
}

// rule is a hypothesis of a small class.
type rule func(x []float64) float64

func (b box) rule(x []float64) float64 {
	return labelOf(b.holds(x))
}

func (r rule) errors(b block) int {
	n, dim := 0, len(b.x)/max(1, len(b.y))
	for i, y := range b.y {
		if r(b.x[i*dim:(i+1)*dim]) != y {
			n++
		}
	}
	return n
}

// A small is a class that is small enough to be listed, with its generator.
type small struct {
	name   string
	domain int
	dim    int
	rules  []rule
	make   func(blocks []block) generator
}

const smallMatrix = "1010101" + "0000000" + "1111111" + "0011001" + "1100110" + "0001111" + "0101010" + "1000001" +
	"1000011"

// smallClasses returns the classes whose rules are all listed.
func smallClasses() []small {
	var list []small
	thresholds := func(last int) []rule {
		var rules []rule
		for c := range last + 1 {
			rules = append(rules, func(x []float64) float64 { return labelOf(x[0] >= float64(c)) })
		}
		return rules
	}
	list = append(list,
		small{"thresholds", 7, 1, thresholds(7), func(b []block) generator { return newThresholds(b, 7, false) }},
		small{"thresholds without the constant", 7, 1, thresholds(6),
			func(b []block) generator { return newThresholds(b, 7, true) }})
	for dim, domain := range []int{1: 7, 2: 5, 3: 3} {
		if dim == 0 {
			continue
		}
		c := small{fmt.Sprintf("rectangles in dimension %d", dim), domain, dim, nil,
			func(b []block) generator { return newRectangles(b, uint64(domain), dim) }}
		for _, b := range boxes(domain, dim) {
			c.rules = append(c.rules, b.rule)
		}
		list = append(list, c)
	}
	var rows []rule
	for h := range len(smallMatrix) / 7 {
		row := smallMatrix[h*7 : (h+1)*7]
		rows = append(rows, func(x []float64) float64 { return float64(strings.IndexByte("0.1", row[int(x[0])]) - 1) })
	}
	m := smallListed(algo.Problem{Class: "matrix", Domain: 7, Dim: 1, Matrix: smallMatrix}, rows)
	return append(list, m, smallListed(algo.Problem{Class: "stumps", Domain: 4, Dim: 2}, stumps(4, 2)),
		smallListed(algo.Problem{Class: "conjunctions", Dim: 3}, conjunctions(3, "01*")),
		smallListed(algo.Problem{Class: "monotone-conjunctions", Dim: 4}, conjunctions(4, "1*")))
}

// smallListed returns a small class whose generator lists its hypotheses.
func smallListed(p algo.Problem, rules []rule) small {
	return small{p.Class, int(max(2, p.Domain)), p.Dim, rules, func(b []block) generator {
		g, err := newGenerator(p, false, b)
		if err != nil {
			panic(err)
		}
		return g
	}}
}

// stumps returns the rules that compare one coordinate of a point with a number that splits the
// domain.
func stumps(domain, dim int) (rules []rule) {
	for j := range dim {
		for cut := range domain {
			for _, y := range []float64{-1, 1} {
				rules = append(rules, func(x []float64) float64 { return y * labelOf(x[j] >= float64(cut)) })
			}
		}
	}
	return rules
}

// conjunctions returns the rules that require each bit to have the value of a letter (* allows
// both). If some letter is 0, they include the rule that no point satisfies.
func conjunctions(dim int, letters string) (rules []rule) {
	patterns := []string{""}
	for range dim {
		var longer []string
		for _, p := range patterns {
			for _, letter := range letters {
				longer = append(longer, p+string(letter))
			}
		}
		patterns = longer
	}
	for _, p := range patterns {
		rules = append(rules, func(x []float64) float64 {
			for j, v := range x {
				if p[j] != '*' && float64(p[j]-'0') != v {
					return -1
				}
			}
			return 1
		})
	}
	if strings.Contains(letters, "0") {
		rules = append(rules, func([]float64) float64 { return -1 })
	}
	return rules
}

// smallHalfspaces returns the halfspaces of the plane on a grid. Its rules are only some of the
// halfspaces.
func smallHalfspaces() small {
	c := small{"halfspaces", 5, 2, nil, func(b []block) generator {
		g, err := newHalfspaceGenerator(b, 2, true)
		if err != nil {
			panic(err)
		}
		return g
	}}
	for _, v := range [][3]float64{{1, 0, 2}, {1, 1, 4}, {-2, 1, 0}, {0, -1, -3}, {0, 0, 1}} {
		c.rules = append(c.rules, func(x []float64) float64 { return sign(v[0]*x[0] + v[1]*x[1] - v[2]) })
	}
	return c
}

func (c small) point(t *rapid.T, what string) []float64 {
	x := make([]float64, c.dim)
	for j := range x {
		x[j] = float64(rapid.IntRange(0, c.domain-1).Draw(t, what))
	}
	return x
}

// block draws m examples labeled by a rule of the class. It draws whether random label flips are
// added.
func (c small) block(t *rapid.T, m int) block {
	var b block
	target := rapid.SampledFrom(c.rules).Draw(t, "target")
	realizable := rapid.Bool().Draw(t, "realizable")
	for range m {
		x := c.point(t, "x")
		y := target(x)
		if !realizable && rapid.Bool().Draw(t, "flip") {
			y = -y
		}
		b.x, b.y = append(b.x, x...), append(b.y, y)
	}
	return b
}

func (c small) points() [][]float64 {
	list := [][]float64{nil}
	for range c.dim {
		var next [][]float64
		for _, x := range list {
			for v := range c.domain {
				next = append(next, append(slices.Clone(x), float64(v)))
			}
		}
		list = next
	}
	return list
}

// of returns the hypothesis of a generator of one block as a rule.
func of(g generator) rule { return func(x []float64) float64 { return float64(2*g.votes(x) - 1) } }

// Every hypothesis is a rule of the class that agrees with the hard queries and has the fewest
// errors among these. The public answers are those of a rule that agrees. A constraint that no rule
// meets is dropped. The votes of many blocks are the sum of the votes of each.
func TestRestrictedMinimisers(t *testing.T) {
	for _, c := range smallClasses() {
		t.Run(c.name, func(t *testing.T) {
			points := c.points()
			rapid.Check(t, func(t *rapid.T) {
				blocks := make([]block, rapid.IntRange(1, 3).Draw(t, "blocks"))
				m := rapid.IntRange(1, 8).Draw(t, "m")
				each := make([]generator, len(blocks))
				for i := range blocks {
					blocks[i] = c.block(t, m)
					each[i] = c.make(blocks[i : i+1])
				}
				together, left := c.make(blocks), c.rules
				for range rapid.IntRange(0, 5).Draw(t, "hard queries") {
					x, label := c.point(t, "query"), rapid.SampledFrom([]float64{-1, 1}).Draw(t, "coin")
					next := slices.DeleteFunc(slices.Clone(left), func(r rule) bool { return r(x) != label })
					if len(next) > 0 {
						left = next
					}
					for _, g := range append([]generator{together}, each...) {
						if err := g.hard(x, label); err != nil {
							t.Fatal(err)
						}
					}
				}
				for i, g := range each {
					c.check(t, of(g), blocks[i], left, points)
					if g.inexact() != 0 {
						t.Fatal("a search ran out of steps")
					}
				}
				c.check(t, together.public, block{}, left, points)
				for _, x := range points {
					votes := 0
					for _, g := range each {
						votes += g.votes(x)
					}
					if together.votes(x) != votes {
						t.Fatalf("%v: %d votes, of single blocks %d", x, together.votes(x), votes)
					}
				}
			})
		})
	}
}

// check fails the test unless h is one of the remaining rules and none of these has fewer errors.
func (c small) check(t *rapid.T, h rule, b block, left []rule, points [][]float64) {
	fewest := math.MaxInt
	for _, r := range left {
		fewest = min(fewest, r.errors(b))
	}
	if got := h.errors(b); got != fewest {
		t.Fatalf("%+v: %d errors, possible are %d", b, got, fewest)
	}
	if !slices.ContainsFunc(left, func(r rule) bool {
		return !slices.ContainsFunc(points, func(x []float64) bool { return r(x) != h(x) })
	}) {
		t.Fatalf("%+v: not a rule that agrees with the hard queries", b)
	}
}

// Random labels exhaust the steps of the searcher. It then returns a rectangle that agrees with the
// hard queries.
func TestSearchGivesUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var b block
	for range 300 {
		b.x = append(b.x, float64(r.IntN(50)), float64(r.IntN(50)), float64(r.IntN(50)))
		b.y = append(b.y, float64(2*r.IntN(2)-1))
	}
	s := searcher{}
	out, must := emptyBox(3), box{{1, 2}, {3, 4}, {5, 6}}
	s.best(out, b, must, nil)
	if s.inexact != 1 || !slices.Equal(out, must) {
		t.Errorf("%d searches gave up, box %v", s.inexact, out)
	}
}

// labelings finds all labelings of the queries, each with its fewest errors. The test compares it
// with a list of the class.
func TestLabelings(t *testing.T) {
	for _, c := range smallClasses() {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := c.block(t, rapid.IntRange(1, 8).Draw(t, "n"))
				var queries []float64
				for range rapid.IntRange(1, 5).Draw(t, "queries") {
					queries = append(queries, c.point(t, "query")...)
				}
				key := func(r rule) string {
					text := ""
					for x := range slices.Chunk(queries, c.dim) {
						text += fmt.Sprint(r(x))
					}
					return text
				}
				want := map[string]int{}
				for _, r := range c.rules {
					if e, ok := want[key(r)]; !ok || r.errors(b) < e {
						want[key(r)] = r.errors(b)
					}
				}
				got := c.labelings(t, b, queries)
				for _, l := range got.list {
					h := rule(got.hypothesis(l))
					if e, ok := want[key(h)]; !ok || e != l.errors {
						t.Fatalf("labeling %s: %d errors, want %d, %v", key(h), l.errors, e, ok)
					}
					delete(want, key(h))
				}
				if len(want) > 0 {
					t.Fatalf("labelings %v are missing", want)
				}
			})
		})
	}
}

// labelings lists the labelings of queries by the class, with their errors on b.
func (c small) labelings(t *rapid.T, b block, queries []float64) dichotomies {
	p := algo.Problem{Domain: uint64(c.domain), Dim: c.dim}
	switch c.name {
	case "thresholds":
		p.Class = "thresholds"
	case "matrix":
		p.Class, p.Matrix = "matrix", smallMatrix
	case "rectangles in dimension 1":
		p.Class = "intervals"
	case "rectangles in dimension 2", "rectangles in dimension 3":
		p.Class = "rectangles"
	case "thresholds without the constant":
		p.Class, p.NoConstant = "thresholds", true
	case "conjunctions", "monotone-conjunctions":
		p.Class, p.Domain = c.name, 0
	default:
		p.Class = c.name
	}
	got, err := labelings(p, b, queries)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
