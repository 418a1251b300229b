package halfspace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"runtime"
	"testing"
)

// The same trial has the same bits for ever: a table is a function of its sweep file. A digest
// changes only together with the algorithm's Version.
func TestGoldenTrials(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("math.Log and math.Exp, behind the variates, have other last bits here")
	}
	exponential := func(d int, p ExponentialParams) learner { return exponentialLearner(exponentialSetting(d, p)) }
	gradient := func(d int, p GradientParams) learner { return gradientLearner(gradientSetting(d, p)) }
	for _, c := range []struct {
		name  string
		d     int
		learn learner
		want  string
	}{
		{"grid", 3, exponential(3, ExponentialParams{Net: Auto, Radius: 0.05}), "bbd4ef7171478d8c"},
		{"random net", 7, exponential(7, ExponentialParams{Net: Auto, Points: 500}), "1b2964aed58d2f2b"},
		{"random net, projected", 40, exponential(40, ExponentialParams{Net: Auto, Points: 500, Project: 9}),
			"61e43b57d653110e"},
		{"gradient", 7, gradient(7, GradientParams{Steps: 50, Rate: 0.1}), "5a04afd34e233de3"},
		{"gradient, projected", 40, gradient(40, GradientParams{Steps: 50, Rate: 0.1, Project: 9}), "cae30d0e60012b52"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum, sample := sha256.New(), benchSample(301, c.d)
			for seed := range uint64(3) {
				m, err := c.learn(seed, sample)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range m.(model).W {
					sum.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(w)))
				}
			}
			if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != c.want {
				t.Errorf("digest %s, want %s", got, c.want)
			}
		})
	}
}
