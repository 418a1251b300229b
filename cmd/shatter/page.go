package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	html "html/template"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/cmd/shatter/observe"
	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/result/report"
	"github.com/shatterlab/shatter/pipeline/wording"
)

//go:embed page.html
var pageText string

var pageTemplates = html.Must(html.New("").Funcs(html.FuncMap{
	"count":   func(n int64) string { return wording.Thousands(float64(n)) },
	"seconds": roughSeconds,
	"half":    func(s float64) float64 { return s / 2 }, "double": func(s float64) float64 { return 2 * s },
	"plural":      wording.Count,
	"time":        func(t time.Time) string { return t.UTC().Format(time.DateTime) },
	"since":       func(t time.Time) string { return time.Since(t).Round(time.Second).String() },
	"short":       func(text string) string { return wording.OneLine(text, mostShown) },
	"queryLimits": func() string { return fmt.Sprintf("%v and %s of memory", queryTime, queryMemory) },
	"size":        func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) },
}).Parse(pageText))

// A knownPages makes the reports of output folders from their ledgers, as far as their sweeps have
// come. It makes a report at most every minRefresh, and spends at most a tenth of the time of a core
// on a folder. The zero value is ready for use. Concurrent use is safe.
type knownPages struct {
	mu    sync.Mutex
	known map[string]*knownPage
}

// minRefresh is the minimum time between two reports of a folder.
const minRefresh = 3 * time.Second

type knownPage struct {
	sections []report.Section
	at       time.Time // time of the report
	next     time.Time // time from which on another report may be made
	busy     bool
}

// sections returns the sections of the last report of a folder, and the time of the report. If that
// is old, it starts to make another, and with wait it returns that one.
func (k *knownPages) sections(ctx context.Context, dir string, wait bool) ([]report.Section, time.Time) {
	k.mu.Lock()
	page := k.known[dir]
	if page == nil {
		page = &knownPage{sections: report.NoSections()}
		if k.known == nil {
			k.known = map[string]*knownPage{}
		}
		k.known[dir] = page
	}
	if !wait && !page.busy && time.Now().After(page.next) {
		page.busy = true
		go k.refresh(context.WithoutCancel(ctx), dir, page)
	}
	k.mu.Unlock()
	if wait {
		k.refresh(ctx, dir, page)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return page.sections, page.at
}

// refresh makes a report. Without results or after an error it keeps the last one.
func (k *knownPages) refresh(ctx context.Context, dir string, page *knownPage) {
	began := time.Now()
	sections, err := readSections(ctx, dir)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil && sections != nil {
		page.sections, page.at = sections, began
	}
	page.next, page.busy = time.Now().Add(max(minRefresh, 10*time.Since(began))), false
}

// readSections returns the report of an output folder, as far as its sweep has come; nil: there is
// no result yet.
func readSections(ctx context.Context, dir string) ([]report.Section, error) {
	from := dir
	if !folder.HasFinalResult(dir) {
		s, err := openKnown(ctx, dir)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.close() }()
		if from, err = os.MkdirTemp("", "shatter-known-"); err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(from) }()
		if found, _, err := s.writeKnown(from); err != nil || found.Empty() {
			return nil, err
		}
	}
	sweep, err := report.Load(from)
	if err != nil {
		return nil, err
	}
	sweep.Folder, sweep.Live = dir, true
	p, err := sweep.Page()
	if err != nil {
		return nil, err
	}
	return p.Sections, nil
}

// A liveView describes the progress of a sweep for its page.
type liveView struct {
	*coordinator.Progress // nil: none yet
	State, Reason         string
	Stall                 string    // reason why no trials run
	Known                 time.Time // time of the ledger that the sections below show; zero: none
}

// sweepPage returns the page of a sweep: its progress, the report, and the forms that the reader
// may send.
func sweepPage(
	name, kind string, v liveView, sections []report.Section, c choices,
) (*report.Page, error) {
	if v.Progress != nil {
		v.Stall = v.StallReason()
	}
	p := &report.Page{Name: name, Kind: kind, State: "This page follows the sweep."}
	err := errors.Join(add(p, "live", "Progress", v), add(p, "control", "", c))
	p.Sections = append(p.Sections, sections...)
	c.Result = !v.Known.IsZero()
	return p, errors.Join(err, add(p, "query", "SQL", c))
}

