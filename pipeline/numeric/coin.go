package numeric

import "math/rand/v2"

// Coin returns -1 or +1 with equal probability. It uses one word of r.
func Coin(r *rand.Rand) float64 { return 2*float64(r.Uint64()>>63) - 1 }
