package numeric

import "testing"

func TestRemember(t *testing.T) {
	calls := 0
	square := Remember(func(n int) int {
		calls++
		return n * n
	})
	for _, tt := range []struct{ first, end, calls int }{
		{0, maxRemembered, maxRemembered},
		{0, maxRemembered, 0},                                 // all of them are cached
		{maxRemembered, 2 * maxRemembered, maxRemembered},     // a second generation
		{0, 2 * maxRemembered, 0},                             // both generations are cached
		{2 * maxRemembered, 3 * maxRemembered, maxRemembered}, // the first generation is removed
		{maxRemembered, maxRemembered + 1, 0}, {0, 1, 1}, {0, 1, 0},
	} {
		calls = 0
		for n := tt.first; n < tt.end; n++ {
			if got := square(n); got != n*n {
				t.Fatalf("%d for %d", got, n)
			}
		}
		if calls != tt.calls {
			t.Errorf("%d calls for %d to %d, want %d", calls, tt.first, tt.end, tt.calls)
		}
	}
}
