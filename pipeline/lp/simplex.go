package lp

import (
	"errors"
	"fmt"
	"math"
)

// Simplex solves small dense linear programs by the dual simplex method for bounded variables, on
// a table of m x n numbers: O(mn) per pivot, and usually a few pivots per unknown. The variable
// with the largest violation leaves the basis. After 20(m+n) pivots Bland's rule, which cannot
// cycle, replaces this choice; after as many again Simplex returns ErrNotSolved. At the end it
// refines values and gains, and primal steps repair the rounding errors of the gains. If the
// answer cannot be verified, it rebuilds the table. The rules are deterministic: equal programs
// have equal answers, even if the maximizer is not unique.
//
// The zero value is ready for use. It owns scratch memory, which the next call reuses: one
// Simplex serves one goroutine for many programs without allocating.
//
// It replaces gonum's lp.Simplex, which has no limit of pivots, does not always terminate on
// programs as degenerate as these, and panics on some shapes.
type Simplex struct {
	verifier     // also holds the program
	n, m     int // number of unknowns and rows

	// Variables 0..n-1 are the unknowns, mapped to 0..1; n..n+m-1 are the activities <A_k, x> of
	// the rows, minus their values at Low, divided by unit. Nonbasic variables are at a bound.
	// Basic variable i changes by table[i n + j] for each unit of nonbasic variable j, and the
	// objective by gain[j].
	table, gain     []float64
	basic, nonbasic []int
	low, high, at   []float64
	unit            []float64 // unit of each row
	unitC           float64   // unit of the objective
	scaled, cost    []float64 // rows and objective in these units, for the unknowns mapped to 0..1

	pivots, gains []float64 // scratch memory of entering
	enters        []bool    // scratch: variables that rebuild makes nonbasic
}

const (
	violation   = 3e-10 // least violation of a bound, in scaled units, that is repaired
	minPivot    = 1e-10 // smallest permitted divisor
	gainSlack   = 1e-11 // wrong-signed gain that is permitted to obtain a larger pivot
	singular    = 1e-14 // smallest permitted divisor in rebuilding
	maxRebuilds = 3     // limit of rebuilds of the table after answers that cannot be verified
)

// Maximize solves p. The error wraps ErrInfeasible or ErrNotSolved, or describes an invalid p.
func (s *Simplex) Maximize(p *Program) (Optimum, error) {
	if err := p.check(); err != nil {
		return Optimum{}, err
	}
	s.start(p)
	return s.run()
}

// run pivots from the present state until an answer is verified.
func (s *Simplex) run() (Optimum, error) {
	limit, rebuilt := 20*(s.n+s.m)+100, 0
	for pivots := 0; pivots < 2*limit; pivots++ {
		bland := pivots >= limit
		i := s.leaving(bland)
		if i < 0 {
			s.refresh()
			i = s.leaving(bland)
		}
		if i >= 0 && s.repair(i, bland) || i < 0 && s.improve() {
			continue
		}
		o, err := s.answer(i)
		if !errors.Is(err, ErrNotSolved) || rebuilt == maxRebuilds {
			return o, err
		}
		s.rebuild()
		rebuilt++
	}
	return Optimum{}, fmt.Errorf("maximise over %d unknowns and %d rows: no end after %d pivots: %w",
		s.n, s.m, 2*limit, ErrNotSolved)
}

// answer verifies the end of the search: an optimum if no variable leaves (i < 0), infeasibility
// if variable i should leave and none can enter.
func (s *Simplex) answer(i int) (Optimum, error) {
	if i < 0 {
		s.readOptimum()
		return s.verifyOptimum()
	}
	s.readInfeasible(i)
	return s.verifyInfeasible()
}

// start makes the unknowns nonbasic, each at the bound with the larger objective. Then no gain
// has the wrong sign.
func (s *Simplex) start(p *Program) {
	s.p, s.n, s.m = p, len(p.C), len(p.RowLow)
	s.grow()
	s.measure()
	s.fill()
	for j, gain := range s.gain {
		s.low[j], s.high[j], s.at[j] = 0, 1, 0
		if gain > 0 {
			s.at[j] = 1
		}
	}
	for k := range s.m {
		var base float64
		for j, a := range p.row(k) {
			base += float64(a * p.Low[j])
		}
		v := s.n + k
		s.low[v], s.high[v] = (p.RowLow[k]-base)/s.unit[k], (p.RowHigh[k]-base)/s.unit[k]
		s.at[v] = s.scaledActivity(k)
	}
}

