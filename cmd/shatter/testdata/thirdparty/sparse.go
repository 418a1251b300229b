package main

import (
	"context"
	"math"
	"slices"

	"github.com/shatterlab/shatter/plugins/algo"
)

type sparseParams struct {
	Variant int `doc:"algorithm of Lyu, Su and Li (2017)" min:"1" max:"6"`
	Cutoff  int `doc:"largest number of marked queries, except in variant 6" min:"1" max:"100"`
}

// sparse marks the points that occur in the sample, by the variants of the sparse vector technique that Lyu, Su
// and Li (2017) compare. Only variants 1 and 2 are private as claimed.
var sparse = algo.Algorithm[sparseParams]{
	Name: "third/sparse", Version: "1.0.0", Doc: "Marks queries about points of the sample.",
	Defaults: sparseParams{Variant: 1, Cutoff: 1},
	Guarantee: func(s *algo.Setting[sparseParams]) (algo.Guarantee, error) {
		return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "its author says so"}, nil
	},
	Predict: func(_ context.Context, t *algo.Trial[sparseParams], sample *algo.Data) (algo.Answerer, error) {
		v := &vector{variant: t.Params.Variant, left: t.Params.Cutoff, noise: func(scale float64) float64 {
			u := t.Rand.Float64() - 0.5
			return -scale * math.Copysign(math.Log1p(-2*math.Abs(u)), u)
		}}
		for i := range sample.Len() {
			v.points = append(v.points, slices.Clone(sample.X(i)))
		}
		c := float64(t.Params.Cutoff)
		// A replaced example changes the count of a point by 1.
		v.threshold, v.query = 2/t.Epsilon, 4*c/t.Epsilon
		switch v.variant {
		case 2:
			v.threshold = 2 * c / t.Epsilon
		case 3:
			v.query = 2 * c / t.Epsilon
		case 4:
			v.threshold, v.query = 4/t.Epsilon, 4/(3*t.Epsilon)
		case 5:
			v.query = 0
		case 6:
			v.query, v.left = 2/t.Epsilon, math.MaxInt
		}
		v.offset = v.noise(v.threshold)
		return v, nil
	},
}

// A vector is the state of the technique.
type vector struct {
	variant          int
	points           [][]float64
	noise            func(scale float64) float64
	threshold, query float64 // scales of the noise
	offset           float64 // noise of the threshold
	left             int     // queries that may yet be marked
}

// Answer implements algo.Answerer.
func (v *vector) Answer(_ context.Context, x []float64) (label float64, marked bool, err error) {
	count := 0.0
	for _, p := range v.points {
		if slices.Equal(p, x) {
			count++
		}
	}
	noisy := count
	if v.query > 0 {
		noisy += v.noise(v.query)
	}
	if v.left == 0 || noisy < 0.5+v.offset {
		return -1, false, nil
	}
	v.left--
	switch v.variant {
	case 2:
		v.offset = v.noise(v.threshold)
	case 3: // releases the noisy count, of which an answer is one bit
		if noisy >= 0.5 {
			return 1, true, nil
		}
	}
	return -1, true, nil
}

// Predict implements algo.Model.
func (v *vector) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	for i := range out {
		out[i] = -1
	}
	return nil
}
