package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/prior"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// answer says in sentences what the sweep found.
func (s *Sweep) answer() []string {
	if s.table.Len() == 0 {
		return []string{"The sweep has no cells."}
	}
	if s.online() {
		return s.gamesAnswer()
	}
	algorithms, problems := map[string]bool{}, map[string]bool{}
	count := map[string]int{}
	held, bounded := 0, 0
	var least, most []float64
	for row := range s.table.Len() {
		algorithms[s.table.text(row, "algorithm")] = true
		class, file, data := s.table.text(row, "class"), s.table.text(row, "file"), s.table.text(row, "data")
		problems[class+" "+file+" "+data] = true
		count[s.table.text(row, "status")]++
		if s.table.value(row, "theory_n") != nil || s.table.value(row, "find_theory") != nil {
			bounded++
			held += btoi(s.table.value(row, "contradicts") == nil)
		}
		if high := s.table.number(row, "ratio_high"); !math.IsNaN(high) {
			least, most = append(least, s.table.number(row, "ratio_low")), append(most, high)
		}
	}
	question, cells := "How many examples suffice?", [2]string{"cell", "cells"}
	if s.onlySearches() {
		question, cells = "What suffices at a given n?", [2]string{"search", "searches"}
	}
	what := fmt.Sprintf("%s Measured for %s in %s on %s.", question,
		wording.Count(len(algorithms), "algorithm"), wording.CountOf(s.table.Len(), cells[0], cells[1]),
		wording.CountOf(len(problems), "concept class or population", "concept classes or populations"))
	all := []string{what, s.decided(count)}
	low, _, _ := span(least)
	if _, high, ratioed := span(most); ratioed > 0 {
		all = append(all, fmt.Sprintf("Where a bound stands beside a bracket (%s), n* is between %s and %s times the bound.",
			wording.Count(ratioed, "cell"), text(round(low)), text(round(high))))
	}
	return append(all, s.verdict(held, bounded, "what is shown insufficient")...)
}

// verdict says how many rows are consistent with their bounds: held of bounded.
func (s *Sweep) verdict(held, bounded int, what string) (lines []string) {
	if held > 0 {
		lines = append(lines, fmt.Sprintf("%s consistent with the bounds that hold there.",
			wording.CountOf(held, "row is", "rows are")))
	}
	if bounded > held {
		lines = append(lines, fmt.Sprintf("%s contradicted: %s is more than is allowed by %s. The bound, its premises "+
			"or the algorithm is wrong; the column contradicts says which bounds.",
			wording.CountOf(bounded-held, "row has a bound", "rows have bounds"), what,
			trial.RefutedBounds(s.refutedStandings())))
	}
	return lines
}

// refutedStandings returns the standings of the bounds that rows of the table refute.
func (s *Sweep) refutedStandings() (standings []string) {
	for row := range s.table.Len() {
		if s.table.value(row, "contradicts") != nil {
			standings = append(standings, s.table.text(row, "theory_standing"))
		}
	}
	return standings
}

// decided says in a sentence how many cells are decided, and how sure the brackets are.
func (s *Sweep) decided(count map[string]int) string {
	var parts []string
	for status, n := range count {
		if status != "decided" && status != "" {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(status, "_", " ")))
		}
	}
	slices.Sort(parts)
	cells := "cells"
	if s.onlySearches() || s.online() {
		cells = "searches"
	}
	total := 0
	for _, n := range count {
		total += n
	}
	text := fmt.Sprintf("%d of %d %s are decided", count["decided"], total, cells)
	if len(parts) > 0 {
		text += " (others: " + strings.Join(parts, ", ") + ")"
	}
	if count["decided"] == 0 {
		return text + "."
	}
	brackets := "n_low examples were shown insufficient and n_high = n* sufficient. "
	if len(s.searches) > 0 {
		other := "find_insufficient was shown insufficient at find_n examples and find_sufficient sufficient. "
		if s.online() {
			other = "find_insufficient was shown insufficient and find_sufficient sufficient: a game is a success where its " +
				"regret per round is at most alpha. "
		}
		if s.onlySearches() || s.online() {
			brackets = other
		} else {
			brackets += "Where another number was searched for, " + other
		}
	}
	return text + ": " + brackets + s.confidence()
}

