package privacy

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

type exactCase struct {
	Kind, Sigma2, Eps string
	T, S, Out         int64
	Err               []int64
	Calls             [][2]int64
}

type noiseCase struct {
	Out       []uint64 // two words of 32 bits for each uniform
	U, Normal []float64
	Gumbel    float64
	Laplace   float64 `json:"laplace_b2"`
}

func references(t *testing.T) (noise []noiseCase, exact []exactCase) {
	var v struct {
		Philox []noiseCase
		Exact  []exactCase
	}
	load(t, "inference_rng.json", &v)
	if len(v.Philox) == 0 || len(v.Exact) == 0 {
		t.Fatal("a list of reference values is empty")
	}
	return v.Philox, v.Exact
}

// words is a source that gives the same word again and again.
type words uint64

func (w words) Uint64() uint64 { return uint64(w) }

func TestSeededNoise(t *testing.T) {
	cases, _ := references(t)
	for _, c := range cases {
		for i, u := range c.U {
			if got := Uniform(rand.New(words(c.Out[2*i]<<32 | c.Out[2*i+1]))); got != u {
				t.Errorf("Uniform: got %.17g, want %.17g", got, u)
			}
		}
		x, y := NormalPair(c.U[0], c.U[1])
		near(t, "NormalPair, first", x, c.Normal[0], 1e-12)
		near(t, "NormalPair, second", y, c.Normal[1], 1e-12)
		near(t, "Gumbel", Gumbel(c.U[0]), c.Gumbel, 1e-12)
		near(t, "Laplace", Laplace(c.U[0], 2), c.Laplace, 1e-12)
	}
}

func TestNoiseIsFinite(t *testing.T) {
	for _, w := range []words{0, math.MaxUint64} {
		u := Uniform(rand.New(w))
		if u <= 0 || u >= 1 {
			t.Fatalf("word %d: uniform %v", w, u)
		}
		x, y := NormalPair(u, u)
		for _, noise := range []float64{x, y, Gumbel(u), Laplace(u, 1)} {
			if math.IsNaN(noise) || math.IsInf(noise, 0) {
				t.Errorf("word %d: noise %v", w, noise)
			}
		}
	}
}

func TestExactTranscripts(t *testing.T) {
	_, cases := references(t)
	for i, c := range cases {
		t.Run(fmt.Sprintf("%d_%s", i, c.Kind), func(t *testing.T) {
			calls := c.Calls
			replay := func(n *big.Int) (*big.Int, error) {
				if len(calls) == 0 || n.Cmp(big.NewInt(calls[0][0])) != 0 {
					t.Fatalf("asked for an integer below %v with calls %v left", n, calls)
				}
				v := big.NewInt(calls[0][1])
				calls = calls[1:]
				return v, nil
			}
			out, err := sample(c, replay)
			if err != nil {
				t.Fatal(err)
			}
			if out != c.Out || len(calls) > 0 {
				t.Errorf("got %d with calls %v left, want %d", out, calls, c.Out)
			}
		})
	}
}

func sample(c exactCase, draw Integers) (int64, error) {
	rational := func(s string) *big.Rat { r, _ := new(big.Rat).SetString(s); return r }
	var y *big.Int
	var err error
	switch c.Kind {
	case "dgauss":
		y, err = DiscreteGaussian(draw, rational(c.Sigma2))
	case "dlaplace":
		y, err = DiscreteLaplace(draw, big.NewRat(c.T, c.S))
	case "permute_and_flip":
		i, err := PermuteAndFlip(draw, c.Err, rational(c.Eps))
		return int64(i), err
	default:
		err = fmt.Errorf("unknown kind %q", c.Kind)
	}
	if err != nil {
		return 0, err
	}
	return y.Int64(), nil
}

// seeded draws integers for tests of distributions.
func seeded(seed uint64) Integers {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(n *big.Int) (*big.Int, error) { return big.NewInt(r.Int64N(n.Int64())), nil }
}

