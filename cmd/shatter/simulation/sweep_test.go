package simulation

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// codes are the identities of the algorithms of newPlan.
var codes = map[string]string{"plain": "one", "picky": "two"}

// newPlan returns the plan of the simulated sweep: two lists, one of them with a refused sample
// size, and a search.
func newPlan() *plan.Plan {
	p := &plan.Plan{
		Name: "simulated", Seed: trial.SweepSeed{Seed: schemas.NumberSeed(5)},
		Source: []byte("name: simulated\n"),
	}
	for i, algorithm := range []string{"plain", "picky", "plain"} {
		c := &trial.Cell{
			Task: "learn", Algorithm: algorithm, As: algorithm + "-" + string(rune('a'+i)),
			Problem: &schemas.Problem{Class: "thresholds", Domain: 256},
			Alpha:   0.1, Beta: 0.3, Metrics: []string{"twice"}, Evaluation: &problem.Evaluation{Words: "exact"},
		}
		if i < 2 {
			c.N, c.Trials = []int64{10, 30}, 10
		} else {
			c.Find, c.MaxTrials = &trial.Find{From: 8, To: 32, Within: 2, Confidence: 0.6}, 400
		}
		var err error
		if c.Key, err = trial.KeyOf(map[string]any{"as": c.As}); err != nil {
			panic(err)
		}
		c.NoiseKey, c.DataKey = c.Key, c.Key
		p.Cells = append(p.Cells, c)
	}
	return p
}

func submission() *lead.Submission { return submissionOf(newPlan()) }

// sweepID is the id of the submission.
var sweepID = submission().ID()

func submissionOf(p *plan.Plan) *lead.Submission {
	return &lead.Submission{
		Name: p.Name, Resolved: p.Digest(), Plugins: codes, Seed: p.Seed.Seed, Cells: len(p.Cells),
		By: "simulation", At: time.Unix(0, 0).UTC(),
	}
}

// truth returns the outcome of a trial, a function of the trial alone.
func truth(c *trial.Cell, n, rep int64) (status uint8, e float64) {
	rng := rand.New(rand.NewPCG(trial.Seed(c.NoiseKey, trial.AlgorithmNoise, uint64(n), uint32(rep))))
	switch {
	case rng.Float64() < 0.02:
		return ledger.Failed, math.NaN()
	case rng.Float64() < 1/(1+math.Pow(14/float64(n), 8)):
		return ledger.OK, rng.Float64() / 10
	}
	return ledger.OK, 0.5 + rng.Float64()/4
}

// perTrial is the run time of a trial.
const perTrial = 150 * time.Millisecond

var errBroken = errors.New("the disk of this worker is broken")

// simulate runs the trials of a job.
func (n *node) simulate(ctx context.Context, job *trial.Job) (*ledger.Batch, error) {
	took := time.Duration(job.Count) * perTrial
	if n.active(time.Now(), "slow") != nil {
		took *= 20
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.awake()
	if n.active(time.Now(), "broken") != nil {
		return nil, errBroken
	}
	n.world.mu.Lock()
	n.world.runs += int(job.Count)
	n.world.mu.Unlock()
	if job.Cell.Algorithm == "picky" && job.N < 24 {
		return &ledger.Batch{Refusal: ledger.NewRefusal(ledger.Infeasible, "the budget is too small")}, nil
	}
	return outcomesOf(job), nil
}

func outcomesOf(job *trial.Job) *ledger.Batch {
	b := &ledger.Batch{Values: [][]float64{nil}}
	for i := range int(job.Count) {
		status, e := truth(job.Cell, job.N, job.Repetition(i))
		kind := ""
		if status == ledger.Failed {
			kind = "error"
		}
		b.Status, b.Error = append(b.Status, status), append(b.Error, e)
		b.Kind, b.Values[0] = append(b.Kind, kind), append(b.Values[0], 2*e)
	}
	return b
}
