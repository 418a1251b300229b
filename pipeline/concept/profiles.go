package concept

import "sync"

// Profiles lends profiles to trials, so that trials on the same class share memory. The zero value
// is ready for use, by several goroutines at a time as well.
type Profiles struct{ pool sync.Pool }

// lent is a profile of the class that spec names.
type lent struct {
	spec Spec
	Profile
}

// Draw returns what draw answers for the profile of a sample, points x (row-major) with labels y,
// in the class that s names. draw must not keep the profile. The errors are those of New,
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
