package sheet

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/schemas"
)

// A file written row group by row group equals the file of the whole sheet.
func TestWriteStream(t *testing.T) {
	columns := []schemas.ColumnOf[int]{
		{Column: schemas.Column{Name: "row", Type: schemas.IntColumn}, Value: func(i *int) any { return int64(*i) }},
		{Column: schemas.Column{Name: "text", Type: schemas.TextColumn}, Value: func(i *int) any {
			return []any{nil, "a", "b"}[*i%3]
		}},
	}
	for _, rows := range []int{0, 1, RowGroup + 1} {
		all := func(yield func(int) bool) {
			for i := 0; i < rows && yield(i); i++ {
			}
		}
		s, err := New("bounds", columns, all)
		if err != nil {
			t.Fatal(err)
		}
		var whole, parted bytes.Buffer
		if err := errors.Join(writeParquet(s, &whole), WriteStream(&parted, "bounds", columns, all, nil)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(whole.Bytes(), parted.Bytes()) {
			t.Errorf("%d rows: %d bytes, not the %d of the whole", rows, parted.Len(), whole.Len())
		}
	}
	wrong := func(yield func(int) bool) {
		for i := 0; i < RowGroup+3 && yield(i); i++ {
		}
	}
	columns[0].Value = func(i *int) any {
		if *i == RowGroup+2 {
			return "two"
		}
		return int64(*i)
	}
	err := WriteStream(&bytes.Buffer{}, "bounds", columns, wrong, nil)
	if err == nil || !strings.Contains(err.Error(), `bounds, row 131074, column "row"`) {
		t.Error(err)
	}
}
