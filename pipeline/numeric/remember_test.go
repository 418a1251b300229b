package numeric

import "testing"

func TestRemember(t *testing.T) {
	calls := 0
	square := Remember(func(n int) int {
		calls++
		return n * n
	})
	for _, tt := range []struct{ first, end, calls int }{
		{0, mostRemembered, mostRemembered},
		{0, mostRemembered, 0},                                   // all of them are known
		{mostRemembered, 2 * mostRemembered, mostRemembered},     // a second generation
		{0, 2 * mostRemembered, 0},                               // both are known
		{2 * mostRemembered, 3 * mostRemembered, mostRemembered}, // the first one is forgotten
		{mostRemembered, mostRemembered + 1, 0}, {0, 1, 1}, {0, 1, 0},
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
