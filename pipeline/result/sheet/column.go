package sheet

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"
)

// column holds the values of a column, each different one once.
type column struct {
	values []any  // in the order of their first rows
	places places // of each row's value in values
}

// at returns the value of a row.
func (c column) at(row int) any { return c.values[c.places.at(row)] }

// places holds a number for each row in as few bytes as the largest takes: most columns have few
// different values. The zero value has 0 for any number of rows.
type places struct {
	width int // bytes of a number; 0: all are 0
	bytes []byte
}

// at returns the number of a row.
func (p places) at(row int) int {
	switch p.width {
	case 0:
		return 0
	case 1:
		return int(p.bytes[row])
	case 2:
		return int(binary.LittleEndian.Uint16(p.bytes[2*row:]))
	}
	return int(binary.LittleEndian.Uint32(p.bytes[4*row:]))
}

// add appends the number of a row, which comes after a number of rows.
func (p *places) add(rows, place int) {
	width := widthOf(place)
	if width > p.width {
		wide := places{width, make([]byte, 0, width*max(64, 2*rows))}
		for row := range rows {
			wide.append(p.at(row))
		}
		*p = wide
	}
	p.append(place)
}

// append appends a number that fits the width.
func (p *places) append(place int) {
	switch p.width {
	case 1:
		p.bytes = append(p.bytes, uint8(place))
	case 2:
		p.bytes = binary.LittleEndian.AppendUint16(p.bytes, uint16(place))
	case 4:
		p.bytes = binary.LittleEndian.AppendUint32(p.bytes, uint32(place))
	}
}

// widthOf returns the number of bytes that a number takes, as places has them.
func widthOf(place int) int {
	switch {
	case place == 0:
		return 0
	case place <= math.MaxUint8:
		return 1
	case place <= math.MaxUint16:
		return 2
	}
	return 4
}

// gatherer collects the values of a column row by row. The zero value has none.
type gatherer struct {
	column column
	rows   int
	last   int // place of the last row's value
	texts  map[string]uint32
	floats map[uint64]uint32 // by their bits: 0 is not -0
	others map[any]uint32
}

func (g *gatherer) add(v any) {
	place, known := g.find(v)
	if !known {
		place = len(g.column.values)
		g.column.values = append(g.column.values, v)
		g.learn(v, uint32(place))
	}
	g.put(place)
}

// put adds a row with the value of a place.
func (g *gatherer) put(place int) {
	g.column.places.add(g.rows, place)
	g.rows, g.last = g.rows+1, place
}

// addText adds a text, null where it is empty. One that was seen takes no memory.
func (g *gatherer) addText(text string) {
	if text == "" {
		g.add(nil)
		return
	}
	if g.rows > 0 {
		if last, ok := g.column.values[g.last].(string); ok && last == text {
			g.put(g.last)
			return
		}
	}
	if place, known := g.texts[text]; known {
		g.put(int(place))
		return
	}
	g.add(strings.ToValidUTF8(text, "\uFFFD"))
}

// addNumber adds a number, null where it is NaN, and 0 for -0. One that was seen takes no memory.
func (g *gatherer) addNumber(number float64) {
	if number != number {
		g.add(nil)
		return
	}
	if number == 0 {
		number = 0 // and not -0
	}
	if place, known := g.floats[math.Float64bits(number)]; known {
		g.put(int(place))
		return
	}
	g.add(number)
}

// find returns the place of a value that was seen.
func (g *gatherer) find(v any) (place int, known bool) {
	if g.rows > 0 && same(g.column.values[g.last], v) {
		return g.last, true
	}
	var found uint32
	switch v := v.(type) {
	case string:
		found, known = g.texts[v]
	case float64:
		found, known = g.floats[math.Float64bits(v)]
	default:
		found, known = g.others[v]
	}
	return int(found), known
}

// same reports whether two values are equal to the bit.
func same(a, b any) bool {
	x, isFloat := a.(float64)
	y, alike := b.(float64)
	if isFloat && alike {
		return math.Float64bits(x) == math.Float64bits(y)
	}
	return a == b
}

// learn notes the place of a value.
func (g *gatherer) learn(v any, place uint32) {
	if g.others == nil {
		g.texts, g.floats, g.others = map[string]uint32{}, map[uint64]uint32{}, map[any]uint32{}
	}
	switch v := v.(type) {
	case string:
		g.texts[v] = place
	case float64:
		g.floats[math.Float64bits(v)] = place
	default:
		g.others[v] = place
	}
}

// gather returns the column of a number of rows whose values value returns.
func gather(rows int, value func(row int) any) column {
	var g gatherer
	for row := range rows {
		g.add(value(row))
	}
	return g.column
}

// take returns the column of the given rows of c. It may keep values that none of them has.
func (c column) take(rows []int) column {
	taken := column{values: c.values}
	for i, row := range rows {
		taken.places.add(i, c.places.at(row))
	}
	return taken
}

// each returns the column with f of every value.
func (c column) each(f func(any) any) column {
	changed := make([]any, len(c.values))
	for i, v := range c.values {
		changed[i] = f(v)
	}
	return column{changed, c.places}
}

// Len returns the number of rows.
func (s *Sheet) Len() int { return s.rows }

// At returns the value of a row in the column of an index.
func (s *Sheet) At(row, column int) any { return s.values[column].at(row) }

// Row returns the values of a row, in a slice of their own.
func (s *Sheet) Row(row int) []any {
	values := make([]any, len(s.values))
	for i, c := range s.values {
		values[i] = c.at(row)
	}
	return values
}

// Rows returns all rows, as Row does.
func (s *Sheet) Rows() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for row := range s.rows {
			if !yield(s.Row(row)) {
				return
			}
		}
	}
}

// Take returns the sheet with the given rows, in their order.
func (s *Sheet) Take(rows []int) *Sheet {
	kept := *s
	kept.rows, kept.values = len(rows), make([]column, len(s.values))
	for i, c := range s.values {
		kept.values[i] = c.take(rows)
	}
	return &kept
}

// Filter returns the sheet with the rows that keep reports true of.
func (s *Sheet) Filter(keep func(row int) bool) *Sheet {
	var rows []int
	for row := range s.rows {
		if keep(row) {
			rows = append(rows, row)
		}
	}
	return s.Take(rows)
}

// Replace returns the sheet with what value returns for each row in the column of an index.
func (s *Sheet) Replace(column int, value func(row int) any) *Sheet {
	changed := *s
	changed.values = slices.Clone(s.values)
	changed.values[column] = gather(s.rows, value)
	return &changed
}

// Insert returns the sheet with a column before the one of an index, or with a last one where the
// index is the number of columns. value returns its values.
func (s *Sheet) Insert(before int, c schemas.Column, value func(row int) any) *Sheet {
	joined := *s
	joined.Columns = slices.Insert(slices.Clone(s.Columns), before, c)
	joined.values = slices.Insert(slices.Clone(s.values), before, gather(s.rows, value))
	return &joined
}

// Values returns the different values of the column of an index, some of which no row may have, and a
// function that returns the index of a row's value among them.
func (s *Sheet) Values(column int) (values []any, place func(row int) int) {
	c := s.values[column]
	return c.values, c.places.at
}

// Distinct returns the values that rows have in the column of an index, each once, in the order of the
// rows.
func (s *Sheet) Distinct(column int) (distinct []any) {
	values, place := s.Values(column)
	seen := make([]bool, len(values))
	for row := range s.rows {
		if at := place(row); !seen[at] {
			seen[at] = true
			distinct = append(distinct, values[at])
		}
		if len(distinct) == len(values) {
			break
		}
	}
	return distinct
}
