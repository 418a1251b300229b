package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/prior"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// answer summarizes the findings of the sweep.
func (s *Sweep) answer() (all []string) {
	if s.table.Len() == 0 {
		return []string{"The sweep has no cells."}
	}
	algorithms := wording.Count(len(s.table.distinctOf(s.table.all(), algorithmKey)), "algorithm")
	what := "what is shown insufficient"
	switch {
	case s.online():
		sequences := 0.0
		for row := range s.sized.Len() {
			sequences += s.sized.Number(row, "trials")
		}
		what = "the mean regret"
		all = append(all, fmt.Sprintf("How many mistakes, and how much regret? %s played %.0f sequences in %s.",
			algorithms, sequences, wording.Count(s.sized.Len(), "setting")))
	case s.onlySearches():
		all = append(all, fmt.Sprintf("What suffices at a given n? Measured for %s in %s.", algorithms,
			wording.CountOf(s.table.Len(), "search", "searches")))
	case !slices.ContainsFunc(s.table.all(), s.hasGoal):
		return []string{fmt.Sprintf("How large are the errors? Measured for %s in %s. Each mean error has its own 95 %% "+
			"confidence interval (Student); the intervals do not hold all at once.", algorithms,
			wording.Count(s.table.Len(), "cell"))}
	default:
		all = append(all, fmt.Sprintf("How many examples suffice? Measured for %s in %s on %s.", algorithms,
			wording.Count(s.table.Len(), "cell"),
			wording.CountOf(len(groups(s.table)), "concept class or population", "concept classes or populations")))
	}
	if decided := s.decided(); decided != "" {
		all = append(all, decided)
	}
	if s.online() {
		all = append(all, "Each regret is a mean over sequences with its own 95 % confidence interval (Student); the "+
			"intervals do not hold all at once, and a search that chose the number of sequences is not accounted for.")
	}
	return append(append(all, s.ratios()...), s.verdicts(what)...)
}

// hasGoal reports whether a row of the table has a criterion of success.
func (s *Sweep) hasGoal(row int) bool { return s.table.text(row, "status") != estimate.StatusMeasured }

// ratios compares the brackets with their bounds.
func (s *Sweep) ratios() []string {
	var least, most []float64
	for row := range s.table.Len() {
		if high := s.table.Number(row, "ratio_high"); !s.online() && !math.IsNaN(high) {
			least, most = append(least, s.table.Number(row, "ratio_low")), append(most, high)
		}
	}
	low, _, _ := span(least)
	_, high, n := span(most)
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"Where a bound stands next to a bracket (%s), n* is between %.4g and %.4g times the bound.",
		wording.Count(n, "cell"), low, high,
	)}
}

// verdicts counts the rows that are consistent with their bounds, and those that refute them.
func (s *Sweep) verdicts(what string) (lines []string) {
	held := 0
	var refuted []string // standings of the refuted bounds
	for row := range s.table.Len() {
		switch {
		case s.table.Value(row, "contradicts") != nil:
			refuted = append(refuted, s.table.text(row, "theory_standing"))
		case s.online() && s.table.Value(row, "search") != nil: // no comparison with a bound
		case s.table.Value(row, "theory_n") != nil, s.table.Value(row, "search_theory") != nil,
			s.table.Value(row, "theory_regret") != nil:
			held++
		}
	}
	if held > 0 {
		lines = append(lines, fmt.Sprintf("%s consistent with the bounds that hold there.",
			wording.CountOf(held, "row is", "rows are")))
	}
	if len(refuted) > 0 {
		lines = append(lines, fmt.Sprintf("%s contradicted: %s is more than is allowed by %s. The bound, its premises "+
			"or the algorithm is wrong; the column contradicts lists the bounds.",
			wording.CountOf(len(refuted), "row has a bound", "rows have bounds"), what, trial.RefutedBounds(refuted)))
	}
	wrong := 0
	for row := range s.table.Len() {
		if s.table.Value(row, "privacy_contradicts") != nil {
			wrong++
		}
	}
	if wrong > 0 {
		lines = append(lines, fmt.Sprintf("%s contradicted; the column privacy_contradicts has the reasons.",
			wording.CountOf(wrong, "row has a privacy guarantee", "rows have privacy guarantees")))
	}
	return lines
}