// agree compares counts of integer answers with probabilities given up to a factor, at five standard deviations per value.
func agree(t *testing.T, counts map[int64]int, weight func(int64) float64, low, high int64) {
	t.Helper()
	total, draws := 0.0, 0
	for y := low; y <= high; y++ {
		total += weight(y)
	}
	for _, k := range counts {
		draws += k
	}
	for y := max(low, -8); y <= min(high, 8); y++ {
		p := weight(y) / total
		mean, deviation := float64(draws)*p, math.Sqrt(float64(draws)*p*(1-p))
		if math.Abs(float64(counts[y])-mean) > 5*deviation+1 {
			t.Errorf("%d: drawn %d times, expected %.1f with deviation %.1f", y, counts[y], mean, deviation)
		}
	}
}

func TestExactDistributions(t *testing.T) {
	const draws = 20_000
	count := func(f func(Integers) (int64, error)) map[int64]int {
		counts, draw := map[int64]int{}, seeded(7)
		for range draws {
			y, err := f(draw)
			if err != nil {
				t.Fatal(err)
			}
			counts[y]++
		}
		return counts
	}
	agree(t, count(func(d Integers) (int64, error) {
		ok, err := BernoulliExp(d, big.NewRat(7, 3))
		if ok {
			return 1, err
		}
		return 0, err
	}), func(y int64) float64 { return []float64{1 - math.Exp(-7.0/3), math.Exp(-7.0 / 3)}[y] }, 0, 1)
	agree(t, count(func(d Integers) (int64, error) {
		y, err := DiscreteLaplace(d, big.NewRat(5, 2))
		return y.Int64(), err
	}), func(y int64) float64 { return math.Exp(-math.Abs(float64(y)) * 2 / 5) }, -200, 200)
	agree(t, count(func(d Integers) (int64, error) {
		y, err := DiscreteGaussian(d, big.NewRat(23, 3))
		return y.Int64(), err
	}), func(y int64) float64 { return math.Exp(-float64(y*y) * 3 / 46) }, -100, 100)
}

// Permute and flip over three errors: index i is chosen with probability p_i times the integral over u in (0, 1) of the
// product of (1 - u p_j) over the others (its arrival time is uniform).
func TestPermuteAndFlipDistribution(t *testing.T) {
	errs := []int64{3, 5, 4}
	p := []float64{1, math.Exp(-1), math.Exp(-0.5)} // epsilon = 1
	weight := func(i int64) float64 {
		a, b := p[(i+1)%3], p[(i+2)%3]
		return p[i] * (1 - (a+b)/2 + a*b/3)
	}
	counts := map[int64]int{}
	draw := seeded(3)
	for range 20_000 {
		i, err := PermuteAndFlip(draw, errs, big.NewRat(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		counts[int64(i)]++
	}
	agree(t, counts, weight, 0, 2)
	if sum := weight(0) + weight(1) + weight(2); math.Abs(sum-1) > 1e-12 {
		t.Errorf("probabilities sum to %v", sum)
	}
}

func TestExactSamplersRefuse(t *testing.T) {
	draw := Secure(bytes.NewReader(nil))
	zero, negative := new(big.Rat), big.NewRat(-1, 2)
	calls := map[string]func() error{
		"bernoulli, negative":        func() error { _, err := BernoulliExp(draw, negative); return err },
		"laplace, zero":              func() error { _, err := DiscreteLaplace(draw, zero); return err },
		"gaussian, zero":             func() error { _, err := DiscreteGaussian(draw, zero); return err },
		"permute and flip, none":     func() error { _, err := PermuteAndFlip(draw, nil, zero); return err },
		"permute and flip, negative": func() error { _, err := PermuteAndFlip(draw, []int64{1}, negative); return err },
		"no randomness":              func() error { _, err := DiscreteGaussian(draw, big.NewRat(1, 1)); return err },
	}
	for what, call := range calls {
		if call() == nil {
			t.Errorf("%s: no error", what)
		}
	}
	broken := errors.New("broken")
	fail := func(*big.Int) (*big.Int, error) { return nil, broken }
	if _, err := PermuteAndFlip(fail, []int64{1, 2}, zero); !errors.Is(err, broken) {
		t.Errorf("the source's error is lost: %v", err)
	}
}

func TestSecureDrawsBelow(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	draw := Secure(source)
	for range 1000 {
		v, err := draw(big.NewInt(5))
		if err != nil || v.Sign() < 0 || v.Cmp(big.NewInt(5)) >= 0 {
			t.Fatalf("drew %v, %v", v, err)
		}
	}
}
