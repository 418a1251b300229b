package main

import "testing"

// A small heap holds four times as much garbage, then spareHeap, up to largeHeap in all, and a very large one a tenth.
func TestSparePercent(t *testing.T) {
	for live, want := range map[uint64]uint64{
		0: 400, 1 << 20: 400, spareHeap: 100, 2 * spareHeap: 50, largeHeap / 4 * 3: 33, largeHeap: 10, 1 << 40: 10,
	} {
		if got := sparePercent(live); got != want {
			t.Errorf("%d bytes in use: %d %%, want %d %%", live, got, want)
		}
	}
}

// The limit of the memory leaves the collector what it has by itself, and not much more.
func TestOwnMemoryLimit(t *testing.T) {
	for _, live := range []uint64{0, 1 << 20, 10 << 20, spareHeap, largeHeap, 1 << 30, 1 << 40} {
		for _, aside := range []uint64{0, 5 << 20, 1 << 30} {
			goal := live + live/100*sparePercent(live)
			limit := memoryLimit(live, aside)
			if least := goal + goal*3/100 + aside; limit < least || limit > least+least/100+2*memoryGrain {
				t.Errorf("%d bytes in use and %d aside: limit %d, least %d", live, aside, limit, least)
			}
		}
	}
}
