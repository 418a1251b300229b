//go:build !linux

package host

// stopped is not supported.
func stopped(int) bool { return false }

// awaitEnd is not supported.
func awaitEnd(int) bool { return false }
