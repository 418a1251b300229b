package report

import (
	"bufio"
	"cmp"
	"compress/gzip"
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
	"sync"
	"time"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

//go:embed report.html
var pageText string

//go:embed report.css
var pageStyle string

//go:embed report.js
var pageScript string

// Limits of a page.
const (
	maxRows      = 5000 // rows of a table; a browser lays out a few thousand per second
	maxLiveRows  = 1000
	maxShownRows = 100 // rows that the page shows before the reader asks for the others
	maxFigures   = 40

	// Size of the figures that are not folded, and of the folded ones, packed.
	maxShownBytes  = 60 << 10
	maxLiveBytes   = 24 << 10
	maxPackedBytes = 60 << 10
)

// A Page is a page of HTML: a file, or the state of a process that a browser follows.
type Page struct {
	Name, Kind string
	Up         string // path of the page from which the reader comes; "": none
	Served     bool   // a process serves the page and answers its forms
	Live       string // URL of the server-sent events that replace its sections; "": none
	State      string // a live page's first line
	Alarm      string // reason why a request of the reader was refused; "": none was
	Ended      bool   // the live page will not change any more
	Sections   []Section
}

// A Section is a part of a page that is replaced as a whole. Pages hide empty sections.
type Section struct {
	ID, Title string
	HTML      template.HTML
}

// templates returns the templates of the page, which are parsed once.
var templates = sync.OnceValues(func() (*template.Template, error) {
	t := template.New("")
	t.Funcs(template.FuncMap{
		"status": symbol, "seconds": seconds, "short": shortID,
		"pack": func(name string, data any) (string, error) { return pack(t, name, data) },
	})
	return t.Parse(pageText)
})

// NewSection renders the section id with the template of this name.
func NewSection(t *template.Template, id, title string, data any) (Section, error) {
	var b strings.Builder
	err := t.ExecuteTemplate(&wording.Printer{To: &b}, id, data) // texts of tables and plugins are untrusted
	return Section{id, title, template.HTML(strings.TrimSpace(b.String()))}, err
}

// Nav returns the links to the sections, as the content of the page's element nav.
func (p *Page) Nav() (Section, error) {
	t, err := templates()
	if err != nil {
		return Section{}, err
	}
	return NewSection(t, "nav", "", p)
}

// Policy returns the content security policy of the page.
func (p *Page) Policy() string {
	sum := sha256.Sum256([]byte(pageScript))
	forms := "none"
	if p.Served {
		forms = "self"
	}
	policy := fmt.Sprintf("default-src 'none'; script-src 'sha256-%s'; style-src 'unsafe-inline'; "+
		"form-action '%s'; base-uri 'none'", base64.StdEncoding.EncodeToString(sum[:]), forms)
	if p.Live != "" {
		policy += "; connect-src 'self'"
	}
	return policy
}

// Style returns the style sheet, which contains nothing from the data.
func (p *Page) Style() template.CSS { return template.CSS(pageStyle) }

// Script returns the script with its element. It contains nothing from the data.
func (p *Page) Script() template.HTML { return template.HTML("<script>" + pageScript + "</script>") }

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	t, err := templates()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(&wording.Printer{To: w})
	return errors.Join(t.ExecuteTemplate(out, "page", p), out.Flush())
}

