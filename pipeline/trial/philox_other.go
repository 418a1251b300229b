//go:build !amd64

package trial

// vector says that this machine has philox8.
const vector = false

func philox8(*[16]uint64, *[4]uint32, *[2]uint32) {}
