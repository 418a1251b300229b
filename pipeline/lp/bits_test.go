package lp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// mixedProgram draws a program with numbers of one of six kinds: random in [-1, 1], whole, nearly
// whole, of very different sizes, any, or those of a cone program that may be infeasible.
func mixedProgram(r *rand.Rand) *Program {
	n, m := 1+r.IntN(9), r.IntN(14)
	switch r.IntN(8) {
	case 0:
		n, m = 1+r.IntN(40), r.IntN(8)
	case 1:
		n, m = 1+r.IntN(8), r.IntN(60)
	}
	unit := func() float64 { return 2*r.Float64() - 1 }
	whole := func() float64 { return float64(r.IntN(5) - 2) }
	switch r.IntN(6) {
	case 0:
		return boxedProgram(r, n, m, unit)
	case 1:
		return boxedProgram(r, n, m, whole)
	case 2:
		return boxedProgram(r, n, m, func() float64 { return whole() + float64(1e-9*whole()) })
	case 3:
		return boxedProgram(r, n, m, func() float64 { return math.Ldexp(unit(), r.IntN(60)-30) })
	case 4:
		return boxedProgram(r, n, m, func() float64 {
			return math.Float64frombits(r.Uint64()&(1<<63|1<<52-1) | r.Uint64N(2047)<<52)
		})
	}
	return conesProgram(r, n, m, unit)
}

// boxedProgram draws a program of n unknowns and m rows, of numbers drawn by draw: rows that repeat,
// zeros, equations, fixed unknowns.
func boxedProgram(r *rand.Rand, n, m int, draw func() float64) *Program {
	p := &Program{}
	for range n {
		low, width := draw(), math.Abs(draw())
		if r.IntN(10) == 0 {
			width = 0
		}
		p.C, p.Low, p.High = append(p.C, draw()), append(p.Low, low), append(p.High, min(low+width, math.MaxFloat64))
	}
	for k := range m {
		if k > 0 && r.IntN(4) == 0 {
			p.A = append(p.A, p.row(r.IntN(k))...)
		} else {
			for range n {
				p.A = append(p.A, float64(min(r.IntN(5), 1))*draw())
			}
		}
		low, high := draw(), inf
		switch r.IntN(4) {
		case 0:
			high = low
		case 1:
			high = min(low+math.Abs(draw()), math.MaxFloat64)
		case 2:
			low, high = -inf, low
		}
		p.RowLow, p.RowHigh = append(p.RowLow, low), append(p.RowHigh, high)
	}
	return p
}

// conesProgram is: maximise s with <u_i, v> >= s, |v|_inf <= 1 and s >= 0, for up to m unit vectors
// u of n numbers, which half of the time are on one side of a plane, and with <q, v> = 0 for the
// others.
func conesProgram(r *rand.Rand, n, m int, draw func() float64) *Program {
	p := &Program{}
	for range n {
		p.C, p.Low, p.High = append(p.C, 0), append(p.Low, -1), append(p.High, 1)
	}
	p.C, p.Low, p.High = append(p.C, 1), append(p.Low, 0), append(p.High, math.Sqrt(float64(n)))
	equations, turned := r.IntN(n+1), r.IntN(2) == 0
	for k := range m {
		u, square := make([]float64, n), 0.0
		for j := range u {
			u[j] = draw()
			square += float64(u[j] * u[j])
		}
		turn := 1.0
		if turned && u[0] < 0 {
			turn = -1
		}
		for j := range u {
			u[j] *= turn / math.Sqrt(square)
		}
		p.A, p.RowLow = append(p.A, u...), append(p.RowLow, 0)
		if k+equations < m {
			p.A, p.RowHigh = append(p.A, -1), append(p.RowHigh, inf)
		} else {
			p.A, p.RowHigh = append(p.A, 0), append(p.RowHigh, 0)
		}
	}
	return p
}

// The bits of answers are what they have always been: the outcomes of trials follow from them.
func TestSimplexBits(t *testing.T) {
	const want = "43a3c16d4249196f"
	h, r, counts := sha256.New(), rand.New(rand.NewPCG(7, 8)), map[error]int{}
	var s Simplex
	for range 20000 {
		o, err := s.Maximize(mixedProgram(r))
		kind := error(nil)
		for i, e := range []error{ErrInfeasible, ErrNotSolved} {
			if errors.Is(err, e) {
				kind = e
				h.Write([]byte{byte(i)})
			}
		}
		if err != nil && kind == nil {
			t.Fatal(err)
		}
		counts[kind]++
		var b []byte
		for _, list := range [][]float64{o.X, {o.Value, o.Bound}, o.Multipliers} {
			for _, v := range list {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
		}
		h.Write(b)
	}
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want || len(counts) != 3 {
		t.Errorf("digest %s, want %s, of answers with the errors %v", got, want, counts)
	}
}