// fill computes the table in which the rows are basic.
func (s *Simplex) fill() {
	width := s.width
	for j, c := range s.p.C {
		s.nonbasic[j] = j
		s.gain[j] = c * width[j]
	}
	s.unitC = scaleDown(s.gain)
	copy(s.cost, s.gain)
	for k := range s.m {
		t := s.table[k*s.n : (k+1)*s.n]
		for j, a := range s.p.row(k)[:len(t)] {
			t[j] = a * width[j]
		}
		s.basic[k], s.unit[k] = s.n+k, scaleDown(t)
	}
	copy(s.scaled, s.table)
}

// scaleDown divides v by its largest absolute value, which it returns, or by 1 if that is 0.
func scaleDown(v []float64) float64 {
	var unit float64
	for _, x := range v {
		unit = max(unit, math.Abs(x))
	}
	if unit == 0 {
		return 1
	}
	for j := range v {
		v[j] /= unit
	}
	return unit
}

// grow allocates the memory for the program.
func (s *Simplex) grow() {
	for _, v := range []*[]float64{&s.table, &s.scaled} {
		resize(v, s.m*s.n)
	}
	for _, v := range []*[]float64{&s.gain, &s.cost, &s.pivots, &s.gains, &s.width, &s.reach, &s.x, &s.reduced} {
		resize(v, s.n)
	}
	for _, v := range []*[]float64{&s.unit, &s.y} {
		resize(v, s.m)
	}
	for _, v := range []*[]float64{&s.low, &s.high, &s.at} {
		resize(v, s.n+s.m)
	}
	resize(&s.basic, s.m)
	resize(&s.nonbasic, s.n)
}

// resize sets the length of v to n, without preserving its contents.
func resize[T any](v *[]T, n int) {
	if cap(*v) < n {
		*v = make([]T, n)
	}
	*v = (*v)[:n]
}

// leaving returns the basic variable furthest outside its bounds (with Bland's rule: the first
// variable outside), or -1.
func (s *Simplex) leaving(bland bool) int {
	found, most := -1, violation
	at := s.at
	low, high := s.low[:len(at)], s.high[:len(at)]
	for i, v := range s.basic {
		under, over := low[v]-at[v], at[v]-high[v]
		if !(under > most || over > most) {
			continue
		}
		switch over = max(under, over); { // NaN if one of them does not exist
		case !(over > violation):
		case bland:
			if found < 0 || v < s.basic[found] {
				found = i
			}
		case over > most:
			found, most = i, over
		}
	}
	return found
}

// entering returns the nonbasic variable that can move basic variable i towards its bound and
// whose gain reaches 0 first, so that the others keep their signs. Among variables that reach 0
// almost together it returns the one with the largest pivot (Harris 1973), with Bland's rule the
// first. It returns -1 if none can move i.
func (s *Simplex) entering(i int, bland bool) int {
	slack := gainSlack
	if bland {
		slack = 0
	}
	limit := s.candidates(i, slack)
	pivots := s.pivots
	gains := s.gains[:len(pivots)]
	found, largest := -1, 0.0
	for j, pivot := range pivots {
		switch {
		case bland:
			if pivot != 0 && !(gains[j]/pivot > limit) && (found < 0 || s.nonbasic[j] < s.nonbasic[found]) {
				found = j
			}
		case pivot > largest && !(gains[j]/pivot > limit):
			found, largest = j, pivot
		}
	}
	return found
}

// candidates sets s.pivots to the sizes of the pivots that move basic variable i towards its
// bound by each of the nonbasic variables, and s.gains to the sizes of their gains. A pivot is 0
// if the variable cannot move i. It returns the least (gain + slack) / pivot.
func (s *Simplex) candidates(i int, slack float64) float64 {
	b, at := s.basic[i], s.at
	low, high := s.low[:len(at)], s.high[:len(at)]
	falls := at[b] > high[b]
	nonbasic := s.nonbasic
	row, gain := s.table[i*s.n:][:len(nonbasic)], s.gain[:len(nonbasic)]
	pivots, gains := s.pivots[:len(nonbasic)], s.gains[:len(nonbasic)]
	limit := math.Inf(1)
	for j, v := range nonbasic {
		pivot, g := row[j], -gain[j]
		mayOnlyFall := at[v] == high[v]
		if mayOnlyFall {
			g = -g
		}
		if mayOnlyFall != falls {
			pivot = -pivot
		}
		if pivot < minPivot || low[v] == high[v] {
			pivots[j] = 0
			continue
		}
		g = max(0, g)
		pivots[j], gains[j] = pivot, g
		if pivot > 0 {
			limit = min(limit, (g+slack)/pivot)
		}
	}
	return limit
}

