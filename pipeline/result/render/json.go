package render

import (
	"bufio"
	"encoding/json"
	"math"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

var jsonFormat = Format{
	Name:  "json",
	Doc:   "an array of objects, one to a line, with every column and digit; null also for numbers that are not finite",
	write: writeJSON,
}

func writeJSON(w *bufio.Writer, a Answer) error {
	var before []string // text before each value of a row
	for i, f := range a.Schema().Fields() {
		comma := ", "
		if i == 0 {
			comma = "\n{"
		}
		name, _ := json.Marshal(f.Name) // marshaling a string cannot fail
		before = append(before, comma+string(name)+": ")
	}
	w.WriteByte('[')
	comma := ""
	err := EachBatch(a, func(rec arrow.Record) error {
		for i := range int(rec.NumRows()) {
			w.WriteString(comma)
			for j, c := range rec.Columns() {
				w.WriteString(before[j])
				w.Write(jsonValue(c, i))
			}
			if _, err := w.WriteString("}"); err != nil {
				return err
			}
			comma = ","
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = w.WriteString("\n]\n")
	return err
}

// jsonValue returns element i of a column: null also for numbers that are not finite.
func jsonValue(a arrow.Array, i int) []byte {
	v := sheet.ValueAt(a, i)
	if x, ok := v.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
		v = nil
	}
	text, _ := json.Marshal(v) // marshaling texts and finite numbers cannot fail
	return text
}
