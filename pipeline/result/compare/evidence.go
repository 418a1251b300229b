package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// evidence is what the trials of two cells show, at the sample sizes at which both have some.
type evidence struct {
	online        bool
	sameData      bool // whether trials of equal n and repetition are on the same data
	sameAdversary bool
	fixed         bool // whether no search chose the numbers of trials
	sequential    bool // whether errors of one side are over as many points as showed success or failure
	sizes         []int

	// Numbers of trials at these sizes. Where trials are paired, they count up to the last repetition
	// that both cells have.
	trialsA, trialsB       int
	successesA, successesB int
	onlyA, onlyB           int       // pairs of which only one succeeded
	lessA, lessB           int       // pairs of which the one has the smaller error; that of a failed trial is largest
	regret                 []float64 // differences of regret, one a pair
	tests                  []estimate.Test
}

// evidence counts and tests the trials of row i of a and row j of b.
func (m *Matching) evidence(i, j int) *evidence {
	sample := m.a.value(i, "sample")
	e := &evidence{
		online:        m.a.online,
		sameData:      sample != nil && sample == m.b.value(j, "sample"),
		sameAdversary: m.a.value(i, "adversary") == m.b.value(j, "adversary"),
		fixed:         m.a.fixed(i) && m.b.fixed(j),
		sequential:    m.a.sequential(i) || m.b.sequential(j),
	}
	a, b := m.a.trials[m.a.label(i, "cell")], m.b.trials[m.b.label(j, "cell")]
	for n := range a {
		if b[n] != nil && (!e.online || n == m.a.number(i, "rounds") && n == m.b.number(j, "rounds")) {
			e.sizes = append(e.sizes, int(n))
		}
	}
	slices.Sort(e.sizes)
	fisher := estimate.Test{Of: "successes", P: 1, Least: 1} // the smallest of all sizes
	for _, n := range e.sizes {
		x, y := a[int64(n)], b[int64(n)]
		switch {
		case e.online:
			e.addRegret(x, y)
		case e.paired():
			e.addPairs(x, y)
		default:
			e.addSamples(&fisher, x, y)
		}
	}
	e.test(fisher)
	return e
}

// paired reports whether trials are compared in pairs of equal n and repetition. On other data they
// are independent pairs all the same, but if the numbers of trials are fixed, two samples that need
// not be of one size show more.
func (e *evidence) paired() bool { return e.sameData || !e.fixed }

// ranked reports whether the errors of pairs are compared.
func (e *evidence) ranked() bool { return e.sameData && !e.sequential }

// addPairs counts the pairs at one sample size.
func (e *evidence) addPairs(x, y *result.Outcomes) {
	pairs := min(len(x.Error), len(y.Error))
	e.trialsA, e.trialsB = e.trialsA+pairs, e.trialsB+pairs
	for k := range pairs {
		s, t := x.Success[k], y.Success[k]
		e.successesA, e.successesB = e.successesA+oneIf(s), e.successesB+oneIf(t)
		e.onlyA, e.onlyB = e.onlyA+oneIf(s && !t), e.onlyB+oneIf(t && !s)
		v, w := orInf(x.Error[k]), orInf(y.Error[k])
		e.lessA, e.lessB = e.lessA+oneIf(v < w), e.lessB+oneIf(w < v)
	}
}

// addSamples counts two samples at one sample size, and tests them.
func (e *evidence) addSamples(t *estimate.Test, x, y *result.Outcomes) {
	k, l := 0, 0
	for _, s := range x.Success {
		k += oneIf(s)
	}
	for _, s := range y.Success {
		l += oneIf(s)
	}
	e.trialsA, e.trialsB = e.trialsA+len(x.Success), e.trialsB+len(y.Success)
	e.successesA, e.successesB = e.successesA+k, e.successesB+l
	t.P = min(t.P, estimate.Fisher(k, len(x.Success), l, len(y.Success)))
	t.Least = min(t.Least, estimate.Fisher(len(x.Success), len(x.Success), 0, len(y.Success)))
}

// addRegret adds the differences of regret of the games that both sides played to their end.
func (e *evidence) addRegret(x, y *result.Outcomes) {
	for k := range min(len(x.Metric), len(y.Metric)) {
		if d := x.Metric[k] - y.Metric[k]; !math.IsNaN(d) && !math.IsInf(d, 0) {
			e.regret = append(e.regret, d)
		}
	}
	e.trialsA, e.trialsB = len(e.regret), len(e.regret)
}

// test makes the tests of what was counted. fisher has the smallest p-values of Fisher's test over
// the sample sizes; Bonferroni's factor makes them values for all sizes.
func (e *evidence) test(fisher estimate.Test) {
	sign := estimate.SequentialSignTest
	if e.fixed {
		sign = estimate.SignTest
	}
	pairs := min(e.trialsA, e.trialsB)
	switch {
	case pairs == 0:
	case e.online:
		e.tests = []estimate.Test{{Of: "regret", P: estimate.PairedTest(e.regret), Least: estimate.SignTest(pairs, 0)}}
	case !e.paired():
		sizes := float64(len(e.sizes))
		e.tests = []estimate.Test{{Of: fisher.Of, P: min(1, fisher.P*sizes), Least: min(1, fisher.Least*sizes)}}
	default:
		e.tests = []estimate.Test{{Of: "successes", P: sign(e.onlyA, e.onlyB), Least: sign(pairs, 0)}}
		if e.ranked() {
			e.tests = append(e.tests, estimate.Test{Of: "errors", P: sign(e.lessA, e.lessB), Least: sign(pairs, 0)})
		}
	}
}

// pValue returns the p-value of one of the tests, and nil where it was not made.
func (e *evidence) pValue(of string) any {
	for _, t := range e.tests {
		if t.Of == of {
			return t.P
		}
	}
	return nil
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func orInf(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

const maxSizes = 4 // sample sizes that a text lists

// String says which trials were compared, and how.
func (e *evidence) String() string {
	if len(e.sizes) == 0 {
		return "no trials at one n"
	}
	how, each, data := "unpaired", " each", "other data"
	if e.sameData {
		how, each, data = "paired", "", "same data"
	}
	if e.sameData && !e.sameAdversary {
		data += ", other adversary"
	}
	trials := strconv.Itoa(e.trialsA)
	if e.trialsA != e.trialsB {
		trials, each = trials+" and "+strconv.Itoa(e.trialsB), ""
	}
	sizes := make([]string, len(e.sizes))
	for i, n := range e.sizes {
		sizes[i] = strconv.Itoa(n)
	}
	where := "n = " + wording.Few(sizes, maxSizes)
	if e.online {
		where = wording.Few(sizes, maxSizes) + " rounds"
	}
	return fmt.Sprintf("%s over %s trials%s at %s: %s", how, trials, each, where, data)
}