// repair takes a step of the dual method: basic variable i moves to the bound that it violates.
// It returns false if no variable can enter for it.
func (s *Simplex) repair(i int, bland bool) bool {
	j := s.entering(i, bland)
	if j < 0 {
		return false
	}
	b := s.basic[i]
	if s.at[b] > s.high[b] {
		s.pivot(i, j, s.high[b])
	} else {
		s.pivot(i, j, s.low[b])
	}
	return true
}

// pivot moves basic variable i to the bound target by nonbasic variable j, and exchanges them.
func (s *Simplex) pivot(i, j int, target float64) {
	b := s.basic[i]
	s.move(j, (target-s.at[b])/s.table[i*s.n+j])
	s.at[b] = target
	s.swap(i, j)
}

// move moves nonbasic variable j by step.
func (s *Simplex) move(j int, step float64) {
	for i, v := range s.basic {
		s.at[v] += float64(s.table[i*s.n+j] * step)
	}
	s.at[s.nonbasic[j]] += step
}

// improve takes a step of the primal method. It runs at the end, when no basic variable violates
// a bound but rounding, magnified by small pivots, has given a gain the wrong sign. It returns
// false if all signs are right.
func (s *Simplex) improve() bool {
	found, most := -1, gainSlack
	for j, v := range s.nonbasic {
		over := s.gain[j]
		if s.at[v] == s.high[v] {
			over = -over
		}
		if s.low[v] < s.high[v] && over > most {
			found, most = j, over
		}
	}
	if found < 0 {
		return false
	}
	v := s.nonbasic[found]
	sign, width := 1.0, s.high[v]-s.low[v]
	if s.at[v] == s.high[v] {
		sign = -1
	}
	i, target := s.blocking(found, sign, width)
	switch {
	case i >= 0:
		s.pivot(i, found, target)
	case math.IsInf(width, 1):
		return false
	case sign > 0:
		s.move(found, width)
		s.at[v] = s.high[v]
	default:
		s.move(found, -width)
		s.at[v] = s.low[v]
	}
	return true
}

// blocking returns the basic variable that first reaches a bound, and this bound, when nonbasic
// variable j moves in the direction sign. Among variables that reach one almost together it
// returns the one with the largest pivot. It returns -1 if j can move by width.
func (s *Simplex) blocking(j int, sign, width float64) (found int, target float64) {
	room := func(i int) (room, rate, bound float64) {
		v := s.basic[i]
		if rate = sign * s.table[i*s.n+j]; rate > 0 {
			return s.high[v] - s.at[v], rate, s.high[v]
		}
		return s.at[v] - s.low[v], -rate, s.low[v]
	}
	limit := width
	for i := range s.basic {
		if r, rate, _ := room(i); rate > minPivot {
			limit = min(limit, (max(0, r)+gainSlack)/rate)
		}
	}
	found = -1
	largest := 0.0
	for i := range s.basic {
		if r, rate, bound := room(i); rate > minPivot && rate > largest && max(0, r)/rate <= limit && limit < width {
			found, target, largest = i, bound, rate
		}
	}
	return found, target
}

// swap exchanges basic variable i and nonbasic variable j in the table.
func (s *Simplex) swap(i, j int) {
	row := s.table[i*s.n : (i+1)*s.n]
	inverse := 1 / row[j]
	for k := range row {
		row[k] *= -inverse
	}
	row[j] = inverse
	for l := range s.basic {
		if l != i {
			exchange(s.table[l*s.n:(l+1)*s.n], row, j)
		}
	}
	exchange(s.gain, row, j)
	s.basic[i], s.nonbasic[j] = s.nonbasic[j], s.basic[i]
}

// rebuild recomputes the table of the present basis from the program, each time with the largest
// available pivot. Its rounding error then depends on the basis only, not on the previous pivots.
// An unknown without a pivot moves to the bound with the larger gain.
func (s *Simplex) rebuild() {
	resize(&s.enters, s.n+s.m)
	clear(s.enters)
	for _, v := range s.nonbasic { // these rows become nonbasic again
		s.enters[v] = true
	}
	s.fill()
	for {
		i, j := s.largest()
		if i < 0 {
			break
		}
		s.swap(i, j)
	}
	for j, v := range s.nonbasic {
		if v < s.n && !s.enters[v] {
			s.at[v] = 0
			if s.gain[j] > 0 {
				s.at[v] = 1
			}
		}
	}
	s.refresh()
}

