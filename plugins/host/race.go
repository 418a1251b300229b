//go:build race

package host

// The built-in plugins are built with the race detector too, and get its options.
func init() { allowed = append(allowed, "GORACE") }
