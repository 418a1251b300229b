//go:build !amd64

package boosting

// hasAVX2 tells that none of the functions below is called.
const hasAVX2 = false

func innerAVX2(out, x, v []float64, ahead int)                                         {}
func gatherAVX2(acc, x, w []float64, ahead int)                                        {}
func capAVX2(mu, u, y []float64, factor float64)                                       {}
func lowerAVX2(s, h, y []float64, half float64, extremes *[8]float64)                  {}
func expAVX2(u, s []float64, shift float64)                                            {}
func splitAVX2(sums *[4]float64, u *[4 * blockRows]float64, factor, limit float64) int { return 0 }
