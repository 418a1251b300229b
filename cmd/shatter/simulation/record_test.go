package simulation

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

// checkPublished checks a message that a process publishes: the results of a sweep must stay on the
// server until its end is stored there, so that another leader can continue from them.
func (p *process) checkPublished(f frame) {
	w := p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case strings.HasPrefix(f.subject, "$KV.shatter-sweeps."+sweepID+".end"):
		w.ended++
	case strings.HasPrefix(f.subject, "$JS.API.STREAM.PURGE.shatter-results") && w.ended == 0:
		w.wrong = append(w.wrong, p.node.name+" removes results of a sweep that has not ended")
	}
}

// A record is the content of the files of a ledger, in the order of the files.
type record struct {
	messages map[string]bool // byte for byte
	outcomes ledger.Set
	refused  map[size]bool
	failed   int64    // number of failed outcomes
	twice    []string // frames without new information
}

// A size is a sample size of a cell.
type size struct {
	cell [32]byte
	n    int64
}

func recordOf(logs [][]byte) *record {
	r := &record{messages: map[string]bool{}, refused: map[size]bool{}}
	for _, content := range logs {
		for f := range ledger.Frames(content) {
			if f.Damage != "" {
				continue
			}
			r.messages[string(f.Message)] = true
			switch b, err := ledger.Decode(f.Message); {
			case err != nil:
				r.twice = append(r.twice, err.Error())
			case b.Refusal != nil:
				r.refused[size{b.Cell, b.N}] = true
			default:
				r.add(b)
			}
		}
	}
	return r
}

func (r *record) add(b *ledger.Batch) {
	added := r.outcomes.Add(b).New
	for _, i := range added {
		if b.Status[i] == ledger.Failed {
			r.failed++
		}
	}
	if len(added) == 0 {
		r.twice = append(r.twice, "known outcomes")
	}
}

// logsIn returns the files of the ledger in a folder, in order.
func logsIn(dir string) (list [][]byte, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.log")) // sorted
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, content)
	}
	return list, err
}
