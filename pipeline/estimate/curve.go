package estimate

import "math"

// Isotonic returns the non-decreasing sequence that is nearest to y in weighted squares, by
// pooling adjacent violators. There are as many weights as values, and they are positive.
func Isotonic(y, weights []float64) []float64 {
	type block struct {
		mean, weight float64
		count        int
	}
	var blocks []block
	for i := range y {
		blocks = append(blocks, block{y[i], weights[i], 1})
		for len(blocks) > 1 {
			a, b := blocks[len(blocks)-2], blocks[len(blocks)-1]
			if a.mean <= b.mean {
				break
			}
			sum := a.weight + b.weight
			mean := (float64(a.mean*a.weight) + float64(b.mean*b.weight)) / sum
			blocks = append(blocks[:len(blocks)-2], block{mean, sum, a.count + b.count})
		}
	}
	out := make([]float64, 0, len(y))
	for _, b := range blocks {
		for range b.count {
			out = append(out, b.mean)
		}
	}
	return out
}

// Crossing returns the sample size at which the isotonic success rate of the points reaches
// target, by linear interpolation in ln n. points are ascending in N. The result is NaN if the
// rates do not cross target.
func Crossing(points []Point, target float64) float64 {
	rates := isotonicRates(points)
	for i := 1; i < len(points); i++ {
		if rates[i-1] < target && target <= rates[i] {
			share := (target - rates[i-1]) / (rates[i] - rates[i-1])
			a, b := math.Log(float64(points[i-1].N)), math.Log(float64(points[i].N))
			return math.Exp(a + float64(share*(b-a)))
		}
	}
	return math.NaN()
}

// isotonicRates returns the isotonic success rates of points, ascending in N, weighted by their
// trials.
func isotonicRates(points []Point) []float64 {
	rates, weights := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		rates[i], weights[i] = float64(p.Successes)/float64(p.Consumed), float64(p.Consumed)
	}
	return Isotonic(rates, weights)
}

// Bracket returns the largest sample size shown insufficient and the least shown sufficient for
// success probability target, and 0 if there is none. It uses exact one-sided limits that share
// level among all points. It requires that success does not become less likely with more data.
func Bracket(points []Point, target, level float64) (low, high int64) {
	each := level / float64(len(points))
	for _, p := range points {
		if CPUpper(p.Successes, p.Consumed, each) < target {
			low = max(low, p.N)
		}
		if CPLower(p.Successes, p.Consumed, each) >= target && (high == 0 || p.N < high) {
			high = p.N
		}
	}
	return low, high
}
