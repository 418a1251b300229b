package render_test

import (
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// The sentences of a curve without a goal state errors. A rise along n or epsilon is noted if it
// exceeds both intervals, for private algorithms only.
func TestErrorFindings(t *testing.T) {
	var columns []schemas.Column
	for name := range strings.FieldsSeq("cell algorithm class") {
		columns = append(columns, schemas.Column{Name: name, Type: schemas.TextColumn})
	}
	for name := range strings.FieldsSeq("epsilon alpha n error_mean error_low error_high constant_error p_kappa") {
		columns = append(columns, schemas.Column{Name: name, Type: schemas.FloatColumn})
	}
	s := sheet.Of("curve", columns,
		[]any{"a", "x/private", "parities", 1.0, nil, 10.0, 0.10, 0.09, 0.11, 0.3, 0.5},
		[]any{"a", "x/private", "parities", 1.0, nil, 20.0, 0.13, 0.12, 0.14, 0.3, 0.5},
		[]any{"a", "x/private", "parities", 1.0, nil, 40.0, 0.20, 0.19, 0.21, 0.3, 0.5},
		[]any{"b", "x/private", "parities", 2.0, nil, 10.0, 0.18, 0.17, 0.19, 0.3, 0.5},
		[]any{"b", "x/private", "parities", 2.0, nil, 20.0, 0.14, 0.12, 0.16, 0.3, 0.5},
		[]any{"c", "x/plain", "parities", nil, nil, 10.0, 0.10, 0.09, 0.11, 0.3, nil},
		[]any{"c", "x/plain", "parities", nil, nil, 20.0, 0.20, 0.19, 0.21, 0.3, nil},
	)
	const want = `parities: x/private at epsilon 1 errs on 0.2 at n = 40 (0.1 at n = 10); ` +
		`x/private at epsilon 2 errs on 0.14 at n = 20 (0.18 at n = 10); x/plain errs on 0.2 at n = 20 (0.1 at n = 10); ` +
		`the best constant errs on 0.3
the mean error of x/private at epsilon 1 rises with n, from 0.1 at n = 10, epsilon 1 to 0.2 at n = 40, epsilon 1: ` +
		`parameters that depend on n or epsilon may not suit (kappa 0.5)
the mean error of x/private at epsilon 2 rises with epsilon, from 0.1 at n = 10, epsilon 1 to 0.18 at n = 10, ` +
		`epsilon 2: parameters that depend on n or epsilon may not suit (kappa 0.5)`
	if got := strings.Join(render.Findings(s), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
