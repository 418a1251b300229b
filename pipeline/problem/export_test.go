package problem

import (
	"github.com/shatterlab/shatter/pipeline/problem/population"
	"github.com/shatterlab/shatter/schemas"
)

// Resolve checks p and fills in every default, as Open does.
func Resolve(p *schemas.Problem) error {
	_, err := resolve(p, source{data: population.Read})
	return err
}
