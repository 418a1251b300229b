//go:build !linux

package host

// resident is not known here: memory is not watched on other systems than Linux.
func resident(int) (n int64, ok bool) { return 0, false }

// awaitEnd does nothing here.
func awaitEnd(int) bool { return false }
