package render

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var csvFormat = Format{
	Name:   "csv",
	Doc:    "comma-separated values with every column and digit; nothing stands for null",
	sheet:  csvLayout.writeSheet,
	answer: csvLayout.writeAnswer,
}

var csvLayout = layout{
	begin: func(to []byte, names []string) []byte {
		for i, name := range names {
			to = appendField(append(to, comma(name, i)...), name)
		}
		return append(to, '\n')
	},
	row:    func(to []byte, _ int) []byte { return to },
	column: comma,
	float:  func(to []byte, v float64) []byte { return strconv.AppendFloat(to, v, 'g', -1, 64) },
	text:   appendField,
	endRow: "\n",
}

// comma returns what stands before the fields of a column.
func comma(_ string, column int) string {
	if column > 0 {
		return ","
	}
	return ""
}

// appendField appends a field as encoding/csv writes it.
func appendField(to []byte, s string) []byte {
	first, _ := utf8.DecodeRuneInString(s)
	if !strings.ContainsAny(s, ",\"\r\n") && !unicode.IsSpace(first) && s != `\.` {
		return append(to, s...)
	}
	to = append(to, '"')
	to = append(to, strings.ReplaceAll(s, `"`, `""`)...)
	return append(to, '"')
}
