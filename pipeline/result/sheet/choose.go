package sheet

import (
	"cmp"
	"slices"
	"strings"
)

// FindAll returns the indices of the columns that the user means by names, see Find.
func (s *Sheet) FindAll(names []string) ([]int, error) {
	var columns []int
	for _, name := range names {
		i, err := s.Find(name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, i)
	}
	return columns, nil
}

// Select returns the sheet with exactly the given columns, in their order; with all columns if
// none are given.
func (s *Sheet) Select(columns []int) *Sheet {
	if len(columns) == 0 {
		return s
	}
	kept := *s
	kept.Columns, kept.values = nil, nil
	for _, i := range columns {
		kept.Columns, kept.values = append(kept.Columns, s.Columns[i]), append(kept.values, s.values[i])
	}
	return &kept
}

// Sort returns the sheet with its rows sorted by the given columns, named as for Find: by the
// first one, if rows are equal there by the second one, and so on. A hyphen before a name
// reverses its order. Nulls are last in both orders.
func (s *Sheet) Sort(names ...string) (*Sheet, error) {
	type key struct {
		column int
		sign   int
	}
	var keys []key
	for _, name := range names {
		k := key{sign: 1}
		if rest, down := strings.CutPrefix(name, "-"); down {
			name, k.sign = rest, -1
		}
		var err error
		if k.column, err = s.Find(name); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	rows := make([]int, s.rows)
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		for _, k := range keys {
			x, y := s.At(a, k.column), s.At(b, k.column)
			switch {
			case x == nil && y == nil:
			case x == nil:
				return 1
			case y == nil:
				return -1
			default:
				if c := k.sign * compare(x, y); c != 0 {
					return c
				}
			}
		}
		return 0
	})
	return s.Take(rows), nil
}

// compare compares two values of one column.
func compare(x, y any) int {
	switch x := x.(type) {
	case int64:
		return cmp.Compare(x, y.(int64))
	case float64:
		return cmp.Compare(x, y.(float64))
	}
	return cmp.Compare(Text(x), Text(y)) // false is before true
}

// WithColumns returns the sheet with columns of another sheet after its column cell. It adds the
// wanted columns that the sheet lacks, with the values of the other sheet for the same cell. It
// returns s itself if one of the two has no column cell.
func (s *Sheet) WithColumns(of *Sheet, wanted func(name string) bool) *Sheet {
	at, from := s.Index("cell"), of.Index("cell")
	if at < 0 || from < 0 {
		return s
	}
	rows := map[any]int{}
	for row := range of.rows {
		rows[of.At(row, from)] = row
	}
	joined, next := s, at+1
	for i, c := range of.Columns {
		if !wanted(c.Name) || s.Index(c.Name) >= 0 {
			continue
		}
		joined = joined.Insert(next, c, func(row int) any {
			if known, ok := rows[s.At(row, at)]; ok {
				return of.At(known, i)
			}
			return nil
		})
		next++
	}
	return joined
}