// WriteHTML writes the report as one page of HTML.
func (s *Sweep) WriteHTML(w io.Writer) error {
	p, err := s.Page()
	if err == nil {
		err = p.Write(w)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// WriteFile atomically replaces the folder's report.html by the page, and returns its path.
func (s *Sweep) WriteFile() (path string, err error) {
	path = filepath.Join(s.dir, "report.html")
	return path, disk.WriteFile(path, s.WriteHTML)
}

// sections lists the sections of a report, with their titles.
var sections = [][2]string{
	{"answer", ""}, {"deciding", "Being decided"}, {"figures", "Figures"}, {"more", ""}, {"table", "Table"},
	{"problems", "Problems"}, {"slopes", "Fits"}, {"unknown", "What is not known"}, {"made", "How it was made"},
}

// NoSections returns the sections of a report that has no results yet. They are empty.
func NoSections() (all []Section) {
	for _, x := range sections {
		all = append(all, Section{ID: x[0], Title: x[1]})
	}
	return all
}

// Page returns the report of the sweep.
func (s *Sweep) Page() (*Page, error) {
	v, err := s.view()
	if err != nil {
		return nil, err
	}
	t, err := templates()
	if err != nil {
		return nil, err
	}
	p := &Page{Name: v.Name, Kind: "Shatter report"}
	for _, x := range sections {
		section, err := NewSection(t, x[0], x[1], v)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, section)
	}
	return p, nil
}

// A view holds the content of report.html.
type view struct {
	*Sweep
	Name            string
	Partial         string   // progress of the sweep; "" if the result is complete
	Only            string   // conditions that the rows satisfy; "" if all rows are shown
	Findings        []string // see render.Findings
	Answer          []string
	Problems        []string
	Deciding        []deciding
	Open            int // number of cells that are being decided
	Table, Slopes   tableView
	Figures, Folded []figureView
	FiguresLeft     int // number of omitted figures
	Unknown         []unknown
	Failures        []failureKind
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

func (s *Sweep) view() (*view, error) {
	most := maxRows
	if s.Live {
		most = maxLiveRows
	}
	v := &view{
		Sweep: s, Name: s.manifest.Name, Source: s.source,
		Findings: render.Findings(s.table.Sheet), Answer: s.answer(),
		Partial: s.manifest.Partial,
		Table:   newTableView(s.table, docs(result.Columns("table"), result.Columns("games")), tableOrder, most),
		Slopes:  newTableView(s.fits, docs(result.Columns("fits")), slopeOrder, maxRows),
	}
	if s.listed() {
		v.Findings = append(v.Findings, render.Findings(s.curve.Sheet)...)
	}
	v.Table.drawBars(s.table)
	if s.manifest.Partial != "" {
		v.addDeciding()
	}
	v.Problems, v.Only = s.problems(), s.conditions(nil)
	v.Unknown, v.Failures, v.RunNotes = s.unknown(), s.failures(), s.runNotes()
	v.Alarms, v.Refuted = s.alarms(), s.refuted()
	v.Facts, v.Runs, v.Plugins = s.facts(), s.manifest.Runs, s.manifest.Plugins
	return v, v.addFigures()
}

// addFigures draws the figures, in each quantity those with the most values along x first. The
// learning curves of a search, the metrics, and figures beyond maxShownBytes are folded.
func (v *view) addFigures() error {
	measures, err := v.wanted(nil)
	if err != nil {
		return err
	}
	for _, name := range v.metrics() {
		measures = append(measures, v.metric(name))
	}
	used := map[string]int{}
	shown, packed, most := 0, 0, maxShownBytes
	if v.Live {
		most = maxLiveBytes
	}
	for _, m := range measures {
		figures := v.draw(m, Choice{}, used)
		slices.SortStableFunc(figures, func(a, b Figure) int { return b.longest() - a.longest() })
		for _, f := range figures {
			if len(v.Figures)+len(v.Folded) == maxFigures || packed > maxPackedBytes {
				v.FiguresLeft++
				continue
			}
			svg, err := f.inline()
			if err != nil {
				return err
			}
			fold := m.kind == kindMetric || m.kind == kindError && !v.listed()
			if fold || shown > 0 && shown+len(svg) > most {
				v.Folded, packed = append(v.Folded, figureView{f, svg}), packed+len(svg)/7 // as gzip and base64
				continue
			}
			v.Figures, shown = append(v.Figures, figureView{f, svg}), shown+len(svg)
		}
	}
	return nil
}

// longest returns the largest number of points of a line.
func (f *Figure) longest() (n int) {
	for _, l := range f.Lines {
		n = max(n, len(l.Points))
	}
	return n
}

// pack renders a template, compressed, for the page's script to expand when the reader asks for it.
func pack(t *template.Template, name string, data any) (string, error) {
	var b strings.Builder
	text := base64.NewEncoder(base64.StdEncoding, &b)
	z, _ := gzip.NewWriterLevel(text, gzip.BestCompression) // only a wrong level is an error
	err := t.ExecuteTemplate(&wording.Printer{To: z}, name, data)
	err = errors.Join(err, z.Close(), text.Close())
	return b.String(), err
}

// NewTable returns the section "table" with a sheet, as the terminal shows it or, if whole is set,
// with every column and digit. The sheet has the first of all rows; rest names a way to the others.
func NewTable(s *sheet.Sheet, whole bool, all int, rest string) (Section, error) {
	t, err := templates()
	if err != nil {
		return Section{}, err
	}
	var v tableView
	if f := newFrame(s); whole {
		v.fill(f, s.Columns, func(row, column int) string {
			return cmp.Or(wording.OneLine(sheet.Text(s.At(row, column)), maxText), "-")
		}, maxRows)
	} else {
		v = newTableView(f, nil, nil, maxRows)
	}
	v.All, v.rest = all, rest
	return NewSection(t, "table", "Table", view{Table: v})
}

// maxText is the maximum number of characters of a value in a table.
const maxText = 1000

// A tableView is the table for reading, as the terminal shows it.
type tableView struct {
	rest         string // sentence that names a way to the rows that are not on the page
	Above, Below []string
	Columns      []schemas.Column
	Rows         []tableRow
	All          int // number of rows of the table; the page has at most maxRows
	Statuses     []string
}

// A tableRow is a row of a page. ID is the cell in the first of its rows, and otherwise "".
type tableRow struct {
	ID     string
	Values []tableValue
}

type tableValue struct {
	Text                 string
	Number, Status, Cell bool
	Long                 bool // the text wraps
	Bar                  template.HTML
}

// First and Rest divide the rows into those that the page shows at first and the others.
func (v tableView) First() []tableRow { return v.Rows[:min(len(v.Rows), maxShownRows)] }
func (v tableView) Rest() []tableRow  { return v.Rows[len(v.First()):] }

// Cut describes which rows are not on the page, and how to see them; "": the page has all.
func (v tableView) Cut() string {
	if v.All <= len(v.Rows) {
		return ""
	}
	return fmt.Sprintf("These are the first %s of %s rows. %s", wording.Thousands(float64(len(v.Rows))),
		wording.Thousands(float64(v.All)), v.rest)
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

func newTableView(f *frame, docs map[string]string, order []string, most int) (v tableView) {
	above, below, shown, text := render.Summary(f.Sheet)
	v.Above, v.Below = above, below
	v.rest = fmt.Sprintf("shatter table DIR --what %s -o csv prints all of them, and "+
		"shatter report DIR --where CONDITION --out FILE makes a page of some.", f.Name)
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
	var columns []schemas.Column
	for _, place := range places {
		c := f.Columns[shown[place]]
		if c.Doc = docs[c.Name]; c.Doc == "" && trial.IsParam(c.Name) {
			c.Doc = "parameter " + strings.TrimPrefix(c.Name, schemas.ParamPrefix)
		}
		columns = append(columns, c)
	}
	v.fill(f, columns, func(row, column int) string { return text(row, places[column]) }, most)
	return v
}

// fill adds at most the given number of rows, in which text returns the value in a column.
func (v *tableView) fill(
	f *frame, columns []schemas.Column, text func(row, column int) string, most int,
) {
	v.Columns, v.All = columns, f.Len()
	seen := map[string]bool{"": true}
	for i := range min(v.All, most) {
		line := tableRow{Values: make([]tableValue, len(columns))}
		for j, c := range columns {
			text := text(i, j)
			line.Values[j] = tableValue{
				Text: text, Number: c.Type == schemas.IntColumn || c.Type == schemas.FloatColumn,
				Status: c.Name == "status" && text != "-", Cell: c.Name == "cell", Long: len(text) > 60,
			}
		}
		if id := f.text(i, "cell"); !seen[id] {
			line.ID, seen[id] = id, true
		}
		v.Rows = append(v.Rows, line)
		if status := f.text(i, "status"); status != "" && !slices.Contains(v.Statuses, status) {
			v.Statuses = append(v.Statuses, status)
		}
	}
}

// symbol returns a sign for a status, so that the page does not depend on color alone.
func symbol(status string) string {
	if s, ok := map[string]string{"decided": "✓", "above_range": "↑", "below_range": "↓", "infeasible": "∅",
		"trivial": "=", "measured": "✓", "failed": "✗", "not_monotone": "⌇"}[status]; ok {
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
