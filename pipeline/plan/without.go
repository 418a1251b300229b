package plan

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// describePriors describes how well learners without data do in some cells.
func describePriors(cells []*trial.Cell) (lines []string) {
	drawn, unknown, trivial := 0, 0, 0
	var least, most float64 // success in the cells whose target is drawn
	var why string          // reason for the first trivial cell
	for _, c := range cells {
		switch {
		case !c.CanSucceed():
		case c.Prior == nil:
			unknown++
		case c.Prior.Drawn: // the others are calibrations, as the target line says
			if drawn++; drawn == 1 {
				least, most = c.Prior.Success, c.Prior.Success
			}
			least, most = min(least, c.Prior.Success), max(most, c.Prior.Success)
		}
		if c.Trivial() {
			if trivial++; trivial == 1 {
				why = c.DescribePrior()
			}
		}
	}
	const floor = 1e-4 // smaller shares are shown as "less than"
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch low, high := wording.Percent(least), wording.Percent(most); {
	case drawn == 0:
	case most < floor:
		add("a learner without data succeeds in less than %s of trials", wording.Percent(floor))
	case least < floor:
		add("a learner without data succeeds in at most %s of trials", high)
	case low == high:
		add("a learner without data succeeds in %s of trials", high)
	default:
		add("a learner without data succeeds in %s to %s of trials", low, high)
	}
	if trivial > 0 {
		add("%s trivial and without n*, because %s", wording.CountOf(trivial, "cell is", "cells are"), why)
	}
	if unknown > 0 {
		add("the success of a learner without data is unknown in %s", wording.Count(unknown, "cell"))
	}
	return lines
}
