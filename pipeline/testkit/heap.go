package testkit

import "runtime"

// LiveHeap returns the bytes of the objects that are still in use.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the first one leaves what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
