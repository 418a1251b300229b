package lp

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrInfeasible says that no point satisfies a linear program. It is proved: the multipliers that
	// come with it are the proof.
	ErrInfeasible = errors.New("linear program infeasible")

	// ErrNotSolved says that rounding or the limit of pivots left a linear program without a verified
	// answer.
	ErrNotSolved = errors.New("linear program not solved")
)

// Tolerance is the rounding allowed in a verified optimum, relative to the sizes of the terms.
const Tolerance = 1e-9

// Program is: maximise <C, x> over the points of the box Low <= x <= High with RowLow <= A x <=
// RowHigh.
type Program struct {
	C, Low, High    []float64 // n unknowns; the bounds are finite, which rules out an unbounded maximum
	A               []float64 // m x n, row-major; m may be 0
	RowLow, RowHigh []float64 // m; -Inf or +Inf where a row has no such bound
}

// Optimum is a verified answer. With ErrInfeasible only Multipliers are set. The slices are the
// solver's own.
type Optimum struct {
	// X lies in the box. Row k of A misses its bounds by at most Tolerance sum_j |A_kj| max(|Low_j|,
	// |High_j|).
	X     []float64
	Value float64 // <C, X>

	// Bound is, up to rounding in its own sum, at least <C, x> for every feasible x, by weak duality:
	// for all multipliers y,
	//
	//	<C, x> = <C - A'y, x> + <y, A x> <= max over the box + max over the bounds of the rows.
	//
	// It agrees with Value to Tolerance times the sum of the sizes of the terms C_j x_j and y_k (A
	// x)_k.
	Bound float64

	// Multipliers has one number per row: for an optimum the y of Bound, for an infeasible program a y
	// with <y, A x> everywhere in the box larger than <y, r> for every r within the bounds of the
	// rows.
	Multipliers []float64
}

// Simplex solves small dense linear programs by the dual simplex method for bounded variables, on a
// table of m x n numbers: O(mn) per pivot, and usually a few pivots per unknown. The largest
// violation leaves; after 20(m+n) pivots Bland's rule, which cannot cycle, and after as many again
// ErrNotSolved. In the end values and gains are refined, primal steps put right what rounding has
// done to the gains, and a table whose answer cannot be verified is rebuilt. The rules are fixed:
// equal programs have equal answers, also where the maximiser is not unique.
//
// The zero value is ready. It owns scratch memory, which the next call reuses: one Simplex serves
// one goroutine, program after program, without allocating.
//
// It stands in for gonum's lp.Simplex, which has no limit of pivots, on programs as degenerate as
// these does not always end, and panics on some shapes.
type Simplex struct {
	p    *Program
	n, m int

	// Variables 0..n-1 are the unknowns, mapped to 0..1; n..n+m-1 are the activities <A_k, x> of the
	// rows, less what they are at Low, divided by unit. Nonbasic variables are at a bound. Basic
	// variable i changes by table[i n + j] for each unit of nonbasic variable j, and the objective by
	// gain[j].
	table, gain     []float64
	basic, nonbasic []int
	low, high, at   []float64
	unit            []float64 // of each row
	unitC           float64   // of the objective

	x, y, rest []float64
	enters     []bool
}

const (
	lpViolation = 3e-10 // of a bound, in scaled units, that is put right
	lpPivot     = 1e-10 // smallest number to divide by
	lpSlack     = 1e-11 // by which a gain may get the wrong sign for the sake of a larger pivot
	lpSingular  = 1e-14 // smallest number to divide by in rebuilding
	lpRebuilds  = 3     // of the table, after answers that rounding keeps from being verified
)

// Maximize solves p. The error is ErrInfeasible or ErrNotSolved, wrapped, or says what is wrong
// with p.
func (s *Simplex) Maximize(p *Program) (Optimum, error) {
	if err := p.check(); err != nil {
		return Optimum{}, err
	}
	s.start(p)
	return s.run()
}

// run pivots from where the variables are until an answer is verified.
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
		if !errors.Is(err, ErrNotSolved) || rebuilt == lpRebuilds {
			return o, err
		}
		s.rebuild()
		rebuilt++
	}
	return Optimum{}, fmt.Errorf("maximise over %d unknowns and %d rows: no end after %d pivots: %w",
		s.n, s.m, 2*limit, ErrNotSolved)
}

