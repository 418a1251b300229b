package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// collectLazily has garbage collected late from now on, as outcomes pass through a small heap: it may be
// four times what is in use. Of a large heap it is spareHeap, or a quarter, because that is the memory
// of the machine. GOGC of the environment has its way instead.
var collectLazily = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		paceHeap(nil)
	}
})

// spareHeap is the number of bytes of garbage that may lie in the heap, if less than four times what is
// in use.
const spareHeap = 32 << 20

// heapMark becomes garbage once in each cycle of the collector. It must not be empty, or tiny.
type heapMark [64]byte

// paceHeap sets when the next collection begins, by what the last one has left, and is called after it.
func paceHeap(*heapMark) {
	now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	if percent := sparePercent(now[0].Value.Uint64()); percent != now[1].Value.Uint64() {
		debug.SetGCPercent(int(percent))
	}
	runtime.SetFinalizer(new(heapMark), paceHeap)
}

// sparePercent returns how much garbage may lie beside so many bytes that are in use, in per cent of
// them.
func sparePercent(live uint64) uint64 { return min(400, max(25, 100*spareHeap/max(1, live))) }
