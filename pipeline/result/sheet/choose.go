package sheet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"
)

// FindAll returns the indices of the columns that a person means by names, as Find does.
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

// Select returns the sheet with exactly the given columns, in their order; with all where none are
// given.
func (s *Sheet) Select(columns []int) *Sheet {
	if len(columns) == 0 {
		return s
	}
	kept := *s
	kept.Columns, kept.Rows = nil, make([][]any, len(s.Rows))
	for _, i := range columns {
		kept.Columns = append(kept.Columns, s.Columns[i])
		for j, row := range s.Rows {
			kept.Rows[j] = append(kept.Rows[j], row[i])
		}
	}
	return &kept
}

// Sort returns the sheet with its rows in the order of the given columns, as Find takes them: of
// the first one, where rows are equal there of the second one, and so on. A hyphen before a name
// turns its order around. Nulls stand last either way.
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
	sorted := *s
	sorted.Rows = slices.Clone(s.Rows)
	slices.SortStableFunc(sorted.Rows, func(a, b []any) int {
		for _, k := range keys {
			x, y := a[k.column], b[k.column]
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
	return &sorted, nil
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

// WithColumns returns the sheet with columns of another one behind its column cell: those that are
// wanted and that it lacks, with the values that the other one has for the same cell. It is s itself
// where one of the two has no column cell.
func (s *Sheet) WithColumns(of *Sheet, wanted func(name string) bool) *Sheet {
	at, from := schemas.IndexOf(s.Columns, "cell"), schemas.IndexOf(of.Columns, "cell")
	if at < 0 || from < 0 {
		return s
	}
	rows := map[any][]any{}
	for _, row := range of.Rows {
		rows[row[from]] = row
	}
	var added []int
	joined := *s
	joined.Columns = slices.Clone(s.Columns)
	for i, c := range of.Columns {
		if wanted(c.Name) && schemas.IndexOf(s.Columns, c.Name) < 0 {
			added = append(added, i)
			joined.Columns = slices.Insert(joined.Columns, at+len(added), c)
		}
	}
	joined.Rows = make([][]any, len(s.Rows))
	for j, row := range s.Rows {
		values := make([]any, len(added))
		if known := rows[row[at]]; known != nil {
			for k, i := range added {
				values[k] = known[i]
			}
		}
		joined.Rows[j] = slices.Insert(slices.Clone(row), at+1, values...)
	}
	return &joined
}
