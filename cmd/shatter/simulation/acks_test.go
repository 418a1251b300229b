package simulation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// Subjects of acknowledgements of results, and of jobs.
const (
	ackSubject = "$JS.ACK.shatter-results."
	jobSubject = "shatter.job." // <worker>.<sweep>.<epoch>.<job>
)

// A job is what a leader asks of a worker.
type job struct{ sweep, epoch, worker, id string }

// jobOf returns the job that a message with the subject asks for; false: it asks for none.
func jobOf(subject string) (j job, ok bool) {
	s, ok := strings.CutPrefix(subject, jobSubject)
	part := strings.Split(s, ".")
	if !ok || len(part) != 4 {
		return j, false
	}
	return job{sweep: part[1], epoch: part[2], worker: part[0], id: part[3]}, true
}

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

// secret returns what marks the jobs of leaders that share it: one whose predecessor has died before
// it shipped anything draws its own, and does not know that one's jobs.
func (n *node) secret(sweep string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	path := filepath.Join(n.dir, sweep, "ledger", "sweep.json")
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	known, ok := n.owners[path]
	if ok && os.SameFile(known.file, info) && known.file.ModTime().Equal(info.ModTime()) {
		return known.secret
	}
	var owner struct{ Secret string }
	if content, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(content, &owner) // a torn one is replaced
	}
	n.owners[path] = owned{info, owner.Secret}
	return owner.Secret
}

// owned is a file that says whose a ledger is, and the secret in it.
type owned struct {
	file   os.FileInfo
	secret string
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
	if j, ok := jobOf(f.subject); ok {
		secret := n.secret(j.sweep)
		n.world.mu.Lock()
		n.world.asked[j] = secret
		n.world.mu.Unlock()
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
	case !durable && n.world.askedBy(result.job) != n.secret(result.job.sweep):
		return // it drops the result, although its disk may still be to get what another job has told before
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

// askedBy returns the secret of the leader that has sent a job; "?": nobody has.
func (w *world) askedBy(j job) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if secret, ok := w.asked[j]; ok {
		return secret
	}
	return "?"
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
