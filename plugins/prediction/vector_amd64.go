package prediction

import "golang.org/x/sys/cpu"

// vector tells whether the functions below may be called. A test sets it to false.
var vector = cpu.X86.HasAVX2

// countAVX2 returns how many of the first n products of the vectors v with u are at least 0; n is a
// multiple of 4. Coordinate j of vector i is v[j*stride+i]. Each product is the sum of its terms in
// the order of u, without fused multiply-adds. It checks no bounds.
//
//go:noescape
func countAVX2(v, u []float64, stride, n int) int
