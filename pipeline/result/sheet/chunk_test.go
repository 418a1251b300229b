package sheet

import (
	"iter"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/schemas"
)

// coded is a column of a test: what is given to its encoder, and what a reader has to find.
type coded struct {
	column schemas.Column
	want   []any
	chunk  *Chunk
}

// Any values in any number of rows come back from the file as they were encoded, and with the range
// and the nulls that its statistics state.
func TestChunks(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 700).Draw(t, "rows")
		columns := []coded{drawSequence(t, rows), drawFloats(t, rows), drawFlags(t, rows),
			drawRepeats(t, rows, "label", schemas.TextColumn, rapid.StringN(0, 5, -1)),
			drawRepeats(t, rows, "int", schemas.IntColumn, rapid.Int64())}
		path := filepath.Join(dir, "n.parquet")
		if err := writeCoded(path, columns); err != nil {
			t.Fatal(err)
		}
		r, err := OpenParquet(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for i, c := range columns {
			_, got, err := r.ReadColumn(i)
			if err != nil {
				t.Fatalf("%s: %v", c.column.Name, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("%s: %s", c.column.Name, diff)
			}
		}
	})
}

func writeCoded(path string, columns []coded) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var plain []schemas.Column
	var chunks []*Chunk
	for _, c := range columns {
		plain, chunks = append(plain, c.column), append(chunks, c.chunk)
	}
	return WriteGroups(f, "n", plain, one(chunks))
}

// one returns a sequence of a single row group.
func one(chunks []*Chunk) iter.Seq2[[]*Chunk, error] {
	return func(yield func([]*Chunk, error) bool) { yield(chunks, nil) }
}

// drawTimes draws the length of a run: often long, and often one.
func drawTimes(t *rapid.T, left int) int {
	return min(left, rapid.SampledFrom([]int{1, 1, 1, 2, 7, 8, 9, 31, 128, 200}).Draw(t, "times"))
}

func drawSequence(t *rapid.T, rows int) coded {
	c := coded{column: schemas.Column{Name: "sequence", Type: schemas.IntColumn}}
	var s Sequence
	for len(c.want) < rows {
		v := rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64()).Draw(t, "start")
		for range drawTimes(t, rows-len(c.want)) {
			s.Add(v)
			c.want = append(c.want, v)
			v++
		}
	}
	c.chunk = s.Chunk()
	return c
}

func drawFloats(t *rapid.T, rows int) coded {
	c := coded{column: schemas.Column{Name: "float", Type: schemas.FloatColumn}}
	f := NewFloats(rows)
	for len(c.want) < rows {
		values := make([]float64, drawTimes(t, rows-len(c.want)))
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		for i := range values {
			values[i] = rapid.Float64().Draw(t, "value")
			if kind == 1 || kind == 2 && i%2 == 0 {
				values[i] = math.NaN()
			}
			switch {
			case values[i] != values[i] || kind == 3:
				c.want = append(c.want, nil)
			default:
				c.want = append(c.want, values[i]+0)
			}
		}
		if kind == 3 {
			f.AddNull(len(values))
		} else {
			f.Add(values)
		}
	}
	c.chunk = f.Chunk()
	return c
}

func drawFlags(t *rapid.T, rows int) coded {
	c := coded{column: schemas.Column{Name: "flag", Type: schemas.BoolColumn}}
	var f Flags
	for len(c.want) < rows {
		times, kind := drawTimes(t, rows-len(c.want)), rapid.IntRange(0, 2).Draw(t, "kind")
		for range times {
			if kind == 2 {
				f.AddNull(1)
				c.want = append(c.want, nil)
				continue
			}
			f.Add(kind == 1)
			c.want = append(c.want, kind == 1)
		}
	}
	c.chunk = f.Chunk()
	return c
}

func drawRepeats[T int64 | string](
	t *rapid.T, rows int, name string, of schemas.ColumnType, values *rapid.Generator[T],
) coded {
	c := coded{column: schemas.Column{Name: name, Type: of}}
	var r Repeats[T]
	for len(c.want) < rows {
		times := drawTimes(t, rows-len(c.want))
		if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			r.AddNull(times)
			for range times {
				c.want = append(c.want, nil)
			}
			continue
		}
		v := values.Draw(t, "value")
		r.Add(v, times)
		for range times {
			c.want = append(c.want, v)
		}
	}
	c.chunk = r.Chunk()
	return c
}
