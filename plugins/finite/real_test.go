package finite

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// The best function and the separation of a real-valued class equal those of an enumeration of all
// its functions.
func TestRealByEnumeration(t *testing.T) {
	spec := concept.Spec{Name: concept.Thresholds, Domain: 5, Dim: 1}
	class, err := concept.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	f := class.(concept.Finite)
	z, err := concept.NewSeparator(f, spec, "standard", 0)
	if err != nil {
		t.Fatal(err)
	}
	r, m := rand.New(rand.NewPCG(1, 1)), z.Len()
	for _, real := range []Real{{AbsoluteLoss, 1}, {AbsoluteLoss, 3}, {SquaredLoss, 2}, {SquaredLoss, 5}} {
		var values, lifted [][]float64 // values of each function at the points; unit vectors
		var least []float64            // objective of each function
		n, tilt, noise := 12.0, 2*r.NormFloat64(), make([]float64, m)
		for j := range noise {
			noise[j] = r.NormFloat64()
		}
		best := math.Inf(1)
		for i := range f.Size().Uint64() {
			labels := make([]float64, m)
			f.Member(i).Labels(z.Points, labels)
			wrong, term := float64(r.IntN(int(n)+1)), 0.0
			for j, label := range labels {
				term += label * noise[j]
			}
			best = min(best, wrong+term)
			for k := 1; k <= real.Levels; k++ {
				c := float64(k) / float64(real.Levels)
				row, unit := make([]float64, m), make([]float64, m+1)
				for j, label := range labels {
					row[j] = c * label / math.Sqrt(float64(m))
					unit[j] = row[j]
				}
				unit[m] = math.Sqrt(1 - c*c)
				values, lifted = append(values, row), append(lifted, unit)
				loss := (n-wrong)*real.Of(c, 1) + wrong*real.Of(c, -1)
				least = append(least, loss+c*term+tilt*unit[m])
			}
		}
		want := math.Inf(1)
		for _, v := range least {
			want = min(want, v)
		}
		if _, got := real.Best(n, best, tilt); math.Abs(got-want) > 1e-9 {
			t.Errorf("%+v: the best function is worth %v, want %v", real, got, want)
		}
		gotLifted, gotPlain := real.Separation(z.Hamming, m)
		wantLifted, wantPlain := nearest(lifted), nearest(values)
		if math.Abs(gotLifted-wantLifted) > 1e-9 || math.Abs(gotPlain-wantPlain) > 1e-9 {
			t.Errorf("%+v: separation %v, %v, want %v, %v", real, gotLifted, gotPlain, wantLifted, wantPlain)
		}
	}
}

// nearest returns the least squared distance of two of the vectors.
func nearest(vectors [][]float64) float64 {
	least := math.Inf(1)
	for i, v := range vectors {
		for _, w := range vectors[:i] {
			sum := 0.0
			for j := range v {
				sum += (v[j] - w[j]) * (v[j] - w[j])
			}
			least = min(least, sum)
		}
	}
	return least
}

func TestRealCheck(t *testing.T) {
	err := Real{SquaredLoss, 1}.Check("a/b")
	if !algo.IsInvalid(err) || !strings.Contains(err.Error(), "use levels 2 or more") {
		t.Error(err)
	}
	if err := (Real{AbsoluteLoss, 1}).Check("a/b"); err != nil {
		t.Error(err)
	}
}
