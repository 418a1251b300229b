package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// collectLazily has garbage collected late from now on, as outcomes pass through a small heap: it may be
// four times what is in use, up to spareHeap. Of a large heap it is a tenth, because that is the memory of
// the machine. GOGC of the environment has its way instead.
var collectLazily = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		paceHeap(nil)
	}
})

// Numbers of bytes: of the garbage that lies in the heap at most, unless a tenth of what is in use is more, and
// of a heap that makes room for so much of it.
const (
	spareHeap = 32 << 20
	largeHeap = 112 << 20
)

// heapMark becomes garbage once in each cycle of the collector. It must not be empty, or tiny.
type heapMark [64]byte

// paceHeap sets when the next collection begins, by what the last one has left, and is called after it.
// Until then the process takes no more memory from the system than that needs, so that pages which
// lie free go back to it where others are taken: large values find no room between small ones.
func paceHeap(*heapMark) {
	now := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"},
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
	}
	metrics.Read(now)
	value := func(i int) uint64 { return now[i].Value.Uint64() }
	live := value(0)
	percent := sparePercent(live)
	if percent != value(1) {
		debug.SetGCPercent(int(percent))
	}
	aside := value(3) - value(4) - value(5) - value(6) // what is in use beside objects, and between them
	if limit := min(memoryLimit(live, aside), mostMemory); limit != value(2) {
		debug.SetMemoryLimit(int64(limit))
	}
	runtime.SetFinalizer(new(heapMark), paceHeap)
}

// sparePercent returns how much garbage may lie beside so many bytes that are in use, in per cent of
// them.
func sparePercent(live uint64) uint64 {
	spare := min(spareHeap, largeHeap-min(largeHeap, live))
	return min(400, max(10, 100*spare/max(1, live)))
}

// mostMemory is the limit that GOMEMLIMIT of the environment sets, or none to speak of.
var mostMemory = uint64(debug.SetMemoryLimit(-1))

// memoryGrain is the number of bytes by which the limit of this process's memory goes up and down, so that
// it is not set after every collection.
const memoryGrain = 2 << 20

// memoryLimit returns how many bytes this process may take where so many are in use and so many lie aside of
// these: as many as the collector lets the heap grow to, which keeps a thirty-third of that in reserve.
func memoryLimit(live, aside uint64) uint64 {
	goal := live + live/100*sparePercent(live)
	limit := goal + goal/32 + aside + 2*memoryGrain
	return limit - limit%memoryGrain
}