// decided counts the cells or searches by status, and states the confidence of the brackets; "":
// the sweep searched for nothing.
func (s *Sweep) decided() string {
	count, total := map[string]int{}, 0
	for row := range s.table.Len() {
		if s.hasGoal(row) && (!s.online() || s.table.Value(row, "search") != nil) {
			count[s.table.text(row, "status")]++
			total++
		}
	}
	if total == 0 {
		return ""
	}
	var others []string
	for _, status := range slices.Sorted(maps.Keys(count)) {
		if status != "decided" && status != "" {
			others = append(others, fmt.Sprintf("%d %s", count[status], strings.ReplaceAll(status, "_", " ")))
		}
	}
	cells := "cells"
	if s.onlySearches() || s.online() {
		cells = "searches"
	}
	text := fmt.Sprintf("%d of %d %s are decided", count["decided"], total, cells)
	if len(others) > 0 {
		text += " (others: " + strings.Join(others, ", ") + ")"
	}
	if text += ". "; count["decided"] == 0 {
		return strings.TrimSpace(text)
	}
	if cells == "cells" {
		text += "n_low was shown insufficient and n_high sufficient, so n* is above n_low and at most n_high (column " +
			"n_star repeats n_high; figures mark the middle). "
	}
	if len(s.searches) > 0 {
		text += "search_insufficient was shown insufficient at search_n and search_sufficient sufficient. "
	}
	return text + s.confidence()
}

// onlySearches reports whether the sweep searches only for other numbers than n.
func (s *Sweep) onlySearches() bool { return len(s.searches) > 0 && s.sized.Len() == 0 }

// confidence states the joint confidence of all brackets of the table.
func (s *Sweep) confidence() string {
	return fmt.Sprintf("With confidence %s all brackets of the table hold at once.", percent(s.table.Confidence))
}

// problems describes for each problem who labels its points, and its data.
func (s *Sweep) problems() (all []string) {
	said, drawn := map[string]bool{}, false
	for row := range s.table.Len() {
		p := schemas.Problem{
			Class: s.table.text(row, "class"), Distribution: s.table.text(row, "distribution"),
			Target: s.table.text(row, "target"), Disguise: s.table.Value(row, "disguise") == true,
		}
		kind, _, _ := strings.Cut(s.table.text(row, "adversary"), " ")
		words, target := problem.Labels(&p, kind)
		data := s.table.text(row, "data")
		who := "the labels are "
		if target {
			who = "the target is "
		}
		drawn = drawn || target && prior.Drawn(&p)
		of := strings.Fields(strings.Join([]string{p.Class, p.Distribution, s.table.text(row, "file"), data}, " "))
		line := strings.Join(of, " ") + ": " + who + words
		if positive := s.table.Number(row, "positive_share"); positive == positive {
			rows := trial.Population{Positive: positive, Pulled: s.table.Number(row, "pulled_share")}
			line += "; " + rows.String()
		}
		if !said[line] {
			said[line] = true
			all = append(all, line+".")
		}
	}
	if drawn {
		all = append(all, problem.OverTargets)
	}
	return all
}

// An unknown is a kind of open question that the sweep leaves, with the cells that it concerns.
type unknown struct {
	Status, What string
	Cells        []string // names of at most maxListed cells
	More         int
}

