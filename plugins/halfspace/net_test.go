package halfspace

import (
	"math"
	"testing"
)

// farthest returns the largest Euclidean distance of a direction from the net, from the least of
// the largest inner products.
func farthest(net []float64, dim int, directions [][]float64) float64 {
	least := 1.0
	for _, u := range directions {
		largest := -1.0
		for i := 0; i < len(net); i += dim {
			if c := plainDot(net[i:i+dim], u); c > largest {
				largest = c
			}
		}
		least = min(least, largest)
	}
	return math.Sqrt(max(0, 2-2*least))
}

// fineDirections returns a fine grid of unit vectors, with the poles and many more on the equator.
func fineDirections(dim int) [][]float64 {
	var all [][]float64
	for i := range 5000 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 5000)
		all = append(all, []float64{c, s, 0}[:dim])
	}
	for i := 0; dim == 3 && i <= 100; i++ {
		z, width := math.Cos(math.Pi*float64(i)/100), math.Sin(math.Pi*float64(i)/100)
		for j := range 120 {
			s, c := math.Sincos(2 * math.Pi * float64(j) / 120)
			all = append(all, []float64{width * c, width * s, z})
		}
	}
	return all
}

func TestGridCovers(t *testing.T) {
	for _, c := range []struct {
		dim           int
		radius, least float64 // least distance of the farthest direction; if it were smaller, the grid would be too fine
		most          float64 // maximum number of points
	}{
		{1, 0.01, 0, 2},
		{2, 1, 0.76, 4}, {2, 0.3, 0.28, 11}, {2, 0.01, 0.0099, 315},
		{3, 1, 0.8, 10}, {3, 0.5, 0.44, 33},
		{3, 0.17, 0.16, 1.1 * 2 * math.Pi / 0.17 / 0.17}, {3, 0.05, 0.048, 1.03 * 2 * math.Pi / 0.05 / 0.05},
	} {
		net := gridNet(c.dim, c.radius)
		if got := len(net) / c.dim; got != gridSize(c.dim, c.radius) || float64(got) > c.most || cap(net) != len(net) {
			t.Errorf("d %d, radius %v: %d points, said to be %d, want up to %v",
				c.dim, c.radius, got, gridSize(c.dim, c.radius), c.most)
		}
		if rough := roughSize(c.dim, c.radius); math.Abs(math.Log(rough/float64(len(net)/c.dim))) > 1 {
			t.Errorf("d %d, radius %v: %d points, roughly %v", c.dim, c.radius, len(net)/c.dim, rough)
		}
		directions := fineDirections(max(2, c.dim))
		if c.dim == 1 {
			directions = [][]float64{{1}, {-1}}
		}
		if got := farthest(net, c.dim, directions); got > c.radius || got < c.least {
			t.Errorf("d %d, radius %v: a direction is %v away, want between %v and the radius", c.dim, c.radius, got, c.least)
		}
		unitVectors(t, net, c.dim)
	}
}

// unitVectors checks that all points of a net have norm 1.
func unitVectors(t *testing.T, net []float64, dim int) {
	t.Helper()
	for i := 0; i < len(net); i += dim {
		if s := squaredNorm(net[i : i+dim]); math.Abs(s-1) > 1e-14 {
			t.Fatalf("point %d has squared norm %v", i/dim, s)
		}
	}
}
