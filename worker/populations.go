package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// populations holds the opened problems of this worker, which its slots share: a data file is
// fetched, read and laid out in shared memory once.
type populations struct {
	Config
	mu   sync.Mutex
	open map[trial.Key]*population
}

// population is an opened problem and, for real data, the shared table of its rows.
type population struct {
	*problem.Problem
	public *pluginv1.Problem // what algorithms may know
	rows   *dataset.Memory   // nil for laws
	order  []int32           // number of the row of the data, by row of the shared table
}

func newPopulations(c Config) *populations {
	return &populations{Config: c, open: map[trial.Key]*population{}}
}

// get returns the opened problem of a data key. A failure is not remembered: the file may come
// later.
func (ps *populations) get(ctx context.Context, key trial.Key, p schemas.Problem) (*population, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if have, ok := ps.open[key]; ok {
		return have, nil
	}
	file := ""
	if _, digest := p.File(); digest != "" {
		var err error
		if file, err = ps.file(ctx, digest); err != nil {
			return nil, err
		}
	}
	opened, err := problem.Open(p, file)
	if err != nil {
		return nil, err
	}
	pop := &population{Problem: opened, public: opened.Public()}
	if x, dim := opened.Population(); x != nil {
		pop.order = tableOrder(key, len(x)/dim)
		if pop.rows, err = share(x, dim, pop.order); err != nil {
			return nil, err
		}
	}
	ps.open[key] = pop
	return pop, nil
}

// file returns the path of a data file, which it fetches if need be.
func (ps *populations) file(ctx context.Context, digest string) (string, error) {
	if path, ok := ps.Files[digest]; ok {
		return path, nil
	}
	if ps.Cache == "" {
		return "", fmt.Errorf("find data file %.12s: not among this worker's files", digest)
	}
	return ps.Conn.FetchFile(ctx, digest, ps.Cache)
}

// tableOrder returns the order of the rows of the shared table of a data key, which says nothing
// about their labels, whatever the order of the file. All trials have it in common, for a table of
// its own would cost a trial more than its answers.
func tableOrder(key trial.Key, rows int) []int32 {
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i)
	}
	shuffle(order, rand.NewPCG(trial.Seed(key, trial.Order, 0, 0)))
	return order
}

// share lays the features of a population out, in a given order of rows, as an Arrow file in a
// nameless memory file. The labels stay here.
func share(x []float64, dim int, order []int32) (*dataset.Memory, error) {
	schema := dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: dim}}}
	layout, err := dataset.Plan(schema, len(x)/dim, nil)
	if err != nil {
		return nil, err
	}
	m, err := dataset.NewMemory("shatter-dataset", int64(layout.Size()))
	if err != nil {
		return nil, err
	}
	layout.Init(m.Bytes())
	to := layout.List(m.Bytes(), 0)
	for i, row := range order {
		copy(to[i*dim:(i+1)*dim], x[int(row)*dim:])
	}
	return m, nil
}

func (ps *populations) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.open {
		if p.rows != nil {
			_ = p.rows.Close() // the memory goes with the process in any case
		}
	}
	clear(ps.open)
}
