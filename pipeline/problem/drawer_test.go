package problem

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// seeded holds one trial's streams, reseeded in place as a worker does.
type seeded [4]rand.PCG

func (s *seeded) trial(seed, rep uint64) Streams {
	for i := range s {
		s[i].Seed(seed, rep<<2|uint64(i))
	}
	return Streams{&s[0], &s[1], &s[2], &s[3]}
}

// everyDistribution returns problems of several classes under the distributions that fit them.
func everyDistribution() (all []schemas.Problem) {
	for _, class := range []string{"thresholds", "points", "intervals"} {
		all = append(all,
			schemas.Problem{Class: class, Distribution: "uniform", Domain: 1000},
			schemas.Problem{Class: class, Distribution: "uniform", Domain: 3 << 30, Test: 50},
			schemas.Problem{Class: class, Distribution: "needle", Domain: 1 << 32, Mass: 0.1})
	}
	sphere := func(distribution string, d int) schemas.Problem {
		return schemas.Problem{Class: "halfspace", Distribution: distribution, Dim: d, Margin: 0.1, Test: 50}
	}
	return append(all, sphere("iso-fixed", 7), sphere("skew-fixed", 7), sphere("ball-margin", 7),
		sphere("ball-margin", 60), sphere("iso", 7), sphere("skew", 7))
}

// Without adversarial noise the sample of n is a prefix of that of 2n, for data too.
func TestSampleOfNIsAPrefix(t *testing.T) {
	problems := []*Problem{openCSV(t, testkit.CSV(300), overData("halfspace", 0))}
	for _, p := range everyDistribution() {
		problems = append(problems, open(t, p))
	}
	for _, p := range problems {
		for _, noise := range []schemas.Noise{{Kind: "none"}, {Kind: "random", Rate: 0.3}} {
			p.spec.Noise = noise
			_, x, y := sample(p, 1, 2, 40)
			_, x2, y2 := sample(p, 1, 2, 80)
			if !slices.Equal(x, x2[:len(x)]) || !slices.Equal(y, y2[:len(y)]) {
				t.Errorf("%+v: the sample of 40 is no prefix of that of 80", p.spec)
			}
		}
	}
}

// Neither noise nor the size of the sample affects the target, the points or the evaluation.
func TestStreamsAreIndependent(t *testing.T) {
	for _, p := range everyDistribution() {
		d, x, y := sample(open(t, p), 1, 2, 60)
		testX, testY, _ := evaluation(d)
		p.Noise = schemas.Noise{Kind: "random", Rate: 0.3}
		d, noisyX, noisyY := sample(open(t, p), 1, 2, 60)
		otherX, otherY, _ := evaluation(d)
		if !slices.Equal(x, noisyX) || !slices.Equal(testX, otherX) || !slices.Equal(testY, otherY) {
			t.Errorf("%+v: noise moves points", p)
		}
		if slices.Equal(y, noisyY) {
			t.Errorf("%+v: no label is noisy", p)
		}
	}
}

// The evaluation can be read in pieces of any size, and again in the next trial.
func TestEvaluationInPieces(t *testing.T) {
	for _, q := range everyDistribution() {
		p := open(t, q)
		streams := new(seeded)
		d := p.Drawer(p.Test(0, 0))
		d.Begin(streams.trial(1, 2))
		x, y, w := evaluation(d)
		d.Begin(streams.trial(1, 2))
		for from := 0; from < len(y); {
			to := min(from+1+from/2, len(y))
			n := to - from
			px, py, pw := make([]float64, n*p.Dim()), make([]float64, n), make([]float64, n)
			d.Test(px, py, pw)
			if !slices.Equal(px, x[from*p.Dim():to*p.Dim()]) || !slices.Equal(py, y[from:to]) || !slices.Equal(pw, w[from:to]) {
				t.Errorf("%+v: points %d..%d differ", q, from, to)
			}
			from = to
		}
		if !panics(func() { d.Test(make([]float64, p.Dim()), y[:1], w[:1]) }) {
			t.Errorf("%+v: a point beyond the last", q)
		}
	}
}

