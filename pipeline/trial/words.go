package trial

import (
	"fmt"
	"strings"
)

// Words names the cell for people: its algorithm and the main parameters of its problem.
func (c *Cell) Words() string {
	p := c.Problem
	parts := []string{c.As + " on " + p.Class}
	for _, x := range []struct {
		name  string
		value any
		given bool
	}{
		{"", p.Distribution, p.Distribution != ""}, {"domain", p.Domain, p.Domain > 0}, {"d", p.Dim, p.Dim > 0},
		{"margin", p.Margin, p.Margin > 0}, {"noise", p.Noise.Rate, p.Noise.Rate > 0}, {"epsilon", c.Epsilon, c.Epsilon > 0},
	} {
		if x.given {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %v", x.name, x.value)))
		}
	}
	return strings.Join(parts, ", ")
}

// At names a sample size of the cell for people.
func (c *Cell) At(n int64) string { return fmt.Sprintf("%s, n = %d", c.Words(), n) }
