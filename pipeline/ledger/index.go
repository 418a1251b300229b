package ledger

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// index holds what is known of every trial, in memory: about 25 bytes a trial.
type index map[[32]byte]*cellIndex

type cellIndex struct {
	frames  []frameRef // in the order in which they were added
	points  map[int64]*point
	origins []Origin
}

// frameRef says where a frame lies.
type frameRef struct {
	file   int32 // index of the file
	length int32 // of the message
	at     int64
}

// point holds the outcomes of a cell at one sample size.
type point struct {
	pages map[int64]*page // by repetition / pageRows
	rows  int64
}

const pageRows = 32

// page holds the outcomes of pageRows successive repetitions.
type page struct {
	state [pageRows]uint8  // 0: unknown, else 1 + status
	error [pageRows]uint64 // bits
	hash  [pageRows]uint64 // of what else has to be equal: see hashRows
	owner [pageRows]uint32 // index in the cell's frames of the message that it came from
}

func (x index) cell(key [32]byte) *cellIndex {
	c := x[key]
	if c == nil {
		c = &cellIndex{points: map[int64]*point{}}
		x[key] = c
	}
	return c
}

// page returns the page that a trial stands in, or nil where nothing on it is known.
func (x index) page(cell [32]byte, n, repetition int64) *page {
	c := x[cell]
	if c == nil || c.points[n] == nil || repetition < 0 {
		return nil
	}
	return c.points[n].pages[repetition/pageRows]
}

// judge compares a batch with what is known and changes nothing. hashes are those of hashRows.
func (x index) judge(b *Batch, hashes []uint64) Verdict {
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
		case p.state[slot] == 1+status && p.hash[slot] == hashes[i] &&
			(status != OK || p.error[slot] == math.Float64bits(b.Error[i])):
			v.Duplicate++
		default:
			v.Conflicts = append(v.Conflicts, Conflict{
				Cell: b.Cell, N: b.N, Repetition: rep, Worker: b.Worker, Digest: b.Digest,
				First:  p.outcome(rep),
				Second: Outcome{Repetition: rep, Status: status, Error: b.Error[i]},
				hash:   hashes[i],
			})
		}
	}
	return v
}

// outcome returns the outcome of a trial of the page, which has one.
func (p *page) outcome(repetition int64) Outcome {
	slot := repetition % pageRows
	return Outcome{Repetition: repetition, Status: p.state[slot] - 1, Error: math.Float64frombits(p.error[slot])}
}

// commit makes the new rows of a verdict known, as those of the frame at ref.
func (x index) commit(v Verdict, hashes []uint64, ref frameRef) {
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
		p.hash[slot] = hashes[i]
		p.owner[slot] = owner
	}
}

// credit counts rows of a batch for the plugin file and the float profile that made them.
func (c *cellIndex) credit(b *Batch, rows int64) {
	for i := range c.origins {
		if o := &c.origins[i]; o.Digest == b.Digest && o.Profile == b.Profile {
			o.Outcomes += rows
			return
		}
	}
	c.origins = append(c.origins, Origin{Cell: b.Cell, Digest: b.Digest, Profile: b.Profile, Outcomes: rows})
}

// owns returns the rows of a batch whose outcomes the frame with the number owner of its cell
// brought.
func (x index) owns(b *Batch, owner int) []int {
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

// outcomes returns what is known, in the order of repetitions.
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

// hashRows returns, for each row, a hash of what has to be equal in two runs of a trial beside
// status and error: its kind and the metrics that it reported. Reasons are left out, because they
// may hold addresses of memory.
func hashRows(b *Batch) []uint64 {
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

// mix folds the 128-bit product of a and b, as wyhash does.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9E3779B97F4A7C15, b^0xD1B54A32D192ED03)
	return hi ^ lo
}

// hashText returns the FNV-1a hash of s.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
