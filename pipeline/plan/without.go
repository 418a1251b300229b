package plan

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// priorWords collects what a learner without data reaches in some cells.
type priorWords struct {
	drawn, unknown int // cells whose target is drawn, and for which the rest is known; cells for which it is not
	least, most    float64
	trivial        int
	why            string // why the first of these is trivial
}

// add adds a cell.
func (p *priorWords) add(c *trial.Cell) {
	one := priorWords{}
	switch {
	case !c.CanSucceed():
	case c.Prior == nil:
		one.unknown = 1
	case c.Prior.Drawn: // the rest are calibrations, as the words about the target say
		one.drawn, one.least, one.most = 1, c.Prior.Success, c.Prior.Success
	}
	if c.Trivial() {
		one.trivial, one.why = 1, c.WithoutData()
	}
	p.join(one)
}

// join adds other cells.
func (p *priorWords) join(q priorWords) {
	switch {
	case p.drawn == 0:
		p.least, p.most = q.least, q.most
	case q.drawn > 0:
		p.least, p.most = min(p.least, q.least), max(p.most, q.most)
	}
	if p.trivial == 0 {
		p.why = q.why
	}
	p.drawn, p.unknown, p.trivial = p.drawn+q.drawn, p.unknown+q.unknown, p.trivial+q.trivial
}

// lines says it in sentences.
func (p *priorWords) lines() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if least, most := wording.Percent(p.least), wording.Percent(p.most); p.drawn > 0 && least == most {
		add("a learner without data succeeds in %s of trials", most)
	} else if p.drawn > 0 {
		add("a learner without data succeeds in %s to %s of trials", least, most)
	}
	if p.trivial > 0 {
		add("%s trivial, with no n*: %s", wording.CountOf(p.trivial, "cell is", "cells are"), p.why)
	}
	if p.unknown > 0 {
		add("what a learner without data reaches is not known in %s", wording.Count(p.unknown, "cell"))
	}
	return lines
}
