package boosting

// selectRank returns the element of v that sorting would put at index rank, 0 <= rank < len(v). It
// reorders v.
func selectRank(v []float64, rank int) float64 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		pivot := v[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case rank <= j:
			hi = j
		case rank >= i:
			lo = i
		default:
			return v[rank]
		}
	}
	return v[lo]
}

// shareUpTo returns the share of v that is at most limit.
func shareUpTo(v []float64, limit float64) float64 {
	count := 0
	for _, x := range v {
		if x <= limit {
			count++
		}
	}
	return float64(count) / float64(len(v))
}
