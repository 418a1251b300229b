//go:build !linux

package host

// stopped knows nothing here.
func stopped(int) bool { return false }

// awaitEnd does nothing here.
func awaitEnd(int) bool { return false }
