//go:build !long

package testkit

// LongRun reports whether this is the long run, for tests that do less in the ordinary one.
const LongRun = false
