package algo_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/shatterlab/shatter/plugins/algo"
)

// shareParams holds the parameters of an algorithm that trains on a random share of its sample.
type shareParams struct {
	Share float64 `doc:"share of the sample to train on" min:"0" max:"1"`
}

// majority answers every point with the mean label of the selected examples.
var majority = algo.Algorithm[shareParams]{
	Name: "acme/majority", Version: "1.0.0", Doc: "Predicts the mean label of a share of the sample.",
	Defaults: shareParams{Share: 1},
	Metrics:  map[string]string{"examples": "number of examples looked at"},
	Learn: func(_ context.Context, t *algo.Trial[shareParams], sample *algo.Data) (algo.Model, error) {
		sum, count := 0.0, 0.0
		for i := range sample.Len() {
			if t.Rand.Float64() < t.Params.Share {
				sum += sample.Y(i)
				count++
			}
		}
		t.Report("examples", count)
		if count == 0 {
			return nil, algo.Infeasible("no example of %d was looked at", sample.Len())
		}
		return constantModel(sum / count), nil
	},
}

// constantModel gives the same answer to every point.
type constantModel float64

func (c constantModel) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = float64(c)
	}
	return nil
}

// The functions of an Algorithm can be called without a process: they take a trial and data made by
// hand.
func ExampleAlgorithm() {
	trial := &algo.Trial[shareParams]{
		Setting: algo.Setting[shareParams]{Params: majority.Defaults, Task: algo.Learn},
		Rand:    rand.New(rand.NewPCG(1, 2)),
	}
	sample := algo.NewData([]float64{3, 1, 4, 1}, 1, []float64{1, -1, 1, 1})
	model, err := majority.Learn(context.Background(), trial, sample)
	if err != nil {
		fmt.Println(err)
		return
	}
	answers := make([]float64, 2)
	if err := model.Predict(context.Background(), algo.NewData([]float64{5, 9}, 1, nil), answers); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answers)
	// Output: [0.5 0.5]
}

// The main function of a plugin only calls Serve.
func ExampleServe() {
	algo.Serve(majority)
}

func ExampleInfeasible() {
	err := algo.Infeasible("n = %d is too small for epsilon = %g", 10, 0.1)
	fmt.Println(err)
	fmt.Println(algo.IsInfeasible(err), algo.IsInvalid(err))
	// Output:
	// n = 10 is too small for epsilon = 0.1
	// true false
}