// largest returns the row and column of the largest pivot among the rows that become nonbasic and
// the unknowns that become basic.
func (s *Simplex) largest() (row, column int) {
	row, column, most := -1, -1, singular
	for i, b := range s.basic {
		if b < s.n || !s.enters[b] {
			continue
		}
		for j, v := range s.nonbasic {
			if v < s.n && !s.enters[v] && math.Abs(s.table[i*s.n+j]) > most {
				row, column, most = i, j, math.Abs(s.table[i*s.n+j])
			}
		}
	}
	return row, column
}

// exchange replaces in t the variable of column j by its expression in row.
func exchange(t, row []float64, j int) {
	f := t[j]
	if f == 0 {
		return
	}
	t[j] = 0
	for k, r := range row[:len(t)] {
		t[k] += float64(f * r)
	}
}

// refresh removes the rounding errors of many pivots from the values and gains, by two steps of
// iterative refinement with the table as approximate inverse.
func (s *Simplex) refresh() {
	for range 2 {
		for j, v := range s.nonbasic {
			if v >= s.n {
				s.shift(j, s.at[v]-s.scaledActivity(v-s.n))
			}
		}
		for i, v := range s.basic {
			if v < s.n {
				s.reprice(i, s.scaledCost(v))
			}
		}
	}
	for _, v := range s.basic {
		if v >= s.n {
			s.at[v] = s.scaledActivity(v - s.n)
		}
	}
	for j, v := range s.nonbasic {
		if v < s.n {
			s.gain[j] = s.scaledCost(v)
		}
	}
}

// shift moves the basic unknowns as if nonbasic variable j moved by step.
func (s *Simplex) shift(j int, step float64) {
	for i, v := range s.basic {
		if v < s.n {
			s.at[v] += float64(s.table[i*s.n+j] * step)
		}
	}
}

// reprice changes the gains of the rows as if the cost of basic variable i rose by cost.
func (s *Simplex) reprice(i int, cost float64) {
	for j, v := range s.nonbasic {
		if v >= s.n {
			s.gain[j] += float64(s.table[i*s.n+j] * cost)
		}
	}
}

// scaledActivity returns the activity of row k at the values of the unknowns, in scaled units.
func (s *Simplex) scaledActivity(k int) (sum float64) {
	row := s.scaled[k*s.n : (k+1)*s.n]
	for j, at := range s.at[:len(row)] {
		sum += float64(row[j] * at)
	}
	return sum
}

// scaledCost returns the cost of unknown v beyond the gains of the nonbasic rows, in scaled
// units.
func (s *Simplex) scaledCost(v int) float64 {
	reduced := s.cost[v]
	for j, other := range s.nonbasic {
		if k := other - s.n; k >= 0 {
			reduced -= float64(s.scaled[k*s.n+v] * s.gain[j])
		}
	}
	return reduced
}

// readOptimum extracts x and y from the last table.
func (s *Simplex) readOptimum() {
	p := s.p
	for j := range s.x {
		s.x[j] = min(max(p.Low[j]+float64(s.width[j]*s.at[j]), p.Low[j]), p.High[j])
		if s.at[j] == 1 {
			s.x[j] = p.High[j]
		}
	}
	clear(s.y)
	for j, v := range s.nonbasic {
		if k := v - s.n; k >= 0 {
			s.y[k] = s.gain[j] * s.unitC / s.unit[k]
		}
	}
}

// readInfeasible extracts y from the row of basic variable i, which no nonbasic variable can move
// to the bound that it violates. The row states that a sum of activities equals a sum of
// unknowns; y proves infeasibility if the two sums differ by more than rounding errors.
func (s *Simplex) readInfeasible(i int) {
	b := s.basic[i]
	sign := 1.0
	if s.at[b] < s.low[b] {
		sign = -1
	}
	clear(s.y)
	if b >= s.n {
		s.y[b-s.n] = sign / s.unit[b-s.n]
	}
	for j, v := range s.nonbasic {
		if k := v - s.n; k >= 0 {
			s.y[k] = -sign * s.table[i*s.n+j] / s.unit[k]
		}
	}
}
