package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

// enforce sets aside the workers that were found guilty: nothing counts any more that they have sent,
// and the cells are worked on as if it had never come. It returns an error where two workers differ
// and nobody can tell who is right.
func (r *run) enforce() error {
	k := r.checks
	if len(k.guilty) == 0 {
		return k.failed
	}
	if err := k.majority(); err != nil {
		return err
	}
	for _, worker := range slices.Sorted(maps.Keys(k.guilty)) {
		report, err := r.intake.ledger.Retract(worker, k.guilty[worker])
		if err != nil {
			return err
		}
		r.Folder.Report.Conflicts, r.Folder.Report.Clashes = report.Conflicts, report.Clashes
	}
	r.heedRetractions()
	clear(r.intake.alarms)
	clear(r.intake.clashes)
	if err := r.grid.reset(); err != nil {
		return err
	}
	for x, j := range r.jobs.doubts {
		if !r.jobs.jobs[j] {
			delete(r.jobs.doubts, x)
		}
	}
	if _, err := r.load(); err != nil {
		return err
	}
	return k.failed
}

// majority returns an error where those that are or would be set aside are not the fewer: others that
// are as many are believed.
func (k *checks) majority() error {
	bad := slices.Collect(maps.Keys(k.crew.distrusted))
	bad = append(bad, slices.Collect(maps.Keys(k.guilty))...)
	slices.Sort(bad)
	bad = slices.Compact(bad)
	good := map[string]bool{}
	for _, m := range k.crew.members {
		good[m.Name] = true
	}
	for name, x := range k.workers {
		good[name] = good[name] || x.Results > 0
	}
	count := 0
	for name, is := range good {
		if is && !slices.Contains(bad, name) {
			count++
		}
	}
	if len(bad) <= count {
		return nil
	}
	reason := ""
	for _, worker := range slices.Sorted(maps.Keys(k.guilty)) {
		reason = k.guilty[worker]
	}
	return &IntegrityError{bad, fmt.Sprintf("the workers %s differ from others, and these are the fewer: most probably "+
		"outcomes of the algorithm depend on more than their trial (%s); try it with `shatter plugin test`, or go on in a "+
		"new folder with workers that you trust", strings.Join(bad, ", "), reason)}
}

// heedRetractions sets aside the workers whose messages the ledger holds to be void.
func (r *run) heedRetractions() {
	for _, x := range r.intake.ledger.Retractions() {
		if r.crew.distrusted[x.Worker] == "" {
			r.crew.distrust(x)
			r.checks.setAside(x)
		}
	}
}

// distrust sets a worker aside. Its jobs go to others.
func (w *crew) distrust(x ledger.Retraction) {
	w.distrusted[x.Worker] = x.Reason
	w.journal.note(fmt.Sprintf("worker %s was set aside, and %d outcomes of it were dropped: %s",
		x.Worker, x.Outcomes, x.Reason))
	i := slices.IndexFunc(w.members, func(m *member) bool { return m.Name == x.Worker })
	if i < 0 {
		return
	}
	m := w.members[i]
	w.members = slices.Delete(w.members, i, i+1)
	ids := slices.Sorted(maps.Keys(m.out))
	for _, id := range ids {
		w.back(m.out[id], fmt.Sprintf("worker %s was set aside", m.Name))
	}
	if len(ids) == 0 {
		return
	}
	if err := w.queue.Drop(w.lead, ids...); err != nil {
		w.journal.note(err.Error())
	}
}

// reset forgets all outcomes. Jobs that are out stay out.
func (g *grid) reset() error {
	for _, c := range g.cells {
		if err := c.begin(g.tests); err != nil {
			return err
		}
		c.refusals, c.told, c.refused = nil, nil, ""
		c.done, c.fed, c.trials, c.outlook = false, 0, 0, nil
		for _, s := range c.sizes {
			s.taken, s.answered = slices.Clone(s.out), false
		}
		for _, j := range c.jobs {
			c.trials += int64(j.missing)
		}
	}
	g.open = len(g.cells)
	return g.climb()
}
