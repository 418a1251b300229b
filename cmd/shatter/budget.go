package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// budgetFlag is the value of --budget: a number of trials, or a time.
type budgetFlag struct{ coordinator.Budget }

func (f *budgetFlag) Type() string { return "N or TIME" }

func (f *budgetFlag) String() string {
	switch {
	case f.Trials > 0:
		return strconv.FormatInt(f.Trials, 10)
	case f.Time > 0:
		return wording.RoughDuration(f.Time)
	}
	return ""
}

// Set reads 50000, 5e4, 2h or 1h30m.
func (f *budgetFlag) Set(text string) error {
	f.Budget = coordinator.Budget{}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 1 && n <= 1e15 && n == math.Trunc(n) {
		f.Trials = int64(n)
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		f.Time = d
		return nil
	}
	return errors.New("a whole number of trials from 1 on (50000) or a time above 0 (2h, 1h30m, 90s) is needed")
}

const maxUndecidedListed = 5

// writePartial says which cells a budget left undecided, and what deciding them would cost.
func writePartial(w io.Writer, dir string, s *coordinator.Summary, workers int) {
	fmt.Fprintf(w, "partial: results so far in %s, digest %s: "+
		"a function of what this run could spend, not of the sweep alone\n", dir, s.Digest)
	trials, seconds := int64(0), 0.0
	for _, c := range s.Left {
		trials, seconds = trials+c.Trials, seconds+c.Seconds
	}
	fmt.Fprintf(w, "shatter: %s with %d of %d cells undecided; deciding all of them takes about %s\n",
		s.Partial, len(s.Left), s.Cells, costInWords(trials, seconds, workers))
	for _, c := range s.Left[:min(len(s.Left), maxUndecidedListed)] {
		fmt.Fprintf(w, "  %s  %s: about %s\n", c.Cell, c.What, costInWords(c.Trials, c.Seconds, 0))
	}
	if more := len(s.Left) - maxUndecidedListed; more > 0 {
		fmt.Fprintf(w, "  and %d more, none of them dearer\n", more)
	}
	fmt.Fprintln(w, "run the same command again, with another --budget or without, to go on from here")
}

// costInWords returns a predicted number of trials with their time. It gives the time on several
// workers too.
func costInWords(trials int64, seconds float64, workers int) string {
	text := roughCount(float64(trials)) + " trials, " + roughSeconds(seconds) + " of worker time"
	if workers > 1 {
		text += fmt.Sprintf(", %s on %d workers", roughSeconds(seconds/float64(workers)), workers)
	}
	return text
}

// roughCount returns a predicted number to two digits.
func roughCount(x float64) string { return wording.Thousands(float64(estimate.Roughly(x))) }

// roughSeconds returns a predicted time to two digits or so; beyond 30 years it is 30 years.
func roughSeconds(seconds float64) string {
	return wording.RoughDuration(time.Duration(min(seconds, 1e9) * float64(time.Second)))
}
