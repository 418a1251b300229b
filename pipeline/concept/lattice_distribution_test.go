package concept

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept/concepttest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// levels returns the number of errors of every member.
func (l lister) levels(x, y []float64) (all []concepttest.Level) {
	for _, h := range l.members {
		all = append(all, concepttest.Level{Err: errs(h, x, y), Count: 1})
	}
	return all
}

func (l lister) profile(t interface{ Fatal(...any) }, x, y []float64) Profile {
	p, err := l.NewProfile()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Reset(x, y); err != nil {
		t.Fatal(err)
	}
	return p
}

// The samplers have the exact distributions of the mechanisms, hypothesis by hypothesis, at every
// epsilon.
func TestSamplersByEnumeration(t *testing.T) {
	testkit.Serial(t)
	const draws = 2000
	for _, l := range smallExact(t) {
		index := map[any]int{}
		for i, h := range l.members {
			index[key(h)] = i
		}
		for k, n := range []int{0, 5, 9, 9} {
			x, y := l.uniform(n, uint64(k))
			for i := range y {
				if k == 3 { // one label only
					y[i] = -1
				}
			}
			for _, eps := range []float64{0, 0.8, math.Inf(1)} {
				for _, m := range mechanisms() {
					p, r := l.profile(t, x, y), rand.New(rand.NewPCG(uint64(k), 7))
					counts := make([]int, len(l.members))
					for range draws {
						counts[index[key(m.draw(p, eps, r))]]++
					}
					fits(t, fmt.Sprintf("%v, sample %d, eps %v, %s", l, k, eps, m.name), counts,
						m.distribution(l.levels(x, y), eps))
				}
			}
		}
	}
}

// key returns a hypothesis as a comparable value.
func key(h Hypothesis) any {
	if r, ok := h.(Rectangle); ok {
		return [2]Range(r)
	}
	return h
}

// uniform returns n examples, uniform on the domain except the last: it equals the first, with
// the other label.
func (l lister) uniform(n int, seed uint64) (x, y []float64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for range n {
		x, y = append(x, l.points[r.IntN(len(l.points))]...), append(y, float64(2*r.IntN(2)-1))
	}
	if n > 1 {
		copy(x[(n-1)*l.Dim():], x[:l.Dim()])
		y[n-1] = -y[0]
	}
	return x, y
}

// The weights behind the draws of rectangles equal the sums over the list, for every interval of
// rows and of columns, even if the exponentials of the errors themselves exceed the range of a
// float64.
func TestRectangleWeightsByEnumeration(t *testing.T) {
	l := list(t, Spec{Name: "rectangles", Domain: 5})
	rapid.Check(t, func(t *rapid.T) {
		x, y := l.sample(t, 10)
		copies := rapid.SampledFrom([]int{1, 100}).Draw(t, "copies")
		eps := rapid.SampledFrom([]float64{0, 0.3, 2, 50, math.Inf(1)}).Draw(t, "eps")
		var xs, ys []float64
		for range copies {
			xs, ys = append(xs, x...), append(ys, y...)
		}
		p := l.profile(t, xs, ys).(*rectangleProfile)
		p.weigh(eps)
		sum := 0.0
		for i := range p.rows.values {
			p.weighRows(i)
			if sum += p.rowWeights[len(p.rowWeights)-1]; sum != p.upto[i] {
				t.Fatalf("rows up to %d weigh %v, and %v one by one", i, p.upto[i], sum)
			}
			for j := range p.rowWeights {
				l.checkRows(t, p, i, i+j, x, y, copies)
			}
		}
		total := 0.0
		for _, level := range l.levels(x, y) {
			total += math.Exp(-penalty(eps, level.Err*copies-p.Min()))
		}
		checkWeight(t, "all", p.total(), total)
	})
}

// checkRows compares the weights of all rectangles that contain the rows i..j with those of the
// list, for each last column.
func (l lister) checkRows(t *rapid.T, p *rectangleProfile, i, j int, x, y []float64, copies int) {
	k := len(p.cols.values)
	want, rows := make([]float64, k+1), 0.0 // by last column; the last element is for no column
	for _, h := range l.members {
		r := h.(Rectangle)
		if from, to, ok := span(&p.rows, r[0]); !ok || from != i || to != j {
			continue
		}
		weight := math.Exp(-penalty(p.eps, errs(h, x, y)*copies-p.Min()))
		rows += weight
		if _, last, ok := span(&p.cols, r[1]); ok {
			want[last] += weight
		} else {
			want[k] += weight
		}
	}
	before := 0.0
	if j > i {
		before = p.rowWeights[j-i-1]
	}
	checkWeight(t, "rows", p.rowWeights[j-i]-before, rows)
	clear(p.sums)
	for row := i; row <= j; row++ {
		p.addRow(row, p.gains, p.sums)
	}
	p.weighColumns()
	ends, before := float64(p.rows.left(i))*float64(p.rows.right(j)), 0.0
	for last, upto := range p.colWeights.upto {
		checkWeight(t, "columns", ends*(upto-before), want[last])
		before = upto
	}
}

// checkWeight compares sums of weights whose total is at least 1.
func checkWeight(t *rapid.T, what string, got, want float64) {
	if !(math.Abs(got-want) <= 1e-10*(1+want)) {
		t.Fatalf("weight of %s: %v, want %v", what, got, want)
	}
}

// span returns the first and last value of the axis in a range; it returns false if there is
// none.
func span(a *axis, h Range) (i, j int, ok bool) {
	i, j = len(a.values), -1
	for k, v := range a.values {
		if h.Label(float64(v)) > 0 {
			i, j = min(i, k), k
		}
	}
	return i, j, j >= 0
}

// Min and Best agree with the list, a profile can be reused, and its draws have the number of
// errors that it reports.
func TestErrorsByEnumeration(t *testing.T) {
	all := smallExact(t)
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(all).Draw(t, "class")
		p := l.profile(t, nil, nil)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 3 {
			x, y := l.sample(t, 12)
			l.checkErrors(t, p, r, x, y)
		}
	})
}

func (l lister) checkErrors(t *rapid.T, p Profile, r *rand.Rand, x, y []float64) {
	least := math.MaxInt
	for _, h := range l.members {
		least = min(least, errs(h, x, y))
	}
	if err := p.Reset(x, y); err != nil || p.Min() != least {
		t.Fatalf("%v: least count %d, %v, want %d", l, p.Min(), err, least)
	}
	for _, m := range mechanisms() {
		if h := m.draw(p, math.Inf(1), r); errs(h, x, y) != least {
			t.Fatalf("%v: %s at infinite eps: %v makes %d errors, the fewest are %d", l, m.name, h, errs(h, x, y),
				least)
		}
	}
	if p, ok := p.(*intervalProfile); ok {
		p.weigh(0.5)
		if h, excess := p.draw(r); errs(h, x, y) != least+excess {
			t.Fatalf("%v: excess %d of %d errors, the fewest are %d", l, excess, errs(h, x, y), least)
		}
	}
	if p, ok := p.(*rectangleProfile); ok {
		p.weigh(0.5)
		if h, excess := p.draw(r); errs(Rectangle(h[:]), x, y) != least+excess {
			t.Fatalf("%v: excess %d of %d errors, the fewest are %d", h, excess, errs(Rectangle(h[:]), x, y), least)
		}
	}
}
