package ledger

import (
	"slices"

	"github.com/shatterlab/shatter/schemas"
)

// Brief is what the formats for reading leave of a sheet: the numbers of the columns that stay, what the others say, above and below,
// and the rows as text.
func (s *Sheet) Brief() (above, below []string, shown []int, rows [][]string) {
	b := s.brief()
	for _, c := range b.columns {
		shown = append(shown, slices.IndexFunc(s.Columns, func(of schemas.Column) bool { return of.Name == c.Name }))
	}
	return b.above, b.below, shown, b.rows
}
