package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/shatterlab/shatter/coordinator"
)

// budgetFlag is --budget: a number of trials, or a time.
type budgetFlag struct{ coordinator.Budget }

func (f *budgetFlag) Type() string { return "N or TIME" }

func (f *budgetFlag) String() string {
	switch {
	case f.Trials > 0:
		return strconv.FormatInt(f.Trials, 10)
	case f.Time > 0:
		return coordinator.InWords(f.Time)
	}
	return ""
}

func (f *budgetFlag) Set(text string) error {
	f.Budget = coordinator.Budget{}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 1 && n <= 1e15 && n == math.Trunc(n) { // 50000, 5e4
		f.Trials = int64(n)
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		f.Time = d
		return nil
	}
	return fmt.Errorf("a whole number of trials from 1 on (50000) or a time above 0 (2h, 1h30m, 90s) is needed")
}

const mostLeft = 5 // cells that a message lists

// sayPartial says what a budget has left over, and what that would cost.
func sayPartial(w io.Writer, dir string, s *coordinator.Summary, workers int) {
	fmt.Fprintf(w, "partial: results so far in %s, digest %s: a function of what this run could spend, not of the sweep alone\n", dir, s.Digest)
	trials, seconds := int64(0), 0.0
	for _, c := range s.Left {
		trials, seconds = trials+c.Trials, seconds+c.Seconds
	}
	fmt.Fprintf(w, "shatter: %s with %d of %d cells undecided; deciding all of them takes about %s\n",
		s.Partial, len(s.Left), s.Cells, takes(trials, seconds, workers))
	for _, c := range s.Left[:min(len(s.Left), mostLeft)] {
		fmt.Fprintf(w, "  %s  %s: about %s\n", c.Cell, c.What, takes(c.Trials, c.Seconds, 0))
	}
	if more := len(s.Left) - mostLeft; more > 0 {
		fmt.Fprintf(w, "  and %d more, none of them dearer\n", more)
	}
	fmt.Fprintln(w, "run the same command again, with another --budget or without, to go on from here")
}

// takes is a number of trials and their time in words.
func takes(trials int64, seconds float64, workers int) string {
	text := digits(float64(trials)) + " trials, " + inWords(seconds) + " of CPU time"
	if workers > 1 {
		text += fmt.Sprintf(", %s on %d workers", inWords(seconds/float64(workers)), workers)
	}
	return text
}

func inWords(seconds float64) string {
	return coordinator.InWords(time.Duration(min(seconds, 1e9) * float64(time.Second)))
}

// count is a number with its thousands apart.
func count(x float64) string {
	digits := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
