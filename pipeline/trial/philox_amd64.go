package trial

import "golang.org/x/sys/cpu"

// vector says that this machine has philox8.
var vector = cpu.X86.HasAVX2

// philox8 fills words with the blocks of eight counters, of which ctr is the first and whose first
// words count up: two words of 64 bits for each, the earlier half of a block above the later one.
//
//go:noescape
func philox8(words *[16]uint64, ctr *[4]uint32, key *[2]uint32)
