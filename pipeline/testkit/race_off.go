//go:build !race

package testkit

// Race reports that the race detector is on.
const Race = false