// answer verifies the end of the search: an optimum where no variable leaves (i < 0), infeasibility
// where variable i should leave and none can enter.
func (s *Simplex) answer(i int) (Optimum, error) {
	if i < 0 {
		return s.optimum()
	}
	return s.infeasible(i)
}

func (p *Program) check() error {
	n, m := len(p.C), len(p.RowLow)
	switch {
	case len(p.Low) != n || len(p.High) != n:
		return fmt.Errorf("read linear program: %d costs, %d lower and %d upper bounds: give one of each per unknown",
			n, len(p.Low), len(p.High))
	case len(p.RowHigh) != m || len(p.A) != m*n:
		return fmt.Errorf("read linear program: %d unknowns, %d numbers in A, %d lower and %d upper bounds of rows: give %d numbers in A",
			n, len(p.A), m, len(p.RowHigh), m*n)
	}
	for j, c := range p.C {
		if !finite(c) || !finite(p.Low[j]) || !finite(p.High[j]) || p.Low[j] > p.High[j] {
			return fmt.Errorf("read linear program: unknown %d costs %v and has bounds %v and %v: use finite, ordered numbers",
				j, c, p.Low[j], p.High[j])
		}
	}
	for k, low := range p.RowLow {
		if high := p.RowHigh[k]; !(low <= high) || math.IsInf(low, 1) || math.IsInf(high, -1) {
			return fmt.Errorf("read linear program: row %d has bounds %v and %v: use ordered numbers", k, low, high)
		}
		for _, a := range p.row(k) {
			if !finite(a) {
				return fmt.Errorf("read linear program: row %d of A has %v: use finite numbers", k, a)
			}
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (p *Program) row(k int) []float64 {
	n := len(p.C)
	return p.A[k*n : (k+1)*n]
}

// start makes the unknowns nonbasic, each at the bound that the objective likes better; then no
// gain has the wrong sign.
func (s *Simplex) start(p *Program) {
	s.p, s.n, s.m = p, len(p.C), len(p.RowLow)
	s.grow()
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

// fill makes the table in which the rows are basic.
func (s *Simplex) fill() {
	for j, c := range s.p.C {
		s.nonbasic[j] = j
		s.gain[j] = c * s.width(j)
	}
	s.unitC = scaleDown(s.gain)
	for k := range s.m {
		t := s.table[k*s.n : (k+1)*s.n]
		for j, a := range s.p.row(k) {
			t[j] = a * s.width(j)
		}
		s.basic[k], s.unit[k] = s.n+k, scaleDown(t)
	}
}

func (s *Simplex) width(j int) float64 { return s.p.High[j] - s.p.Low[j] }

// scaleDown divides v by its largest size, which it returns, or by 1 where that is 0.
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

func (s *Simplex) grow() {
	resize(&s.table, s.m*s.n)
	for _, v := range []*[]float64{&s.gain, &s.x, &s.rest} {
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

func resize[T any](v *[]T, n int) {
	if cap(*v) < n {
		*v = make([]T, n)
	}
	*v = (*v)[:n]
}

// leaving returns the basic variable furthest outside its bounds (with Bland's rule: the first
// variable outside), or -1.
func (s *Simplex) leaving(bland bool) int {
	found, most := -1, lpViolation
	for i, v := range s.basic {
		over := max(s.low[v]-s.at[v], s.at[v]-s.high[v])
		switch {
		case !(over > lpViolation):
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

// entering returns the nonbasic variable that can bring basic variable i towards its bound and
// whose gain reaches 0 first, so that the others keep their signs; of those that do so nearly
// together the one with the largest pivot (Harris 1973), with Bland's rule the first. It returns -1
// where none can move i.
func (s *Simplex) entering(i int, bland bool) int {
	slack := lpSlack
	if bland {
		slack = 0
	}
	limit := math.Inf(1)
	for j := range s.nonbasic {
		if pivot, gain := s.candidate(i, j); pivot > 0 {
			limit = min(limit, (gain+slack)/pivot)
		}
	}
	found, largest := -1, 0.0
	for j, v := range s.nonbasic {
		pivot, gain := s.candidate(i, j)
		switch {
		case pivot == 0 || gain/pivot > limit:
		case bland:
			if found < 0 || v < s.nonbasic[found] {
				found = j
			}
		case pivot > largest:
			found, largest = j, pivot
		}
	}
	return found
}

// candidate returns the size of the pivot that moves basic variable i towards its bound by nonbasic
// variable j, and the size of j's gain; 0 where j cannot do that.
func (s *Simplex) candidate(i, j int) (pivot, gain float64) {
	b, v := s.basic[i], s.nonbasic[j]
	pivot, gain = s.table[i*s.n+j], s.gain[j]
	if s.at[b] > s.high[b] {
		pivot = -pivot
	}
	if s.at[v] == s.high[v] { // may only fall
		pivot, gain = -pivot, -gain
	}
	if pivot < lpPivot || s.low[v] == s.high[v] {
		return 0, 0
	}
	return pivot, max(0, -gain)
}

// repair takes a step of the dual method: basic variable i goes to the bound that it violates. It
// reports false where no variable can enter for it.
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

// improve takes a step of the primal method. It is for the end, when no basic variable violates a
// bound and rounding, magnified by small pivots, has given a gain the wrong sign after all. It
// reports false where all signs are right.
func (s *Simplex) improve() bool {
	found, most := -1, lpSlack
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
// variable j moves in the direction sign; of those that reach one nearly together the one with the
// largest pivot. It returns -1 where j can move by width.
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
		if r, rate, _ := room(i); rate > lpPivot {
			limit = min(limit, (max(0, r)+lpSlack)/rate)
		}
	}
	found = -1
	largest := 0.0
	for i := range s.basic {
		if r, rate, bound := room(i); rate > lpPivot && rate > largest && max(0, r)/rate <= limit && limit < width {
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

// rebuild makes the table of the present basis anew from the program, each time with the largest
// pivot there is: it then has the rounding of the basis, and no longer that of the way to it. An
// unknown that finds no pivot goes to the bound that its gain likes.
func (s *Simplex) rebuild() {
	resize(&s.enters, s.n+s.m)
	clear(s.enters)
	for _, v := range s.nonbasic { // the rows among them are to be nonbasic again
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

// largest returns the row and column of the largest pivot among the rows that are to become
// nonbasic and the unknowns that are to become basic.
func (s *Simplex) largest() (row, column int) {
	row, column, most := -1, -1, lpSingular
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

// exchange replaces in t the variable of column j by what row says of it.
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

// refresh takes out of the values and gains what rounding has left in them after many pivots, by
// two steps of iterative refinement with the table as approximate inverse.
func (s *Simplex) refresh() {
	for range 2 {
		for j, v := range s.nonbasic {
			if v >= s.n {
				s.shift(j, s.at[v]-s.scaledActivity(v-s.n))
			}
		}
		for i, v := range s.basic {
			if v < s.n {
				s.reprice(i, s.scaledRest(v))
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
			s.gain[j] = s.scaledRest(v)
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

// reprice moves the gains of the rows as if basic variable i cost that much more.
func (s *Simplex) reprice(i int, cost float64) {
	for j, v := range s.nonbasic {
		if v >= s.n {
			s.gain[j] += float64(s.table[i*s.n+j] * cost)
		}
	}
}

// scaledActivity returns the activity of row k at the values of the unknowns, in scaled units.
func (s *Simplex) scaledActivity(k int) (sum float64) {
	for j, a := range s.p.row(k) {
		sum += float64(a * s.width(j) / s.unit[k] * s.at[j])
	}
	return sum
}

// scaledRest returns what unknown v costs beyond the gains of the nonbasic rows, in scaled units.
func (s *Simplex) scaledRest(v int) float64 {
	width := s.width(v)
	rest := s.p.C[v] * width / s.unitC
	for j, other := range s.nonbasic {
		if k := other - s.n; k >= 0 {
			rest -= float64(s.p.A[k*s.n+v] * width / s.unit[k] * s.gain[j])
		}
	}
	return rest
}

// optimum reads the answer off the last table and verifies it against the program as it was given.
func (s *Simplex) optimum() (Optimum, error) {
	p := s.p
	for j := range s.x {
		s.x[j] = min(max(p.Low[j]+float64(s.width(j)*s.at[j]), p.Low[j]), p.High[j])
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
	most, size := s.most(p.C)
	o := Optimum{X: s.x, Multipliers: s.y, Bound: most}
	for j, c := range p.C {
		o.Value += float64(c * s.x[j])
	}
	for k, y := range s.y {
		if y > 0 {
			o.Bound += float64(y * p.RowHigh[k])
		} else if y < 0 {
			o.Bound += float64(y * p.RowLow[k])
		}
		activity, reach := s.activity(k)
		size += float64(math.Abs(y) * reach)
		if miss := max(p.RowLow[k]-activity, activity-p.RowHigh[k]); !(miss <= Tolerance*reach) || !finite(reach) {
			return Optimum{}, fmt.Errorf("verify optimum: row %d misses its bounds by %g: %w", k, miss, ErrNotSolved)
		}
	}
	if gap := math.Abs(o.Bound - o.Value); !(gap <= Tolerance*size) || !finite(size) {
		return Optimum{}, fmt.Errorf("verify optimum: value %g and bound %g: %w", o.Value, o.Bound, ErrNotSolved)
	}
	return o, nil
}

// most returns the maximum over the box of <c - A'y, x>, with the sum of the sizes of the terms <c,
// x>. A multiplier that would need a bound its row does not have is rounding, and becomes 0. c may
// be nil: 0.
func (s *Simplex) most(c []float64) (most, size float64) {
	p := s.p
	clear(s.rest)
	copy(s.rest, c)
	for k, y := range s.y {
		if y > 0 && math.IsInf(p.RowHigh[k], 1) || y < 0 && math.IsInf(p.RowLow[k], -1) {
			s.y[k] = 0
		} else if y != 0 {
			for j, a := range p.row(k) {
				s.rest[j] -= float64(y * a)
			}
		}
	}
	for j, r := range s.rest {
		most += max(float64(r*p.Low[j]), float64(r*p.High[j]))
		if c != nil {
			size += float64(math.Abs(c[j]) * s.reach(j))
		}
	}
	return most, size
}

// reach returns the largest absolute value of unknown j.
func (s *Simplex) reach(j int) float64 { return max(math.Abs(s.p.Low[j]), math.Abs(s.p.High[j])) }

// activity returns <A_k, x>, and the largest that the sum of the sizes of its terms can be in the
// box.
func (s *Simplex) activity(k int) (activity, reach float64) {
	for j, a := range s.p.row(k) {
		activity += float64(a * s.x[j])
		reach += float64(math.Abs(a) * s.reach(j))
	}
	return activity, reach
}

// infeasible verifies that there is no feasible point where no nonbasic variable can bring basic
// variable i to the bound that it violates. The row of the table says that a sum of activities
// equals a sum of unknowns, and its multipliers are the proof if the two sums differ by more than
// rounding can do.
func (s *Simplex) infeasible(i int) (Optimum, error) {
	p, b := s.p, s.basic[i]
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
	most, size := s.most(nil) // of <-A'y, x>
	for k, y := range s.y {
		var bound float64
		if y > 0 {
			bound = y * p.RowHigh[k]
		} else if y < 0 {
			bound = y * p.RowLow[k]
		}
		_, reach := s.activity(k)
		most += bound
		size += math.Abs(bound) + float64(math.Abs(y)*reach)
	}
	const ulp = 0x1p-52
	if rounding := float64(s.n+s.m+4) * ulp * size; !(most < -rounding) {
		return Optimum{}, fmt.Errorf("verify that %d rows are infeasible: they differ by %g, rounding is %g: %w",
			s.m, -most, rounding, ErrNotSolved)
	}
	return Optimum{Multipliers: s.y}, fmt.Errorf("maximise over %d unknowns and %d rows: %w", s.n, s.m, ErrInfeasible)
}
