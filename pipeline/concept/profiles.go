package concept

import "sync"

// Profiles is a pool of profiles, so that trials on the same class share memory. The zero value
// is ready for use. It is safe for concurrent use.
type Profiles struct{ pool sync.Pool }

// lent is a profile of the class of spec.
type lent struct {
	spec Spec
	Profile
}

// Draw returns the result of draw for the profile of a sample, points x (row-major) with labels
// y, in the class of s. draw must not retain the profile. The errors are those of New,
// Class.NewProfile and Profile.Reset.
func (l *Profiles) Draw(s Spec, x, y []float64, draw func(Profile) Hypothesis) (Hypothesis, error) {
	p, _ := l.pool.Get().(*lent)
	if p == nil || p.spec != s {
		c, err := New(s)
		if err != nil {
			return nil, err
		}
		profile, err := c.NewProfile()
		if err != nil {
			return nil, err
		}
		p = &lent{s, profile}
	}
	defer l.pool.Put(p)
	if err := p.Reset(x, y); err != nil {
		return nil, err
	}
	return draw(p.Profile), nil
}