// maxListed is the maximum number of cells that are named for one kind.
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
	if rechecks := s.manifest.Rechecks; rechecks != nil {
		for _, line := range rechecks.Notes {
			all = append(all, unknown{What: line})
		}
	}
	for row := range s.table.Len() {
		if status := s.table.text(row, "status"); status != "decided" && status != "" && s.hasGoal(row) {
			note(row, status, s.why(row, status))
		}
	}
	for row := range s.table.Len() {
		if n := s.table.Number(row, "failed"); n > 0 {
			note(row, "", "Some trials failed: they count as no success.")
		}
		switch s.table.text(row, "privacy_standing") {
		case trial.Unproved:
			note(row, "", "Privacy is not proved: the budget is only what a paper prints, and nothing here is proved of it.")
		case trial.Declared:
			note(row, "", "Privacy is declared: it is the word of the plugin's author, and Shatter has no proof of it.")
		}
	}
	for row := range s.table.Len() {
		if s.lacksBound(row) {
			note(row, "", "No finite bound is known here, neither a proved nor a declared one.")
		}
		if e := s.table.text(row, "evaluation"); e != "" && e != "exact" {
			note(row, "", "Errors are not exact: each is "+problem.HowMeasured(e)+".")
		}
	}
	return all
}

// lacksBound reports whether no finite bound is known for a row with a goal.
func (s *Sweep) lacksBound(row int) bool {
	switch {
	case !s.hasGoal(row):
		return false
	case s.online():
		return s.table.Value(row, "theory_regret") == nil && s.table.Value(row, "search") == nil
	}
	return s.table.Value(row, "theory_n") == nil
}

// why describes a status in words.
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

// A failureKind holds the failed or lost trials of one kind, and describes the first of them.
type failureKind struct {
	schemas.Failure
	Worker  string // worker that ran the first trial; "": unknown
	Command string // command that runs the first trial again
}

// failures groups the failures of all cells by kind, the most frequent first.
func (s *Sweep) failures() (all []failureKind) {
	names := map[string]string{}
	for row := range s.table.Len() {
		names[s.table.text(row, "cell")] = s.table.text(row, "algorithm")
	}
	for row := range s.failed.Len() {
		kind := strings.TrimSpace(s.failed.text(row, "status") + ": " + s.failed.text(row, "kind"))
		at := slices.IndexFunc(all, func(f failureKind) bool { return f.Kind == kind })
		if at < 0 {
			at = len(all)
			first := s.failed.text(row, "first")
			all = append(all, failureKind{
				Failure: schemas.Failure{
					Kind: kind, Trial: first, Reason: s.failed.text(row, "reason"),
					What: fmt.Sprintf("%s at n = %.0f", names[s.failed.text(row, "cell")], s.failed.Number(row, "n")),
				},
				Worker:  s.workerOf(first),
				Command: "shatter trial " + wording.ShellWord(cmp.Or(s.Folder, s.dir)) + " " + wording.ShellWord(first),
			})
		}
		all[at].Count += int64(s.failed.Number(row, "trials"))
	}
	slices.SortStableFunc(all, func(a, b failureKind) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// workerOf returns the worker that ran a trial, given by its ID.
func (s *Sweep) workerOf(id string) string {
	cell, rest, _ := strings.Cut(id, "/")
	n, text, _ := strings.Cut(rest, "/")
	repetition, _ := strconv.ParseFloat(text, 64)
	for row := range s.timing.Len() {
		since := repetition - s.timing.Number(row, "first")
		if s.timing.text(row, "cell") == cell && s.timing.text(row, "n") == n && since >= 0 &&
			since < s.timing.Number(row, "rows") {
			return s.timing.text(row, "worker")
		}
	}
	return ""
}

func (s *Sweep) alarms() (all []string) {
	for _, r := range s.manifest.Runs {
		for _, a := range r.Alarms {
			all = add(all, a)
		}
	}
	return all
}

// refuted describes the bounds and guarantees that rows of the table refute.
func (s *Sweep) refuted() (all []string) {
	for row := range s.table.Len() {
		for _, column := range []string{"contradicts", "privacy_contradicts"} {
			if what := s.table.text(row, column); what != "" {
				all = append(all, fmt.Sprintf("%s (cell %s): %s.", s.table.text(row, "algorithm"), s.table.text(row, "cell"), what))
			}
		}
	}
	return all
}

// runNotes returns at most 50 notes of the runs.
func (s *Sweep) runNotes() (all []string) {
	for _, r := range s.manifest.Runs {
		all = append(all, r.Notes...)
	}
	return all[:min(len(all), 50)]
}
