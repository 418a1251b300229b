package main

import (
	"context"
	"errors"

	"github.com/shatterlab/shatter/plugins/algo"
)

// claim returns the budget as a pure guarantee.
func claim(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
	return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "its author says so"}, nil
}

// elimination solves for the parity by Gaussian elimination and declares a false guarantee.
var elimination = algo.Algorithm[struct{}]{
	Name: "third/elimination", Version: "1.0.0", Doc: "Solves for the parity, and claims to be private.",
	Guarantee: claim,
	Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		d := t.Problem.Dim
		rows := make([][]bool, d) // key: leading bit; last entry of a row: label
		for i := range sample.Len() {
			row := make([]bool, d+1)
			for j, v := range sample.X(i) {
				row[j] = v == 1
			}
			row[d] = sample.Y(i) == 1
			for j := range d {
				if !row[j] {
					continue
				}
				if rows[j] == nil {
					rows[j] = row
					break
				}
				for k := range row {
					row[k] = row[k] != rows[j][k]
				}
			}
		}
		w := make([]bool, d)
		for j := d - 1; j >= 0; j-- {
			if rows[j] == nil {
				continue
			}
			w[j] = rows[j][d]
			for k := j + 1; k < d; k++ {
				w[j] = w[j] != (rows[j][k] && w[k])
			}
		}
		return parity(w), nil
	},
}

type parity []bool

func (w parity) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		odd := false
		for j, v := range x.X(i) {
			odd = odd != (w[j] && v == 1)
		}
		if out[i] = -1; odd {
			out[i] = 1
		}
	}
	return nil
}

// onelabel fails on samples with one label and declares a false guarantee.
var onelabel = algo.Algorithm[struct{}]{
	Name: "third/onelabel", Version: "1.0.0", Doc: "Needs both labels, and claims to be private.",
	Guarantee: claim,
	Learn: func(_ context.Context, _ *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		sum := 0.0
		for i := range sample.Len() {
			sum += sample.Y(i)
		}
		if sum == float64(sample.Len()) || sum == -float64(sample.Len()) {
			return nil, errors.New("the sample has one label only")
		}
		return constant(1), nil
	},
}
