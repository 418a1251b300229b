package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

//go:embed report.html
var pageText string

//go:embed report.css
var pageStyle string

//go:embed report.js
var pageScript string

// maxRows is the maximum number of rows of a table on a page. A browser lays out a few thousand
// rows per second, and the page of 90,000 rows would have 60 MB.
const maxRows = 5000

// maxFigures is the maximum number of figures on a page.
const maxFigures = 40

// A page holds the content of report.html.
type page struct {
	*Sweep
	Policy          string
	Style           template.CSS
	Script          template.HTML
	Name            string
	Partial         string   // progress of the sweep; "" if the result is complete
	Only            string   // conditions that the rows satisfy; "" if all rows are shown
	Findings        []string // see render.Findings
	Answer          []string
	Problems        []string
	Table, Slopes   tableView
	Figures, Folded []figureView
	FiguresLeft     int // number of omitted figures
	Unknown         []unknown
	Failures        []schemas.Failure
	Alarms, Refuted []string
	RunNotes        []string
	Facts           [][2]string
	Runs            []schemas.ManifestRun
	Plugins         []schemas.ManifestPlugin
	Source          string
}

type figureView struct {
	Figure
	SVG template.HTML
}

// WriteHTML writes the report as one page of HTML.
func (s *Sweep) WriteHTML(w io.Writer) error {
	if err := s.write(w); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// WriteFile atomically replaces the folder's report.html by the page, and returns its path.
func (s *Sweep) WriteFile() (path string, err error) {
	path = filepath.Join(s.dir, "report.html")
	if err := disk.WriteFile(path, s.write); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	return path, nil
}

func (s *Sweep) write(w io.Writer) error {
	t := template.New("report").Funcs(template.FuncMap{"status": symbol, "seconds": seconds, "short": shortID})
	if _, err := t.Parse(pageText); err != nil {
		return err
	}
	p, err := s.page()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(&wording.Printer{To: w}) // texts of manifest, sweep file and tables are untrusted
	return errors.Join(t.Execute(out, p), out.Flush())
}

func (s *Sweep) page() (*page, error) {
	p := &page{
		Sweep: s, Style: template.CSS(pageStyle), Name: s.manifest.Name, Source: s.source,
		Findings: render.Findings(s.table.Sheet), Answer: s.answer(),
		Partial: s.manifest.Partial,
		Table:   view(s.table, docs(result.Columns("table"), result.Columns("games")), tableOrder),
		Slopes:  view(s.fits, docs(result.Columns("fits")), slopeOrder),
	}
	p.Problems, p.Only = s.problems(), s.conditions(nil)
	p.Unknown, p.Failures, p.RunNotes = s.unknown(), s.failures(), s.runNotes()
	p.Alarms, p.Refuted = s.alarms(), s.refuted()
	p.Facts, p.Runs, p.Plugins = s.facts(), s.manifest.Runs, s.manifest.Plugins
	if err := p.addFigures(); err != nil {
		return nil, err
	}
	p.Script = template.HTML("<script>" + pageScript + "</script>") // contains nothing from the data
	sum := sha256.Sum256([]byte(pageScript))
	p.Policy = fmt.Sprintf("default-src 'none'; script-src 'sha256-%s'; style-src 'unsafe-inline'; form-action 'none'; "+
		"base-uri 'none'", base64.StdEncoding.EncodeToString(sum[:]))
	return p, nil
}

// addFigures draws the figures. The learning curves of a search and the metrics are folded.
func (p *page) addFigures() error {
	measures, err := p.wanted(nil)
	if err != nil {
		return err
	}
	for _, name := range p.metrics() {
		measures = append(measures, p.metric(name))
	}
	used := map[string]int{}
	for _, m := range measures {
		to := &p.Figures
		if m.kind == kindMetric || m.kind == kindError && !p.listed() {
			to = &p.Folded
		}
		for _, f := range p.draw(m, Choice{}, used) {
			if len(p.Figures)+len(p.Folded) == maxFigures {
				p.FiguresLeft++
				continue
			}
			svg, err := f.inline()
			if err != nil {
				return err
			}
			*to = append(*to, figureView{f, svg})
		}
	}
	return nil
}

// A tableView is the table for reading, as the terminal shows it.
type tableView struct {
	name         string // name of its sheet
	Above, Below []string
	Columns      []schemas.Column
	Rows         [][]tableValue
	All          int // number of rows of the table; the page shows at most maxRows
	Statuses     []string
}

// Cut describes which rows are not on the page, and how to see them; "": the page shows all.
func (v tableView) Cut() string {
	if v.All <= len(v.Rows) {
		return ""
	}
	return fmt.Sprintf("These are the first %s of %s rows. shatter table DIR --what %s -o csv prints all of them, and "+
		"shatter report DIR --where CONDITION --out FILE makes a page of some.", wording.Thousands(float64(len(v.Rows))),
		wording.Thousands(float64(v.All)), v.name)
}

type tableValue struct {
	Text           string
	Number, Status bool
	Long           bool // the text wraps
}

// Orders of the page's columns. Columns without a name here take the place of the star, so that the
// answer is next to its setting even if a setting has many parameters.
var (
	tableOrder = append(settingColumns(),
		"rounds", "search", "search_n", "search_insufficient", "search_sufficient", "search_theory", "n_star", "n_low",
		"n_high",
		"regret_mean", "regret_low", "regret_high", "mistakes_mean", "mistakes_max", "status",
		"n_model", "n_model_low", "n_model_high", "theory_n", "theory_regret", "ratio_low",
		"ratio_high", "ratio_model", "paper_n", "paper_regret", "*", "cell",
	)
	slopeOrder = []string{
		"algorithm", "group", "model", "term", "estimate", "estimate_se", "estimate_low", "estimate_high", "theory_estimate",
		"claimed", "verdict", "goodness", "y", "cells", "reason", "*", "fit",
	}
)

// settingColumns returns the key columns that precede the answer.
func settingColumns() (names []string) {
	later := []string{"cell", "task", "privacy", "privacy_standing", "reference", "replica", "sample"}
	for _, k := range trial.KeyColumns() {
		if !slices.Contains(later, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

func docs(columns ...[]schemas.Column) map[string]string {
	all := map[string]string{}
	for _, c := range slices.Concat(columns...) {
		if all[c.Name] == "" {
			all[c.Name] = c.Doc
		}
	}
	return all
}

func view(f *frame, docs map[string]string, order []string) (v tableView) {
	above, below, shown, text := render.Summary(f.Sheet)
	v.name, v.Above, v.Below, v.All = f.Name, above, below, f.Len()
	places := make([]int, len(shown)) // indices into a row of Summary, in the order of the page
	for i := range places {
		places[i] = i
	}
	rank := func(place int) int {
		if i := slices.Index(order, f.Columns[shown[place]].Name); i >= 0 {
			return i
		}
		return slices.Index(order, "*")
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	for _, place := range places {
		c := f.Columns[shown[place]]
		if c.Doc = docs[c.Name]; c.Doc == "" && trial.IsParam(c.Name) {
			c.Doc = "parameter " + strings.TrimPrefix(c.Name, schemas.ParamPrefix)
		}
		v.Columns = append(v.Columns, c)
	}
	for i := range min(v.All, maxRows) {
		line := make([]tableValue, len(places))
		for j, place := range places {
			text := text(i, place)
			line[j] = tableValue{text, v.Columns[j].Type == schemas.IntColumn || v.Columns[j].Type == schemas.FloatColumn,
				v.Columns[j].Name == "status" && text != "-", len(text) > 60}
		}
		v.Rows = append(v.Rows, line)
		if status := f.text(i, "status"); status != "" && !slices.Contains(v.Statuses, status) {
			v.Statuses = append(v.Statuses, status)
		}
	}
	return v
}

// symbol returns a sign for a status, so that the page does not depend on color alone.
func symbol(status string) string {
	if s, ok := map[string]string{"decided": "✓", "above_range": "↑", "below_range": "↓", "infeasible": "∅",
		"trivial": "=", "failed": "✗", "not_monotone": "⌇"}[status]; ok {
		return s
	}
	return "?"
}

func seconds(s float64) string {
	if s < 60 {
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

func shortID(digest string) string { return digest[:min(len(digest), 16)] }

// facts describes how the result was made, as names and values.
func (s *Sweep) facts() (all [][2]string) {
	m := s.manifest
	add := func(name, value string) {
		if value != "" {
			all = append(all, [2]string{name, value})
		}
	}
	add("digest of the result", m.Digest)
	if len(m.Runs) > 0 {
		add("seed", m.Seed.String())
	}
	add("float profile", m.Profile)
	for _, name := range []string{"version", "file", "host", "cores", "workers", "queue"} {
		add(name, m.Facts[name])
	}
	return all
}

func percent(p float64) string { return strconv.FormatFloat(100*p, 'g', 4, 64) + " %" }

// span returns the minimum and maximum of the numbers that are not NaN, and their count.
func span(values []float64) (low, high float64, n int) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v == v {
			low, high, n = min(low, v), max(high, v), n+1
		}
	}
	return low, high, n
}