// add renders a section and adds it to a page.
func add(p *report.Page, id, title string, data any) error {
	section, err := report.NewSection(pageTemplates, id, title, data)
	p.Sections = append(p.Sections, section)
	return err
}

// page is the source of the page of a run.
func (m *runMonitor) page(ctx context.Context, r observe.Request) (*report.Page, error) {
	switch {
	case r.Sweep != "", r.Action != "" && r.Action != "query":
		return nil, nil
	case r.Action == "query":
		return queryPage(ctx, m.leading.Name, m.dir, choices{SQL: r.Form.Get("sql")}), nil
	}
	m.mu.Lock()
	v, ended := liveView{Progress: m.leading.Progress, State: lead.Running, Reason: m.leading.Reason}, m.ended
	m.mu.Unlock()
	var sections []report.Section
	sections, v.Known = m.results.sections(ctx, m.dir, false)
	if ended != "" {
		v.State, v.Reason = ended, ""
	}
	p, err := sweepPage(m.leading.Name, "Shatter run", v, sections, choices{})
	if p != nil && ended != "" {
		p.State, p.Ended = fmt.Sprintf("The run is %s. Its result is in %s.", ended, m.dir), true
	}
	return p, err
}

// end makes the page's last state, if a page was made before.
func (m *runMonitor) end(how string) {
	m.results.mu.Lock()
	watched := len(m.results.known) > 0
	m.results.mu.Unlock()
	if watched {
		m.results.sections(context.Background(), m.dir, true)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = how
}

// clusterPages makes the pages of a coordinator.
type clusterPages struct {
	conn    *queue.Conn
	dir     string // folder of the output folders
	results knownPages

	mu   sync.Mutex
	root clusterView
	at   time.Time // time of root
}

func newClusterPages(conn *queue.Conn, dir string) *clusterPages {
	return &clusterPages{conn: conn, dir: dir}
}

// A clusterView describes the sweeps, workers and storage of a server.
type clusterView struct {
	Sweeps      []*sweepStatus
	More        int // number of sweeps that are left out
	Workers     []*fleet.Worker
	Slots       int
	Quarantined map[string][]string // names of sweeps by worker in quarantine
	Storage     *queue.Storage      // nil: not known
	Remarks     map[string]string   // remarks and refusals, by worker
	Errors      []string
}

const (
	clusterEvery   = 2 * time.Second // minimum time between two requests to the server
	maxClusterRows = 200             // sweeps that the page lists
)

// page is the source of a coordinator's pages.
func (x *clusterPages) page(ctx context.Context, request observe.Request) (*report.Page, error) {
	r := &remote{conn: x.conn}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	switch {
	case request.Action == "compare":
		return x.compare(ctx, r, request.Form.Get("a"), request.Form.Get("b")), nil
	case request.Sweep != "":
		return x.sweep(ctx, r, request)
	case request.Action != "":
		return nil, nil
	}
	p := &report.Page{Name: "Sweeps and workers", Kind: "Shatter coordinator", State: "This page follows the server."}
	v := x.view(ctx, r)
	for _, s := range [][2]string{
		{"problems", ""}, {"sweeps", "Sweeps"}, {"workers", "Workers"}, {"storage", "Storage"},
		{"compare", "Compare"},
	} {
		if err := add(p, s[0], s[1], v); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// view asks the server, unless it was asked a moment ago.
func (x *clusterPages) view(ctx context.Context, r *remote) clusterView {
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.at) < clusterEvery {
		return x.root
	}
	ctx = context.WithoutCancel(ctx) // other clients get the answer too
	v := clusterView{Quarantined: map[string][]string{}, Remarks: map[string]string{}}
	var left strings.Builder // descriptions of sweeps and workers that cannot be read
	var noSweeps, noWorkers error
	v.Sweeps, noSweeps = r.statuses(ctx, &left)
	v.Workers, noWorkers = r.heartbeats(ctx, &left)
	if err := errors.Join(noSweeps, noWorkers); err != nil {
		left.WriteString(err.Error())
	}
	v.Errors = strings.FieldsFunc(left.String(), func(r rune) bool { return r == '\n' })
	for _, s := range v.Sweeps {
		if s.answer != nil && s.answer.Progress != nil {
			for _, w := range s.answer.Progress.Quarantined {
				v.Quarantined[w] = append(v.Quarantined[w], s.Name)
			}
		}
	}
	for _, w := range v.Workers {
		v.Slots += w.Slots
		v.Remarks[w.Name] = remarks(w)
	}
	v.More = max(0, len(v.Sweeps)-maxClusterRows)
	v.Sweeps = v.Sweeps[:len(v.Sweeps)-v.More]
	within, cancel := context.WithTimeout(ctx, clusterEvery)
	defer cancel()
	if storage, err := x.conn.Storage(within); err == nil {
		v.Storage = &storage
	}
	x.root, x.at = v, time.Now()
	return v
}

// Done lists the sweeps that have a final result.
func (v clusterView) Done() []*sweepStatus {
	return slices.DeleteFunc(slices.Clone(v.Sweeps), func(s *sweepStatus) bool {
		return s.State != lead.Done
	})
}

// Jobs describes what a worker runs.
func (v clusterView) Jobs(w *fleet.Worker) string {
	names := map[string]string{}
	for _, s := range v.Sweeps {
		names[s.ID] = s.Name
	}
	count := map[string]int{}
	for _, h := range w.Held {
		if name := names[h.Sweep]; name != "" {
			count[name]++
		} else {
			count[h.Sweep]++
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", name, wording.Count(count[name], "job")))
	}
	return strings.Join(parts, ", ")
}

// sweep returns the page of a submitted sweep, with the report of this coordinator's folder of it,
// or carries out a form of the page.
func (x *clusterPages) sweep(
	ctx context.Context, r *remote, request observe.Request,
) (*report.Page, error) {
	record, err := r.find(ctx, request.Sweep)
	if unknown := (*queue.IDError)(nil); errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(x.dir, record.ID)
	var refused error
	if request.Action == "query" {
		c := choices{ID: record.ID, SQL: request.Form.Get("sql")}
		return queryPage(ctx, record.Submission.Name, dir, c), nil
	}
	if change := changes[request.Action]; change != nil {
		if _, refused = r.changeDesiredState(ctx, record.ID, change); refused == nil {
			return nil, nil
		}
	}
	s, err := r.status(ctx, record)
	if err != nil {
		return nil, err
	}
	v := liveView{State: s.State, Reason: s.Reason}
	if s.answer != nil {
		v.Progress = s.answer.Progress
	}
	sections := report.NoSections()
	if _, err := os.Stat(dir); err == nil {
		sections, v.Known = x.results.sections(ctx, dir, false)
	} else if s.Leader != "" {
		v.Reason = strings.TrimPrefix(v.Reason+"; its ledger is with its leader, "+s.Leader, "; ")
	}
	p, err := sweepPage(record.Submission.Name, "Shatter sweep "+record.ID, v, sections, choices{
		ID: record.ID, State: s.State, Controls: request.Controls, MayControl: request.MayControl,
	})
	p.Up = "/"
	if refused != nil {
		p.Alarm = remedied(refused)
	}
	return p, err
}

// compare returns the page that compares the results of two sweeps, as shatter compare does.
func (x *clusterPages) compare(ctx context.Context, r *remote, ids ...string) *report.Page {
	return questionPage("Comparison", "/", func(p *report.Page) error {
		var names, dirs []string
		for _, id := range ids {
			record, err := r.find(ctx, id)
			if err != nil {
				return err
			}
			dir := filepath.Join(x.dir, record.ID)
			if _, err := os.Stat(dir); err != nil || record.End == nil || !folder.HasFinalResult(dir) {
				return wrong("this coordinator has no final result of sweep %s; shatter results %s --out DIR "+
					"fetches what there is, for shatter compare", record.ID, record.ID)
			}
			names, dirs = append(names, record.Submission.Name), append(dirs, dir)
		}
		found, err := compareFolders(dirs, nil)
		if err != nil {
			return explainComparison(err)
		}
		pairs, err := found.Sheet()
		if err != nil {
			return err
		}
		p.Name = names[0] + " (A) and " + names[1] + " (B)"
		return errors.Join(add(p, "notes", "", []string{found.Summary()}),
			addTable(p, pairs, false, pairs.Len(), "shatter compare A B -o csv prints all of them."))
	})
}
