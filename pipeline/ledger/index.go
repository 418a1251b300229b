package ledger

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// index is what is known of every trial, in memory: about 25 bytes a trial.
type Index map[[32]byte]*cellIndex

type cellIndex struct {
	frames  []FrameRef // in the order in which they were added
	points  map[int64]*point
	origins []Origin
}

// frameRef is where a frame lies.
type FrameRef struct {
	file   int32 // index of the file
	length int32 // of the message
	at     int64
}

// point is the outcomes of a cell at one sample size.
type point struct {
	pages map[int64]*page // by repetition / pageRows
	rows  int64
}

const pageRows = 32

// page is the outcomes of pageRows successive repetitions.
type page struct {
	state [pageRows]uint8  // 0: unknown, else 1 + status
	error [pageRows]uint64 // bits
	rest  [pageRows]uint64 // hash of what else has to be equal
	owner [pageRows]uint32 // index in the cell's frames of the message that it came from
}

func (x Index) cell(key [32]byte) *cellIndex {
	c := x[key]
	if c == nil {
		c = &cellIndex{points: map[int64]*point{}}
		x[key] = c
	}
	return c
}

// page is the page of a trial, or nil.
func (x Index) page(cell [32]byte, n, repetition int64) *page {
	c := x[cell]
	if c == nil || c.points[n] == nil || repetition < 0 {
		return nil
	}
	return c.points[n].pages[repetition/pageRows]
}

// judge compares a batch with what is known, and changes nothing. rest has the hash of each row.
func (x Index) Judge(b *Batch, rest []uint64) Verdict {
	v := Verdict{Batch: b}
	var p *page
	last := int64(-1)
	for i, rep := range b.Repetition {
		if rep/pageRows != last {
			last = rep / pageRows
			p = x.page(b.Cell, b.N, rep)
		}
		slot := rep % pageRows
		known := p != nil && p.state[slot] != 0
		switch status := b.Status[i]; {
		case status == Lost:
			if !known {
				v.Lost = append(v.Lost, i)
			}
		case !known:
			if v.New == nil {
				v.New = make([]int, 0, len(b.Repetition)-i)
			}
			v.New = append(v.New, i)
		case p.state[slot] == 1+status && p.rest[slot] == rest[i] && (status != OK || p.error[slot] == math.Float64bits(b.Error[i])):
			v.Duplicate++
		default:
			v.Conflicts = append(v.Conflicts, Conflict{
				Cell: b.Cell, N: b.N, Repetition: rep, Worker: b.Worker, Digest: b.Digest,
				First:  p.outcome(rep),
				Second: Outcome{Repetition: rep, Status: status, Error: b.Error[i]},
				rest:   rest[i],
			})
		}
	}
	return v
}

// outcome is the known outcome of a trial of the page.
func (p *page) outcome(repetition int64) Outcome {
	slot := repetition % pageRows
	return Outcome{Repetition: repetition, Status: p.state[slot] - 1, Error: math.Float64frombits(p.error[slot])}
}

// commit makes the new rows of a verdict known.
func (x Index) Commit(v Verdict, rest []uint64, ref FrameRef) {
	if len(v.New) == 0 {
		return
	}
	b := v.Batch
	c := x.cell(b.Cell)
	owner := uint32(len(c.frames))
	c.frames = append(c.frames, ref)
	c.credit(b, int64(len(v.New)))
	pt := c.points[b.N]
	if pt == nil {
		pt = &point{pages: map[int64]*page{}}
		c.points[b.N] = pt
	}
	pt.rows += int64(len(v.New))
	var p *page
	last := int64(-1)
	for _, i := range v.New {
		rep := b.Repetition[i]
		if rep/pageRows != last {
			last = rep / pageRows
			if p = pt.pages[last]; p == nil {
				p = &page{}
				pt.pages[last] = p
			}
		}
		slot := rep % pageRows
		p.state[slot] = 1 + b.Status[i]
		p.error[slot] = math.Float64bits(b.Error[i])
		p.rest[slot] = rest[i]
		p.owner[slot] = owner
	}
}

func (c *cellIndex) credit(b *Batch, rows int64) {
	for i := range c.origins {
		if o := &c.origins[i]; o.Digest == b.Digest && o.Profile == b.Profile {
			o.Outcomes += rows
			return
		}
	}
	c.origins = append(c.origins, Origin{Cell: b.Cell, Digest: b.Digest, Profile: b.Profile, Outcomes: rows})
}

// owns lists the rows of a batch that frame number owner of its cell brought.
func (x Index) owns(b *Batch, owner int) []int {
	rows := make([]int, 0, len(b.Repetition))
	var p *page
	last := int64(-1)
	for i, rep := range b.Repetition {
		if rep/pageRows != last {
			last = rep / pageRows
			p = x.page(b.Cell, b.N, rep)
		}
		if p != nil && p.state[rep%pageRows] != 0 && p.owner[rep%pageRows] == uint32(owner) {
			rows = append(rows, i)
		}
	}
	return rows
}

// outcomes is the known outcomes in the order of repetitions.
func (pt *point) outcomes() []Outcome {
	all := make([]Outcome, 0, pt.rows)
	for _, at := range slices.Sorted(maps.Keys(pt.pages)) {
		p := pt.pages[at]
		for slot := range int64(pageRows) {
			if p.state[slot] != 0 {
				all = append(all, p.outcome(at*pageRows+slot))
			}
		}
	}
	return all
}

// hashRows is, for each row, a hash of what has to be equal in two runs of a trial beside status and error: its kind and the
// metrics that it reported. Reasons are left out: they may hold addresses.
func HashRows(b *Batch) []uint64 {
	h := make([]uint64, len(b.Repetition))
	for m, name := range b.Metrics {
		seed := hashText(name)
		for i, v := range b.Values[m] {
			if v == v {
				h[i] = mix(h[i]^seed, math.Float64bits(v))
			}
		}
	}
	for i, kind := range b.Kind {
		if kind != "" {
			h[i] = mix(h[i], hashText(kind))
		}
	}
	return h
}

// mix folds a 128-bit product, as wyhash does.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9E3779B97F4A7C15, b^0xD1B54A32D192ED03)
	return hi ^ lo
}

// hashText is FNV-1a.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
