package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/shatterlab/shatter/cmd/shatter/observe"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/result/query"
	"github.com/shatterlab/shatter/pipeline/result/report"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// changes lists the changes of a sweep that a page offers, by the names of their commands.
var changes = map[string]func(*lead.Record, *lead.DesiredState) error{
	"pause": pause, "cancel": cancel,
	"resume": func(x *lead.Record, w *lead.DesiredState) error { return resume(x, w, false) },
}

// choices describes the actions that the page of a sweep offers to its reader.
type choices struct {
	ID         string // ID of the sweep; "": the process runs only one
	State      string // state of the sweep
	Controls   bool   // the reader may control the sweep
	MayControl bool   // the reader may after giving a token
	Result     bool   // there is a result to query
	SQL        string // query that the reader has asked
}

// Path returns the path of the page.
func (c choices) Path() string { return observe.PathOf(c.ID) }

// Action returns the path of a form of the page.
func (c choices) Action(name string) string {
	return strings.TrimSuffix(c.Path(), "/") + "/" + name
}

// Can lists the commands that make sense in the state of the sweep.
func (c choices) Can() []string {
	switch c.State {
	case lead.Running, lead.Waiting:
		return []string{"pause", "cancel"}
	case lead.Paused:
		return []string{"resume", "cancel"}
	case lead.Cancelled, lead.Failed:
		return []string{"resume"}
	}
	return nil
}

// Limits of a query that a reader of a page asks. A question is one query or one comparison.
const (
	queryTime     = 20 * time.Second
	queryMemory   = "256MB"
	maxQuestion   = 90 * time.Second // includes reading the ledger of a sweep that has not ended
	maxQuestions  = 2                // at the same time
	maxAnswerRows = 1000
	maxAnswerSize = 1 << 20 // bytes
)

// questions holds an element for each running question.
var questions = make(chan struct{}, maxQuestions)

// questionPage returns the page on which ask has added the answer to a question, or the reason why
// there is none. up is the path of the page that the reader comes from.
func questionPage(name, up string, ask func(*report.Page) error) *report.Page {
	p := &report.Page{Name: name, Kind: "Shatter answer", Up: up}
	select {
	case questions <- struct{}{}:
		defer func() { <-questions }()
		if err := ask(p); err != nil {
			p.Alarm = remedied(err)
		}
	default:
		p.Alarm = fmt.Sprintf("%d questions are being answered; ask again in a moment", maxQuestions)
	}
	return p
}

// queryPage returns the page that answers a query over the result in an output folder.
func queryPage(ctx context.Context, name, dir string, c choices) *report.Page {
	return questionPage(name, c.Path(), func(p *report.Page) error {
		c.Result = true
		if err := add(p, "query", "SQL", c); err != nil {
			return err
		}
		first, all, notes, err := askQuery(ctx, dir, c.SQL)
		if err != nil {
			return err
		}
		return errors.Join(add(p, "notes", "", notes), addTable(p, first, true, all,
			"Use limit, or shatter query DIR SQL -o csv, which prints all of them."))
	})
}

// addTable adds a table to a page.
func addTable(p *report.Page, s *sheet.Sheet, whole bool, all int, rest string) error {
	section, err := report.NewTable(s, whole, all, rest)
	p.Sections = append(p.Sections, section)
	return err
}

// askQuery returns the first rows of the answer to a query, the number of all rows, and notes about
// them. The query is a process of its own: DuckDB cannot interrupt or limit every call, and this
// process must survive.
func askQuery(ctx context.Context, dir, sql string) (
	first *sheet.Sheet, all int, notes []string, err error,
) {
	self, err := builtin()
	if err != nil {
		return nil, 0, nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, 0, nil, err
	}
	ctx, stop := context.WithTimeout(ctx, maxQuestion)
	defer stop()
	cmd := exec.CommandContext(ctx, self.Path, "query", dir, "-", "-o", "arrow", "--threads", "1",
		"--memory", queryMemory, "--timeout", queryTime.String())
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(sql), &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, nil, err
	}
	first, all, unread := query.ReadFirst(out, maxAnswerRows, maxAnswerSize)
	if unread != nil {
		stop() // the process may wait for a reader
	}
	failed := cmd.Wait()
	text := strings.TrimSpace(strings.ReplaceAll(stderr.String(), "shatter: ", ""))
	switch {
	case failed != nil && text != "":
		return nil, 0, nil, errors.New(text)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, 0, nil, fmt.Errorf("there was no answer within %v", maxQuestion)
	case failed != nil || unread != nil:
		return nil, 0, nil, cmp.Or(failed, unread)
	}
	return first, all, strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), nil
}
