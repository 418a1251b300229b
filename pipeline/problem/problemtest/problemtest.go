// Package problemtest helps tests that need problems.
package problemtest

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
)

// Resolve fills in every default of p. It reads the file that p names.
func Resolve(t testing.TB, p *schemas.Problem) {
	t.Helper()
	file, _ := p.File()
	opened, err := problem.Open(*p, file)
	if err != nil {
		t.Fatal(err)
	}
	*p = opened.Resolved()
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
}
