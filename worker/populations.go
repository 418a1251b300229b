package worker

import (
	"context"
	"fmt"
	"sync"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// populations holds the opened problems of this worker, which its slots share: a data file is
// fetched, read and laid out in shared memory once.
type populations struct {
	Config
	mu   sync.Mutex
	open map[string]*population
}

// population is an opened problem and, for real data, the shared table of its rows.
type population struct {
	*problem.Problem
	public *pluginv1.Problem // what algorithms may know
	rows   *dataset.Memory   // nil for laws
}

func newPopulations(c Config) *populations {
	return &populations{Config: c, open: map[string]*population{}}
}

// get returns the opened problem whose canonical name is key. A failure is not remembered: the file
// may come later.
func (ps *populations) get(ctx context.Context, key string, p schemas.Problem) (*population, error) {
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
		if pop.rows, err = share(x, dim); err != nil {
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

// share lays the features of a population out as an Arrow file in a nameless memory file. The
// labels stay here.
func share(x []float64, dim int) (*dataset.Memory, error) {
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
	copy(layout.List(m.Bytes(), 0), x)
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
