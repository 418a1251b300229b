package halfspace

import (
	"math"
	"math/rand/v2"
)

// Values of [ExponentialParams.Net].
const (
	Auto   = "auto"   // Grid in up to three dimensions, Random in more
	Grid   = "grid"   // every unit vector is within the radius of a point
	Random = "random" // independent uniform points: a heuristic without a guaranteed radius
)

// maxGridDim is the largest dimension with a grid.
const maxGridDim = 3

// newNet returns the net of resolved parameters, row-major. Only the random net uses r.
func newNet(p *ExponentialParams, dim int, r *rand.Rand) []float64 {
	if p.Net == Random {
		return randomNet(r, p.Points, dim)
	}
	return gridNet(dim, p.Radius)
}

// gridNet returns a net, row-major, that covers the unit sphere: every unit vector is within the
// radius, in Euclidean distance, of one of its points. Dimension 1 has both unit vectors, dimension
// 2 equal angles, dimension 3 the rings of newRings. radius is in (0, 1].
func gridNet(dim int, radius float64) []float64 {
	net := make([]float64, 0, dim*gridSize(dim, radius))
	switch dim {
	case 1:
		return append(net, 1, -1)
	case 2:
		m := angles(radius)
		for i := range m {
			sine, cosine := math.Sincos(2 * math.Pi * float64(i) / float64(m))
			net = append(net, cosine, sine)
		}
	default:
		for _, ring := range newRings(radius) {
			for i := range ring.points {
				sine, cosine := math.Sincos(2 * math.Pi * float64(i) / float64(ring.points))
				net = append(net, ring.width*cosine, ring.width*sine, ring.height)
			}
		}
	}
	return net
}

// gridSize returns the number of points of gridNet.
func gridSize(dim int, radius float64) int {
	switch dim {
	case 1:
		return 2
	case 2:
		return angles(radius)
	}
	total := 0
	for _, ring := range newRings(radius) {
		total += ring.points
	}
	return total
}

// roughSize returns the approximate gridSize, for any radius.
func roughSize(dim int, radius float64) float64 {
	return [maxGridDim]float64{2, math.Pi / radius, 2 * math.Pi / radius / radius}[dim-1]
}

// finer is a factor of the radius that compensates for rounding in the points.
const finer = 1 - 1e-9

// angles returns the least number of equal angles on the circle with every direction within
// pi/angles of one, a Euclidean distance of 2 sin(pi/(2 angles)) <= radius.
func angles(radius float64) int {
	return int(math.Ceil(math.Pi / (2 * math.Asin(finer*radius/2))))
}

// A ring is one circle of latitude with points at equal angles.
type ring struct {
	height, width float64 // cos and sin of the angle to the pole
	points        int
}

// newRings returns rings that cover the sphere by L bands of equal angular height h = pi/L, with a
// ring in the middle of each. With angles s and t to the pole and b between the longitudes, the
// squared Euclidean distance of two points is
//
//	4 sin^2((s-t)/2) + 4 sin(s) sin(t) sin^2(b/2).
//
// Any point is in some band, so |s-t| <= h/2, and within b <= pi/m of one of the m points of its
// ring: with w the largest sine in the band the square is at most
//
//	4 sin^2(h/4) + 4 w sin(t) sin^2(pi/(2m)).
//
// L is the least number that leaves half of radius^2 to the second term, and m the least number
// that keeps the sum below radius^2. There are about 2 pi/radius^2 points in all.
func newRings(radius float64) []ring {
	square := float64(finer * radius * finer * radius)
	count := int(math.Ceil(math.Pi / (4 * math.Asin(math.Sqrt(square/8)))))
	h := math.Pi / float64(count)
	up := math.Sin(h / 4)
	left := square - float64(4*up*up)
	rings := make([]ring, count)
	for i := range rings {
		t := h * (float64(i) + 0.5)
		sine, cosine := math.Sincos(t)
		widest := math.Sin(t - math.Copysign(h/2, t-math.Pi/2)) // at the edge nearer to the equator
		if 2*i+1 == count {
			widest = 1 // the equator is inside
		}
		m := 1.0
		if s := math.Sqrt(left / (4 * widest * sine)); s < 1 {
			m = math.Ceil(math.Pi / (2 * math.Asin(s)))
		}
		rings[i] = ring{height: cosine, width: sine, points: int(m)}
	}
	return rings
}

// randomNet returns independent uniform unit vectors, row-major.
func randomNet(r *rand.Rand, points, dim int) []float64 {
	net := make([]float64, points*dim)
	for i := 0; i < len(net); i += dim {
		direction(r, net[i:i+dim])
	}
	return net
}

// direction fills v with a uniform unit vector.
func direction(r *rand.Rand, v []float64) {
	square := 0.0
	for square == 0 {
		for j := range v {
			v[j] = r.NormFloat64()
		}
		square = squaredNorm(v)
	}
	scale(v, 1/math.Sqrt(square))
}