// The weights of a problem are those of its evaluation points.
func TestWeights(t *testing.T) {
	problems := []*Problem{openCSV(t, testkit.CSV(30), overData("halfspace", 0))}
	for _, q := range everyDistribution() {
		problems = append(problems, open(t, q))
	}
	for _, p := range problems {
		d := p.Drawer(p.Test(0, 0))
		d.Begin(new(seeded).trial(1, 2))
		_, y, w := evaluation(d)
		want := p.Weights()
		if want == nil {
			want = slices.Repeat([]float64{1 / float64(len(y))}, len(y))
		}
		if !slices.Equal(w, want) {
			t.Errorf("%+v: weights %v, want %v", p.spec, w, want)
		}
		d.Begin(new(seeded).trial(1, 2))
		again := make([]float64, len(y))
		d.Test(make([]float64, len(y)*p.Dim()), again, nil)
		if !slices.Equal(again, y) {
			t.Errorf("%+v: other labels without weights", p.spec)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// A reused drawer draws the same data as a new one.
func TestDrawersKeepNothing(t *testing.T) {
	for _, q := range everyDistribution() {
		for _, noise := range []string{"random", "adversarial"} {
			q.Noise = schemas.Noise{Kind: noise, Rate: 0.2}
			p := open(t, q)
			used := p.Drawer(p.Test(0, 0))
			streams := new(seeded)
			for rep := range uint64(4) {
				n := 10 + 13*int(rep)
				x, y := make([]float64, n*p.Dim()), make([]float64, n)
				used.Begin(streams.trial(5, rep))
				used.Sample(n, x, y)
				fresh, wantX, wantY := sample(p, 5, rep, n)
				if !slices.Equal(x, wantX) || !slices.Equal(y, wantY) {
					t.Errorf("%+v: trial %d depends on those before", q, rep)
				}
				if rep%2 == 0 { // some trials do not read their evaluation
					gotX, gotY, _ := evaluation(used)
					wantX, wantY, _ := evaluation(fresh)
					if !slices.Equal(gotX, wantX) || !slices.Equal(gotY, wantY) {
						t.Errorf("%+v: the evaluation of trial %d depends on those before", q, rep)
					}
				}
			}
		}
	}
}

// The data of fixed keys never changes: comparisons between sweeps depend on it.
func TestGoldenDraws(t *testing.T) {
	golden := map[string]string{
		"thresholds-uniform-1000":              "5278c24a0ab6e11a",
		"thresholds-uniform-3221225472":        "572cdbac8926bc97",
		"thresholds-needle-4294967296":         "3be6eee600243216",
		"points-uniform-1000":                  "0d3e9d601be1726c",
		"points-uniform-3221225472":            "0a556adba5f4f965",
		"points-needle-4294967296":             "ecb61e29fc419f4d",
		"intervals-uniform-1000":               "c77d9f2ec66c9e4b",
		"intervals-uniform-3221225472":         "3087558de28572fa",
		"intervals-needle-4294967296":          "1fc95337d64edffe",
		"thresholds-uniform-1000-random":       "11beaba775e32bd4",
		"thresholds-uniform-3221225472-random": "b352e26a51dc191b",
		"points-uniform-1000-random":           "fc60f2784f172d7f",
		"points-uniform-3221225472-random":     "0a556adba5f4f965",
		"intervals-uniform-1000-random":        "f8c79f51c1f338f9",
		"intervals-uniform-3221225472-random":  "0e2000483f792745",
		"halfspace-iso-fixed-7":                "d6c82b7ec71a388a",
		"halfspace-skew-fixed-7":               "b06ca69be65d7c15",
		"halfspace-ball-margin-7":              "d15839abf98115e3",
		"halfspace-ball-margin-60":             "b1a1ca9cc6ec49e7",
		"halfspace-iso-7":                      "a5b1b7929df3ae5d",
		"halfspace-skew-7":                     "700917abf785f3bc",
	}
	var problems []schemas.Problem
	for i, q := range everyDistribution() {
		if i%2 == 1 {
			q.Noise = schemas.Noise{Kind: "random", Rate: 0.2}
		}
		if i%5 == 2 {
			q.Noise = schemas.Noise{Kind: "adversarial", Rate: 0.2}
		}
		if q.Distribution == "uniform" {
			q.Target = "middle"
			problems = append(problems, q)
			q.Target = "random"
		}
		problems = append(problems, q)
	}
	for _, q := range problems {
		p := open(t, q)
		hash := sha256.New()
		for rep := range uint64(3) {
			d, x, y := sample(p, 1<<63|77, rep, 33)
			testX, testY, w := evaluation(d)
			for _, values := range [][]float64{x, y, testX, testY, w} {
				for _, v := range values {
					if q.Dim == 60 { // draws by math.Log, whose last bit differs between machines
						v = float64(float32(v))
					}
					binary.Write(hash, binary.LittleEndian, v)
				}
			}
		}
		name := fmt.Sprintf("%s-%s-%d", q.Class, q.Distribution, max(q.Domain, uint64(q.Dim)))
		if q.Target == "random" {
			name += "-random"
		}
		got := hex.EncodeToString(hash.Sum(nil)[:8])
		if want := golden[name]; got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
