package render

import (
	"bufio"
	"encoding/json"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
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
	var v any
	switch a := a.(type) {
	case *array.String:
		v = a.Value(i)
	case *array.Float64:
		v = a.Value(i)
		if x := a.Value(i); math.IsNaN(x) || math.IsInf(x, 0) {
			return []byte("null")
		}
	default:
		if a.IsValid(i) {
			return []byte(a.ValueStr(i))
		}
	}
	if a.IsNull(i) {
		return []byte("null")
	}
	text, _ := json.Marshal(v) // marshaling texts and finite numbers cannot fail
	return text
}
