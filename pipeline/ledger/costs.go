package ledger

import (
	"fmt"
	"strconv"
	"strings"
)

// Costs says where the time of a worker went while it made the rows of a message: seconds, not
// negative. All but Idle are CPU time, user and system time together. The zero value says nothing:
// messages of older releases have it.
type Costs struct {
	Start  float64 // of plugin processes until they were ready
	Open   float64 // opening problems: reading data, preparing classes
	Draw   float64 // drawing samples, targets, points and queries
	Plugin float64 // of the plugin's process after that
	Score  float64 // scoring answers
	Carry  float64 // other work of the worker's process, with that of a coordinator in it
	Idle   float64 // that the slot had waited for the job, by the clock
}

// mostCost bounds each part, in seconds: some 30 years. Sums of them stay finite.
const mostCost = 1e9

// cost is one part of Costs.
type cost struct {
	name  string
	value *float64
}

func (c *Costs) parts() [7]cost {
	return [...]cost{
		{"open", &c.Open}, {"start", &c.Start}, {"draw", &c.Draw}, {"plugin", &c.Plugin}, {"score", &c.Score},
		{"carry", &c.Carry}, {"idle", &c.Idle},
	}
}

// Times returns the share of each part.
func (c Costs) Times(share float64) Costs {
	for _, p := range c.parts() {
		*p.value *= share
	}
	return c
}

// Plus returns the sums of the parts.
func (c Costs) Plus(d Costs) Costs {
	others := d.parts()
	for i, p := range c.parts() {
		*p.value += *others[i].value
	}
	return c
}

// String returns the parts in the form that parseCosts reads: draw=0.01 plugin=0.5.
func (c Costs) String() string {
	var b []byte
	for _, p := range c.parts() {
		if *p.value != 0 {
			b = append(append(append(b, ' '), p.name...), '=')
			b = strconv.AppendFloat(b, *p.value, 'g', -1, 64)
		}
	}
	return strings.TrimPrefix(string(b), " ")
}

// parseCosts reads what String has written. Parts that are not known are left out: a newer release
// may have them.
func parseCosts(text string) (c Costs, err error) {
	for part := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(part, "=")
		for _, p := range c.parts() {
			if p.name != name {
				continue
			}
			if *p.value, err = strconv.ParseFloat(value, 64); err != nil {
				return c, fmt.Errorf("costs: %w", err)
			}
		}
	}
	return c, nil
}

// check returns an error if a part is no number of seconds.
func (c Costs) check() error {
	for _, p := range c.parts() {
		if !(*p.value >= 0 && *p.value <= mostCost) {
			return fmt.Errorf("%s of its costs is %v: must be 0 to %g", p.name, *p.value, mostCost)
		}
	}
	return nil
}