// onlySearches reports whether all that was searched for are other numbers than n.
func (s *Sweep) onlySearches() bool { return len(s.searches) > 0 && s.sized.Len() == 0 }

// confidence says how sure all brackets of the table are together.
func (s *Sweep) confidence() string {
	var all []float64
	for _, m := range s.measures {
		c := 0.95 // of a list of sample sizes
		if m.Find != nil {
			c = m.Find.Confidence
		}
		if m.Over != nil {
			c = m.Over.Confidence
		}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	switch len(all) {
	case 0:
		return "The brackets hold all at once, with the confidence that the sweep file asks for."
	case 1:
		return fmt.Sprintf("With confidence %s all brackets of the table hold at once.", percent(all[0]))
	}
	return fmt.Sprintf("With confidence at least %s each grid's brackets hold at once.", percent(slices.Min(all)))
}

func (s *Sweep) gamesAnswer() []string {
	algorithms, count := map[string]bool{}, map[string]int{}
	sequences, held, bounded := 0.0, 0, 0
	for row := range s.sized.Len() {
		algorithms[s.sized.text(row, "algorithm")] = true
		sequences += s.sized.number(row, "trials")
		if s.sized.value(row, "theory_regret") != nil && s.sized.value(row, "find") == nil { // the others are not compared
			bounded++
			held += btoi(s.sized.value(row, "contradicts") == nil)
		}
	}
	all := []string{fmt.Sprintf("How many mistakes, and how much regret? %s played %.0f sequences in %s.",
		wording.Count(len(algorithms), "algorithm"), sequences,
		wording.Count(s.sized.Len(), "setting"))}
	for row := range s.table.Len() {
		if s.table.value(row, "find") != nil {
			count[s.table.text(row, "status")]++
		}
	}
	if len(count) > 0 {
		all = append(all, s.decided(count))
	}
	intervals := "Each regret is a mean over sequences with its own 95 % confidence interval (Student); the intervals " +
		"do not hold all at once"
	if len(count) > 0 {
		intervals += ", nor count that a search has chosen the number of sequences after it looked at some"
	}
	all = append(all, intervals+".")
	return append(all, s.verdict(held, bounded, "the mean regret")...)
}

// problems says of each problem who labels its points, and what its data are like.
func (s *Sweep) problems() (all []string) {
	said, drawn := map[string]bool{}, false
	for row := range s.table.Len() {
		p := schemas.Problem{
			Class: s.table.text(row, "class"), Distribution: s.table.text(row, "distribution"),
			Target: s.table.text(row, "target"), Disguise: s.table.value(row, "disguise") == true,
		}
		rounds, data := "", s.table.text(row, "data")
		if s.online() {
			rounds, _, _ = strings.Cut(s.table.text(row, "adversary"), " ")
		} else if p.Target == "" && data == "" {
			continue // an earlier release, whose table did not say
		}
		words, target := problem.Labels(&p, rounds)
		who := "the labels are "
		if target {
			who = "the target is "
		}
		drawn = drawn || target && prior.Drawn(&p)
		of := strings.Fields(strings.Join([]string{p.Class, p.Distribution, s.table.text(row, "file"), data}, " "))
		line := strings.Join(of, " ") + ": " + who + words
		if positive := s.table.number(row, "positive_share"); positive == positive {
			rows := trial.Population{Positive: positive, Pulled: s.table.number(row, "pulled_share")}
			line += "; " + rows.String()
		}
		if !said[line] {
			said[line] = true
			all = append(all, line+".")
		}
	}
	if drawn {
		all = append(all, "Where the target is drawn, "+problem.OverTargets+".")
	}
	return all
}

// unknown is a kind of thing that the sweep does not tell, with the cells that it concerns.
type unknown struct {
	Status, What string
	Cells        []string // at most maxListed
	More         int
}

// maxListed is the largest number of cells that are named of one kind.
const maxListed = 12

func (s *Sweep) unknown() []unknown {
	var all []unknown
	index := map[string]int{}
	note := func(row int, status, what string) {
		i, ok := index[status+what]
		if !ok {
			i = len(all)
			index[status+what] = i
			all = append(all, unknown{Status: status, What: what})
		}
		if u := &all[i]; len(u.Cells) < maxListed {
			u.Cells = append(u.Cells, s.table.text(row, "cell")+" "+s.table.text(row, "algorithm"))
		} else {
			u.More++
		}
	}
	if looks := s.manifest.Looks; looks != nil {
		for _, line := range looks.Notes {
			all = append(all, unknown{What: line})
		}
	}
	for row := range s.table.Len() {
		if status := s.table.text(row, "status"); status != "decided" && status != "" {
			note(row, status, s.why(row, status))
		}
	}
	for row := range s.table.Len() {
		if n := s.table.number(row, "failed"); n > 0 {
			note(row, "", "Some trials failed: they count as no success.")
		}
		switch s.table.text(row, "privacy_standing") {
		case trial.NotCertified:
			note(row, "", "Privacy is not certified: the budget is only what a paper prints, and nothing here is proved of it.")
		case trial.Declared:
			note(row, "", "Privacy is declared: it is the word of the plugin's author, and nobody here has proved it.")
		}
	}
	theory := "theory_n"
	if s.online() {
		theory = "theory_regret"
	}
	for row := range s.table.Len() {
		if s.table.value(row, theory) == nil && !(s.online() && s.table.value(row, "find") != nil) {
			note(row, "", "No finite bound is known here, neither a proved nor a declared one.")
		}
		if e := s.table.text(row, "evaluation"); e != "" && e != "exact" {
			note(row, "", "Errors are not exact: each is measured "+problem.HowMeasured(e)+".")
		}
	}
	return all
}

// why returns a status in words.
func (s *Sweep) why(row int, status string) string {
	if reason := s.table.text(row, "reason"); reason != "" {
		return strings.ReplaceAll(status, "_", " ") + ": " + reason
	}
	switch status {
	case "above_range":
		return "above range: the largest sample size of the search was shown insufficient"
	case "below_range":
		return "below range: the smallest sample size of the search was shown sufficient"
	}
	return strings.ReplaceAll(status, "_", " ")
}

// mostFailures is the number of rows up to which the page lists failures.
const mostFailures = 50

// failures returns what failed in each cell, and why. Results of earlier versions have only the
// failures of the last run, the first of each kind.
func (s *Sweep) failures() (all []schemas.Failure) {
	names := map[string]string{}
	for row := range s.table.Len() {
		names[s.table.text(row, "cell")] = s.table.text(row, "algorithm")
	}
	f := s.failed
	for row := range f.Len() {
		if row == mostFailures {
			return append(all, schemas.Failure{What: fmt.Sprintf("%d more: shatter query DIR \"from failures\"",
				f.Len()-row), Count: int64(f.Len() - row)})
		}
		all = append(all, schemas.Failure{
			Kind: strings.TrimSpace(f.text(row, "status") + ": " + f.text(row, "kind")), Count: int64(f.number(row, "trials")),
			Trial: f.text(row, "first"), Reason: f.text(row, "reason"),
			What: fmt.Sprintf("%s at n = %.0f", names[f.text(row, "cell")], f.number(row, "n")),
		})
	}
	if len(all) > 0 {
		return all
	}
	if n := len(s.manifest.Runs); n > 0 {
		return s.manifest.Runs[n-1].Failures
	}
	return nil
}

func (s *Sweep) alarms() (all []string) {
	for _, r := range s.manifest.Runs {
		for _, a := range r.Alarms {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// refuted names the bounds that rows of the table refute.
func (s *Sweep) refuted() (all []string) {
	for row := range s.table.Len() {
		if what := s.table.text(row, "contradicts"); what != "" {
			all = append(all, fmt.Sprintf("%s (cell %s): %s.", s.table.text(row, "algorithm"), s.table.text(row, "cell"), what))
		}
	}
	return all
}

// runNotes returns what happened to plugins and jobs, at most 50 notes.
func (s *Sweep) runNotes() (all []string) {
	for _, r := range s.manifest.Runs {
		all = append(all, r.Notes...)
	}
	return all[:min(len(all), 50)]
}
