package sheet

import (
	"fmt"
	"slices"
	"strings"
)

// ofRung lists the columns of a table that describe one value of a search over a parameter other
// than n, not the whole search.
var ofRung = []string{
	"n_low", "n_high", "theory_n", "ratio_low", "ratio_high", "paper_n", "mean_error", "unbiased_error",
	"sample", "search_id", "mistakes_mean", "mistakes_max", "best_loss", "regret_mean", "regret_low", "regret_high",
	"theory_regret", "paper_regret", "epsilon_implied", "epsilon_implied_reason",
}

// FoldSearches returns the table with one row for each search over a parameter other than n
// instead of a row for each value: the row of the hardest value shown sufficient, or else of the
// easiest one shown insufficient, with the trials of all values.
func (s *Sheet) FoldSearches() *Sheet {
	id := s.Index("search_id")
	if id < 0 || s.Name != "table" {
		return s
	}
	rows := map[any][]int{}
	for row := range s.rows {
		if of := s.At(row, id); of != nil {
			rows[of] = append(rows[of], row)
		}
	}
	if len(rows) == 0 {
		return s
	}
	var folded [][]any
	for row := range s.rows {
		search := s.At(row, id)
		if search == nil {
			folded = append(folded, s.Row(row))
		} else if of := rows[search]; of != nil {
			folded = append(folded, foldSearch(s, of))
			delete(rows, search)
		}
	}
	out := Of(s.Name, s.Columns, folded...)
	out.Confidence, out.Origin, out.Title, out.Notes = s.Confidence, s.Origin, s.Title, s.Notes
	return out
}

// foldSearch returns one row for the rows of a search.
func foldSearch(s *Sheet, of []int) []any {
	rows := slices.Collect(s.Take(of).Rows())
	at := s.Index
	axis := -1
	if name, ok := rows[0][at("search")].(string); ok {
		axis = at(name)
	}
	chosen := rows[0]
	for _, end := range []string{"search_insufficient", "search_sufficient"} {
		value := rows[0][at(end)]
		if axis < 0 || value == nil {
			continue
		}
		if i := slices.IndexFunc(rows, func(row []any) bool { return fmt.Sprint(row[axis]) == fmt.Sprint(value) }); i >= 0 {
			chosen = rows[i]
		}
	}
	row := slices.Clone(chosen)
	for _, name := range ofRung {
		if i := at(name); i >= 0 {
			row[i] = nil
		}
	}
	if axis >= 0 {
		row[axis] = nil
	}
	row[at("cell")] = rows[0][at("search_id")]
	for _, name := range []string{"trials", "failed", "lost"} {
		if at(name) < 0 {
			continue
		}
		sum := int64(0)
		for _, r := range rows {
			n, _ := r[at(name)].(int64)
			sum += n
		}
		row[at(name)] = sum
	}
	for _, name := range []string{"contradicts", "privacy_contradicts"} {
		var alarms []string
		for _, r := range rows {
			if i := at(name); i >= 0 && r[i] != nil {
				alarms = append(alarms, fmt.Sprint(r[i]))
			}
		}
		if len(alarms) > 0 {
			row[at(name)] = strings.Join(alarms, "; ")
		}
	}
	return row
}
