package main

import "testing"

// A small heap holds four times as much garbage, a large one spareHeap, and a very large one a quarter.
func TestSparePercent(t *testing.T) {
	for live, want := range map[uint64]uint64{0: 400, 1 << 20: 400, spareHeap: 100, 4 * spareHeap: 25, 1 << 40: 25} {
		if got := sparePercent(live); got != want {
			t.Errorf("%d bytes in use: %d %%, want %d %%", live, got, want)
		}
	}
}
