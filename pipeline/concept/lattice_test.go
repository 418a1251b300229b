package concept

import (
	"errors"
	"fmt"

	"strings"
	"testing"
)

// Rectangles in other dimensions than two have members, but no exact methods.
func TestRectanglesOutsideThePlane(t *testing.T) {
	for _, dim := range []int{1, 3} {
		c := newFinite(t, Spec{Name: "rectangles", Domain: 4, Dim: dim})
		_, profile := c.NewProfile()
		_, minimizer := c.NewMinimizer(nil)
		for _, err := range []error{profile, minimizer} {
			if !errors.Is(err, ErrNoExactMethod) || !strings.Contains(err.Error(), fmt.Sprintf("in %d dimensions", dim)) {
				t.Errorf("dimension %d: error %v", dim, err)
			}
		}
	}
}
