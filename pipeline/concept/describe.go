package concept

import (
	"fmt"
	"math/big"
)

// Description holds the properties of a class that do not depend on data.
type Description struct {
	Name    string
	Dim     int      // numbers per point
	Points  *big.Int // number of points of the domain; nil if infinite
	Size    *big.Int // |H|, distinct hypotheses; nil if infinite
	LogSize float64  // ln |H|; +Inf if infinite
	VC      Dimension
	Ldim    Dimension

	Representation Representation

	Separator   *Separator // separator of kind standard; nil if there is none, see NoSeparator
	Margin      Margin     // hull margin of its sign vectors
	NoSeparator error
}

// Describe describes the class that New creates from s. The dimensions take a few seconds at
// most, the margin takes the time of HullMargin for a class of at most 500 hypotheses. The error
// is that of New.
func Describe(s Spec) (*Description, error) {
	c, err := New(s)
	if err != nil {
		return nil, err
	}
	d := &Description{Name: c.Name(), Dim: c.Dim(), Points: domainSize(c, s), Size: c.Size(), LogSize: c.LogSize()}
	d.VC, d.Ldim = Dimensions(c, s)
	d.Representation = represent(c, s, d.VC, d.Ldim)
	f, finite := c.(Finite)
	if !finite {
		d.NoSeparator = fmt.Errorf("separate class %q: %s", d.Name, definitionOf(c).NoSeparator)
		return d, nil
	}
	if d.Separator, d.NoSeparator = NewSeparator(f, s, "standard", 0); d.NoSeparator == nil {
		d.Margin = d.Separator.HullMargin(f)
	}
	return d, nil
}

// domainSize returns the number of points of a domain, or nil if it is infinite.
func domainSize(c Class, s Spec) *big.Int {
	side := Side(s)
	if side == 0 {
		return nil
	}
	return new(big.Int).Exp(new(big.Int).SetUint64(side), big.NewInt(int64(c.Dim())), nil)
}
