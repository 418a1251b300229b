package boosting

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

// TestGoldenTrials checks that the same trial has the same bits for ever, because a table is a
// function of its sweep file. A digest changes only together with the algorithm's Version.
func TestGoldenTrials(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("math.Log and math.Exp, behind the normal variates, have other last bits here")
	}
	small, long := benchSample(300, 7), benchSample(523, 40)
	large := benchSample(60000, 10) // prefetched
	fitted := newLaw(rand.New(rand.NewPCG(1, 2)), 7, 0.3, true).draw(300)
	calibrated := func(sample *algo.Data, p Params) seededLearner {
		p.Preset = Calibrated
		return hsStLTrials(t, sample.Len(), p)
	}
	centered, rivals := centeringTrials(t), rivalTrials(t, 0.3)
	for _, c := range []struct {
		name   string
		sample *algo.Data
		learn  seededLearner
		want   string
	}{
		{"raw", small, calibrated(small, Params{Weak: Raw, Loss: Linear}), "631d3d9449a43c0b"},
		{"raw, dense", long, calibrated(long, Params{Lambda: 2, Kappa: 0.8, Weak: Raw, Loss: Linear}),
			"88e8439c842fd0ff"},
		{"raw, large", large, calibrated(large, Params{Rounds: 20, Kappa: 0.05, Weak: Raw, Loss: Linear}),
			"80947808232915e7"},
		{"unit", small, calibrated(small, Params{Weak: Unit, Loss: Linear}), "b414cdec21e3929f"},
		{"debias", long, calibrated(long, Params{Weak: Raw, Loss: Linear, Debias: true}), "24cf3b91578901b0"},
		{"paper", small, calibrated(small, Params{Weak: Raw, Loss: Paper}), "32f1c0d4576627e3"},
		{"clip", small, calibrated(small, Params{Weak: Raw, Loss: Clip}), "b9eba406f0b3d532"},
		{"centering", small, centered, "09d37e602865bba2"},
		{"centering, large", large, centered, "01e4219e727b3e44"},
		{"lazy unit", fitted, rivals("lazy unit"), "59dac081cbdd2c57"},
		{"lazy raw", fitted, rivals("lazy raw"), "c9188ef9f8d12e99"},
		{"eager unit", fitted, rivals("eager unit"), "7253678af609a49f"},
		{"eager raw", fitted, rivals("eager raw"), "f57d0d18670c3492"},
		{"smooth", fitted, rivals("smooth"), "10243037be3bf0c9"},
		{"drv", small, rivals("drv"), "dd522f412fff023f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := digest(t, c.sample, c.learn); got != c.want {
				t.Errorf("digest %s, want %s", got, c.want)
			}
		})
	}
}

// TestGoldenMetrics checks that certificates and margins do not change either.
func TestGoldenMetrics(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("math.Log, behind the projection, has other last bits here")
	}
	sum := sha256.New()
	for _, loss := range []string{Linear, Paper, Clip} {
		for _, weak := range []string{Raw, Unit} {
			r := rand.New(rand.NewPCG(4, 4))
			b := newBooster(Params{Rounds: 30, Lambda: 3, Kappa: 0.2, Sigma: 0.1, Weak: weak, Loss: loss}, benchSample(301, 6))
			for range b.Rounds {
				b.round(r.NormFloat64)
			}
			if loss == Linear {
				addBits(sum, b.certificate())
			}
			addBits(sum, b.margins()...)
		}
	}
	if got, want := hex.EncodeToString(sum.Sum(nil)[:8]), "0dd8dd121b7e9f12"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// digest returns a digest of the models of three trials and of what they answer.
func digest(t *testing.T, sample *algo.Data, learner seededLearner) string {
	t.Helper()
	sum := sha256.New()
	for seed := range uint64(3) {
		model, err := learner(seed, sample)
		if err != nil {
			t.Fatal(err)
		}
		switch m := model.(type) {
		case halfspace:
			addBits(sum, m...)
		case committee:
			addBits(sum, m.vectors...)
		default:
			t.Fatalf("model of type %T", model)
		}
		answers := make([]float64, 300)
		points := algo.NewData(benchSample(300, sample.Dim()).Xs(), sample.Dim(), nil)
		if err := model.Predict(t.Context(), points, answers); err != nil {
			t.Fatal(err)
		}
		addBits(sum, answers...)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// addBits writes the bits of numbers to h.
func addBits(h hash.Hash, v ...float64) {
	for _, x := range v {
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
}
