package ledger

import (
	"math"
	"math/bits"
	"slices"
)

// index holds what is known of every trial, in memory: about 9 bytes a trial, and 8 more where
// algorithms report metrics.
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
	pages map[int64]*page // by pageOf
	rows  int64
}

// The repetitions below largePage stand on pages of smallPage, because a cell may have few, the
// others on pages of largePage.
const (
	smallPage = 32
	largePage = 1024
)

// pageOf returns the number of the page on which a repetition stands.
func pageOf(repetition int64) int64 {
	if repetition < largePage {
		return repetition / smallPage
	}
	return largePage/smallPage - 1 + repetition/largePage
}

// slotOf returns the place of a repetition on its page.
func slotOf(repetition int64) int64 {
	if repetition < largePage {
		return repetition % smallPage
	}
	return repetition % largePage
}

// nextPage returns the first repetition of the page after the one on which a repetition stands.
func nextPage(repetition int64) int64 {
	rows := int64(largePage)
	if repetition < largePage {
		rows = smallPage
	}
	return (repetition/rows + 1) * rows
}

// page holds the outcomes of successive repetitions.
type page struct {
	first int64    // repetition
	state []uint8  // 0: unknown, else 1 + status
	error []uint64 // bits
	hash  []uint64 // of what else has to be equal: see hashRows; nil: all are 0
	by    uint32   // index in the cell's frames of the message that they came from
	owner []uint32 // the same by repetition, where they came from several; else nil
}

// newPage makes the page on which a repetition stands, for outcomes of a message.
func newPage(repetition int64, by uint32) *page {
	rows := smallPage
	if repetition >= largePage {
		rows = largePage
	}
	return &page{
		first: repetition - slotOf(repetition), state: make([]uint8, rows), error: make([]uint64, rows), by: by,
	}
}

func (p *page) hashOf(slot int64) uint64 {
	if p.hash == nil {
		return 0
	}
	return p.hash[slot]
}

func (p *page) ownerOf(slot int64) uint32 {
	if p.owner == nil {
		return p.by
	}
	return p.owner[slot]
}

// set makes the outcome in a slot known.
func (p *page) set(slot int64, status uint8, bits, hash uint64, owner uint32) {
	p.state[slot], p.error[slot] = 1+status, bits
	if hash != 0 && p.hash == nil {
		p.hash = make([]uint64, len(p.state))
	}
	if p.hash != nil {
		p.hash[slot] = hash
	}
	if owner != p.by && p.owner == nil {
		p.owner = slices.Repeat([]uint32{p.by}, len(p.state))
	}
	if p.owner != nil {
		p.owner[slot] = owner
	}
}

func (x index) cell(key [32]byte) *cellIndex {
	c := x[key]
	if c == nil {
		c = &cellIndex{points: map[int64]*point{}}
		x[key] = c
	}
	return c
}

// outcomes returns the number of outcomes of all cells.
func (x index) outcomes() (count int64) {
	for _, c := range x {
		for _, p := range c.points {
			count += p.rows
		}
	}
	return count
}

// page returns the page that a trial stands on, or nil where nothing on it is known.
func (x index) page(cell [32]byte, n, repetition int64) *page {
	c := x[cell]
	if c == nil || c.points[n] == nil || repetition < 0 {
		return nil
	}
	return c.points[n].pages[pageOf(repetition)]
}

// find returns the page and the slot of a trial's outcome, or nil where it has none.
func (x index) find(cell [32]byte, n, repetition int64) (p *page, slot int64) {
	p, slot = x.page(cell, n, repetition), slotOf(repetition)
	if p == nil || p.state[slot] == 0 {
		return nil, 0
	}
	return p, slot
}

// judge compares a batch with what is known and changes nothing. hashes are those of hashRows.
func (x index) judge(b *Batch, hashes []uint64) Verdict {
	v := Verdict{Batch: b}
	var p *page
	last := int64(-1)
	for i, rep := range b.Repetition {
		if at := pageOf(rep); at != last {
			last = at
			p = x.page(b.Cell, b.N, rep)
		}
		slot := slotOf(rep)
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
		case p.state[slot] == 1+status && p.hashOf(slot) == hashAt(hashes, i) &&
			(status != OK || p.error[slot] == math.Float64bits(b.Error[i])):
			v.Duplicate++
		default:
			v.Conflicts = append(v.Conflicts, Conflict{
				Cell: b.Cell, N: b.N, Repetition: rep, Worker: b.Worker, Digest: b.Digest,
				First:  p.outcome(rep),
				Second: Outcome{Repetition: rep, Status: status, Error: b.Error[i]},
				hash:   hashAt(hashes, i),
			})
		}
	}
	return v
}

// outcome returns the outcome of a trial of the page, which has one.
func (p *page) outcome(repetition int64) Outcome {
	slot := slotOf(repetition)
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
		if at := pageOf(rep); at != last {
			last = at
			if p = pt.pages[last]; p == nil {
				p = newPage(rep, owner)
				pt.pages[last] = p
			}
		}
		p.set(slotOf(rep), b.Status[i], math.Float64bits(b.Error[i]), hashAt(hashes, i), owner)
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

// owns appends to rows those of a batch whose outcomes the frame with the number owner of its cell
// brought.
func (x index) owns(b *Batch, owner int, rows []int) []int {
	var p *page
	last := int64(-1)
	for i, rep := range b.Repetition {
		if at := pageOf(rep); at != last {
			last = at
			p = x.page(b.Cell, b.N, rep)
		}
		if slot := slotOf(rep); p != nil && p.state[slot] != 0 && p.ownerOf(slot) == uint32(owner) {
			rows = append(rows, i)
		}
	}
	return rows
}

// outcomes appends to dst what is known on the page, in the order of repetitions.
func (p *page) outcomes(dst []Outcome) []Outcome {
	for slot, state := range p.state {
		if state != 0 {
			dst = append(dst, p.outcome(p.first+int64(slot)))
		}
	}
	return dst
}

// hashRows returns, for each row, a hash of what has to be equal in two runs of a trial beside
// status and error: its kind and the metrics that it reported. Nil stands for 0 everywhere. Reasons
// are left out, because they may hold addresses of memory.
func hashRows(b *Batch) []uint64 {
	if len(b.Metrics) == 0 && b.Kind == nil {
		return nil
	}
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

// hashAt returns the hash of a row.
func hashAt(hashes []uint64, row int) uint64 {
	if hashes == nil {
		return 0
	}
	return hashes[row]
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
