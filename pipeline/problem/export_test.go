package problem

import "github.com/shatterlab/shatter/schemas"

// Resolve checks p and fills in every default, as Open does.
func Resolve(p *schemas.Problem) error {
	_, err := resolve(p)
	return err
}
