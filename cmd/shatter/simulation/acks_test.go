package simulation

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// ackSubject begins the subjects of acknowledgements of results.
const ackSubject = "$JS.ACK.shatter-results."

// A job is what a leader asks of a worker.
type job struct{ sweep, epoch, worker, id string }

// sent is a result that a node was sent and has not acknowledged.
type sent struct {
	body []byte
	job  job
}

// seeIn notes the results that the node is sent.
func (n *node) seeIn(f frame) {
	to, results, ok := bus.ResultsOf(f.subject, f.body)
	if !ok || !strings.HasPrefix(f.reply, ackSubject) {
		return
	}
	var all []sent
	for _, r := range results {
		if !strings.HasPrefix(r.Job, "recheck-") { // these are compared only
			all = append(all, sent{r.Data, job{to.Sweep, strconv.FormatUint(to.Epoch, 10), r.Worker, r.Job}})
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.results[f.reply] = all
}

// seeOut checks what a process says: that a result which it acknowledges is on its disk, whatever
// happens to the machine next.
func (p *process) seeOut(f frame) {
	n := p.node
	if n.world.calm() {
		p.checking.Lock()
		p.checkEpochs(f)
		p.checking.Unlock()
	}
	if !strings.HasPrefix(f.subject, ackSubject) || string(f.body) != "+ACK" || p.dead.Load() {
		return
	}
	n.mu.Lock()
	results, files, lied := n.results[f.subject], n.files, n.lied
	delete(n.results, f.subject)
	n.mu.Unlock()
	for _, r := range results {
		if !lied {
			n.checkDurable(r, files)
		}
	}
}

// checkDurable checks that a result which the node acknowledges is on its disk.
func (n *node) checkDurable(result sent, files *files) {
	durable, there := files.holds(result.body)
	switch {
	case !durable && strings.HasPrefix(result.job.id, "recheck-"):
		return // it is compared and not kept
	case there && !durable:
		n.world.violated("%s acknowledged outcomes that were not on its disk yet", n.name)
	case !durable && !recordOf(files.durableLogs()).has(result.body):
		n.world.violated("%s acknowledged outcomes of job %s that it has not kept", n.name, result.job.id)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.files == files { // else it has died meanwhile
		n.acknowledged = append(n.acknowledged, result.body)
	}
}

// checkKept checks that a record has all that the node has acknowledged.
func (n *node) checkKept(r *record, whose string) {
	n.mu.Lock()
	list, lied := n.acknowledged, n.lied
	n.mu.Unlock()
	if lied {
		return
	}
	for _, body := range list {
		if !r.has(body) {
			n.world.violated("%s has lost outcomes that %s acknowledged", whose, n.name)
			return
		}
	}
}

// A record is what the files of a ledger say, in the order of the files.
type record struct {
	messages map[string]bool // byte for byte
	outcomes ledger.Set
	refused  map[size]bool
	failed   int64    // outcomes that say so
	twice    []string // frames that tell nothing new
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

// has reports whether the record has all outcomes of a message.
func (r *record) has(body []byte) bool {
	if r.messages[string(body)] {
		return true
	}
	b, err := ledger.Decode(body)
	if err != nil {
		return false
	}
	if b.Refusal != nil {
		return r.refused[size{b.Cell, b.N}]
	}
	return len(r.outcomes.Add(b).New) == 0
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
