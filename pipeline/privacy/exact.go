package privacy

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
)

// Integers draws a uniform integer in [0, n), n >= 1. It is all the randomness that the exact samplers use. They do not run
// in constant time: how long they take says something about their parameters and their answer.
type Integers func(n *big.Int) (*big.Int, error)

// Secure draws integers from a source of random bytes, crypto/rand.Reader for a release.
func Secure(source io.Reader) Integers {
	return func(n *big.Int) (*big.Int, error) { return rand.Int(source, n) }
}

// BernoulliExp is true with probability e^-g, exactly, for a rational g >= 0 (Canonne, Kamath and Steinke 2020, Algorithm 1).
func BernoulliExp(draw Integers, g *big.Rat) (bool, error) {
	if g.Sign() < 0 {
		return false, fmt.Errorf("draw bernoulli(exp(-g)): g %v is negative", g)
	}
	one := big.NewRat(1, 1)
	for g.Cmp(one) > 0 {
		if ok, err := bernoulliExpUnit(draw, one); !ok || err != nil {
			return false, err
		}
		g = new(big.Rat).Sub(g, one)
	}
	return bernoulliExpUnit(draw, g)
}

// bernoulliExpUnit handles 0 <= g <= 1: the first k at which a Bernoulli(g/k) fails is odd with probability e^-g.
func bernoulliExpUnit(draw Integers, g *big.Rat) (bool, error) {
	for k := int64(1); ; k++ {
		v, err := draw(new(big.Int).Mul(g.Denom(), big.NewInt(k)))
		if err != nil {
			return false, fmt.Errorf("draw bernoulli(exp(-g)): %w", err)
		}
		if v.Cmp(g.Num()) >= 0 {
			return k%2 == 1, nil
		}
	}
}

// DiscreteLaplace draws the integer y with probability proportional to e^(-|y|/scale), exactly, for a rational scale > 0
// (Canonne, Kamath and Steinke 2020, Algorithm 2).
func DiscreteLaplace(draw Integers, scale *big.Rat) (*big.Int, error) {
	if scale.Sign() <= 0 {
		return nil, fmt.Errorf("draw discrete laplace: scale %v is not positive", scale)
	}
	t, s := scale.Num(), scale.Denom()
	for {
		u, err := draw(t)
		if err != nil {
			return nil, fmt.Errorf("draw discrete laplace: %w", err)
		}
		if ok, err := BernoulliExp(draw, new(big.Rat).SetFrac(u, t)); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		v, err := geometric(draw)
		if err != nil {
			return nil, err
		}
		y := new(big.Int).Mul(t, v)
		y.Add(y, u).Quo(y, s)
		sign, err := draw(big.NewInt(2))
		if err != nil {
			return nil, fmt.Errorf("draw discrete laplace: %w", err)
		}
		if sign.Sign() == 0 {
			return y, nil
		}
		if y.Sign() > 0 { // minus 0 is drawn again, or 0 would count twice
			return y.Neg(y), nil
		}
	}
}

// geometric draws v >= 0 with probability (1 - 1/e) e^-v.
func geometric(draw Integers) (*big.Int, error) {
	one := big.NewRat(1, 1)
	for v := int64(0); ; v++ {
		if ok, err := bernoulliExpUnit(draw, one); !ok || err != nil {
			return big.NewInt(v), err
		}
	}
}

// DiscreteGaussian draws the integer y with probability proportional to e^(-y^2 / (2 variance)), exactly, for a rational
// variance > 0 (Canonne, Kamath and Steinke 2020, Algorithm 3).
func DiscreteGaussian(draw Integers, variance *big.Rat) (*big.Int, error) {
	if variance.Sign() <= 0 {
		return nil, fmt.Errorf("draw discrete gaussian: variance %v is not positive", variance)
	}
	t := new(big.Int).Quo(variance.Num(), variance.Denom())
	t.Sqrt(t).Add(t, big.NewInt(1)) // floor(sigma) + 1
	scale := new(big.Rat).SetInt(t)
	center := new(big.Rat).Quo(variance, scale)
	twice := new(big.Rat).Add(variance, variance)
	for {
		y, err := DiscreteLaplace(draw, scale)
		if err != nil {
			return nil, err
		}
		g := new(big.Rat).SetInt(new(big.Int).Abs(y))
		g.Sub(g, center)
		g.Mul(g, g).Quo(g, twice)
		if ok, err := BernoulliExp(draw, g); err != nil {
			return nil, err
		} else if ok {
			return y, nil
		}
	}
}

// PermuteAndFlip chooses an index of error counts, epsilon-differentially private when one example moves each count by at most 1,
// exactly (McKenna and Sheldon 2020): in random order, index i is accepted with probability e^(-epsilon (counts[i] - least)/2).
// epsilon is a rational >= 0; there must be at least one count.
func PermuteAndFlip(draw Integers, counts []int64, epsilon *big.Rat) (int, error) {
	if len(counts) == 0 {
		return 0, errors.New("permute and flip: no counts to choose from")
	}
	if epsilon.Sign() < 0 {
		return 0, fmt.Errorf("permute and flip: epsilon %v is negative", epsilon)
	}
	order := make([]int, len(counts))
	least := counts[0]
	for i, e := range counts {
		order[i] = i
		least = min(least, e)
	}
	half := new(big.Rat).Quo(epsilon, big.NewRat(2, 1))
	for i := range order {
		j, err := draw(big.NewInt(int64(len(order) - i)))
		if err != nil {
			return 0, fmt.Errorf("permute and flip: %w", err)
		}
		k := i + int(j.Int64())
		order[i], order[k] = order[k], order[i]
		excess := new(big.Int).Sub(big.NewInt(counts[order[i]]), big.NewInt(least))
		g := new(big.Rat).SetInt(excess)
		if ok, err := BernoulliExp(draw, g.Mul(g, half)); err != nil {
			return 0, err
		} else if ok {
			return order[i], nil
		}
	}
	return 0, errors.New("permute and flip: the least error was not accepted") // cannot happen: it is accepted with probability 1
}
