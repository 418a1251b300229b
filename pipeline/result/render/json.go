package render

import (
	"bufio"
	"encoding/json"
	"math"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

var jsonFormat = Format{
	Name:   "json",
	Doc:    "an array of objects, one to a line, with every column and digit; null also for numbers that are not finite",
	sheet:  writeJSON,
	answer: jsonLayout.writeAnswer,
}

var jsonLayout = layout{
	begin: func(to []byte, _ []string) []byte { return append(to, '[') },
	row: func(to []byte, row int) []byte {
		if row > 0 {
			to = append(to, ',')
		}
		return append(to, "\n{"...)
	},
	column: func(name string, column int) string {
		key := string(appendString(nil, name)) + ": "
		if column > 0 {
			return ", " + key
		}
		return key
	},
	null:   "null",
	float:  appendNumber,
	text:   appendString,
	endRow: "}",
	end:    "\n]\n",
}

// writeJSON writes a sheet, with 0 for -0.
func writeJSON(w *bufio.Writer, s *sheet.Sheet) error {
	l := jsonLayout
	l.float = func(to []byte, v float64) []byte {
		if v == 0 {
			v = 0
		}
		return appendNumber(to, v)
	}
	return l.writeSheet(w, s)
}

func appendNumber(to []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(to, "null"...)
	}
	raw, _ := json.Marshal(v) // a finite number has a form
	return append(to, raw...)
}

func appendString(to []byte, s string) []byte {
	raw, _ := json.Marshal(s) // every text has a form
	return append(to, raw...)
}
