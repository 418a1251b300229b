package ledger

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sort"
	"unique"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// index holds what is known of every trial, in memory: about 9 bytes a trial, and 8 more where
// algorithms report metrics. A cell takes some 350 bytes.
type index struct {
	cells map[[32]byte]*cellIndex
	rooms numeric.Slab[cellIndex]
	pages numeric.Slab[page]
}

func newIndex() *index { return &index{cells: map[[32]byte]*cellIndex{}} }

type cellIndex struct {
	frames  []frameRef // in the order in which they were added
	points  []point    // ascending in n
	credits []credit
}

// credit counts the outcomes of a cell by what made them.
type credit struct {
	maker    unique.Handle[maker] // those of a ledger are few
	outcomes int64
}

// maker is a plugin file, and the float profile under which it ran.
type maker struct{ digest, profile string }

// frameRef says where a frame lies.
type frameRef struct {
	file   int32 // index of the file
	length int32 // of the message
	at     int64
}

// point holds the outcomes of a cell at one sample size.
type point struct {
	n     int64
	pages []*page // in the order of repetitions
	rows  int64
}

// The repetitions below largePage stand on pages of smallPage, because a cell may have few, the
// others on pages of largePage.
const (
	smallPage = 32
	largePage = 1024
)

// slotOf returns the place of a repetition on its page.
func slotOf(repetition int64) int64 {
	if repetition < largePage {
		return repetition % smallPage
	}
	return repetition % largePage
}

// pageRows returns the number of repetitions on the page on which a repetition stands.
func pageRows(repetition int64) int64 {
	if repetition < largePage {
		return smallPage
	}
	return largePage
}

// nextPage returns the first repetition of the page after the one on which a repetition stands.
func nextPage(repetition int64) int64 {
	rows := pageRows(repetition)
	return (repetition/rows + 1) * rows
}

// page holds the outcomes of successive repetitions, in as many slots as its outcomes need.
type page struct {
	first  int64  // repetition
	data   []byte // of all slots one part after the other: see parts
	by     uint32 // index in the cell's frames of the message that they came from
	slots  uint16
	hashed bool // data have hashes; else all are 0
	owned  bool // data have owners, for outcomes came from several messages; else by is that of all
}

// The bytes that a slot takes in each part of a page's data.
const (
	stateBytes = 1 // 0: unknown, else 1 + status
	errorBytes = 8 // bits
	hashBytes  = 8 // of what else has to be equal: see hashRows
	ownerBytes = 4 // like page.by
)

// parts returns the parts of the data, of which hashes and owners may be empty.
func (p *page) parts() (errors, hashes, owners, states []byte) {
	slots, hashed, owned := int(p.slots), 0, 0
	if p.hashed {
		hashed = hashBytes * slots
	}
	if p.owned {
		owned = ownerBytes * slots
	}
	errors, states = p.data[:errorBytes*slots], p.data[errorBytes*slots:]
	return errors, states[:hashed], states[hashed : hashed+owned], states[hashed+owned:]
}

// extend gives the page as many slots, at least those that it has, and hashes and owners where they are
// asked for or there.
func (p *page) extend(slots int, hashed, owned bool) {
	to := page{first: p.first, by: p.by, slots: uint16(slots), hashed: p.hashed || hashed, owned: p.owned || owned}
	size := stateBytes + errorBytes
	if to.hashed {
		size += hashBytes
	}
	if to.owned {
		size += ownerBytes
	}
	to.data = make([]byte, size*slots)
	errors, hashes, owners, states := p.parts()
	toErrors, toHashes, toOwners, toStates := to.parts()
	copy(toErrors, errors)
	copy(toHashes, hashes)
	copy(toOwners, owners)
	copy(toStates, states)
	for slot := 0; to.owned && !p.owned && slot < int(p.slots); slot++ {
		binary.LittleEndian.PutUint32(toOwners[ownerBytes*slot:], p.by)
	}
	*p = to
}

// reach makes room for the outcomes of repetitions up to last, which stands on the page.
func (p *page) reach(last int64) {
	slots := 1
	for int64(slots) <= slotOf(last) {
		slots *= 2
	}
	if slots <= int(p.slots) {
		return
	}
	if last >= largePage { // where jobs are long, and pages are filled
		slots = largePage
	}
	p.extend(slots, false, false)
}

// has reports whether the outcome in a slot is known.
func (p *page) has(slot int64) bool { return slot < int64(p.slots) && p.states()[slot] != 0 }

// states returns the last one of the parts.
func (p *page) states() []byte { return p.data[len(p.data)-stateBytes*int(p.slots):] }

// bitsOf returns the bits of the error in a slot.
func (p *page) bitsOf(slot int64) uint64 { return binary.LittleEndian.Uint64(p.data[errorBytes*slot:]) }

func (p *page) hashOf(slot int64) uint64 {
	if !p.hashed {
		return 0
	}
	_, hashes, _, _ := p.parts()
	return binary.LittleEndian.Uint64(hashes[hashBytes*slot:])
}

func (p *page) ownerOf(slot int64) uint32 {
	if !p.owned {
		return p.by
	}
	_, _, owners, _ := p.parts()
	return binary.LittleEndian.Uint32(owners[ownerBytes*slot:])
}

// agrees reports whether the outcome in a slot, which is known, is the same as another.
func (p *page) agrees(slot int64, status uint8, bits, hash uint64) bool {
	return p.states()[slot] == 1+status && p.hashOf(slot) == hash && (status != OK || p.bitsOf(slot) == bits)
}

// set makes the outcome in a slot known.
func (p *page) set(slot int64, status uint8, bits, hash uint64, owner uint32) {
	if hash != 0 && !p.hashed || owner != p.by && !p.owned {
		p.extend(int(p.slots), hash != 0, owner != p.by)
	}
	errors, hashes, owners, states := p.parts()
	states[slot] = 1 + status
	binary.LittleEndian.PutUint64(errors[errorBytes*slot:], bits)
	if p.hashed {
		binary.LittleEndian.PutUint64(hashes[hashBytes*slot:], hash)
	}
	if p.owned {
		binary.LittleEndian.PutUint32(owners[ownerBytes*slot:], owner)
	}
}

func (x *index) cell(key [32]byte) *cellIndex {
	c := x.cells[key]
	if c == nil {
		c = x.rooms.Next()
		x.cells[key] = c
	}
	return c
}

// at returns the place of a sample size among the cell's, and whether it has outcomes.
func (c *cellIndex) at(n int64) (place int, known bool) {
	return slices.BinarySearchFunc(c.points, n, func(p point, n int64) int { return cmp.Compare(p.n, n) })
}

// point returns what is known at a sample size, until the next one is added; nil: nothing. c may be nil.
func (c *cellIndex) point(n int64) *point {
	if c == nil {
		return nil
	}
	if i, known := c.at(n); known {
		return &c.points[i]
	}
	return nil
}

// page returns the page on which a repetition stands; nil: nothing on it is known. p may be nil.
func (p *point) page(repetition int64) *page {
	if p == nil || repetition < 0 {
		return nil
	}
	if i, known := p.at(repetition); known {
		return p.pages[i]
	}
	return nil
}

// at returns the place of a repetition's page among those of the point, and whether it is there.
func (p *point) at(repetition int64) (place int, known bool) {
	first := repetition - slotOf(repetition)
	return slices.BinarySearchFunc(p.pages, first, func(q *page, first int64) int { return cmp.Compare(q.first, first) })
}

// outcomes returns the number of outcomes of all cells.
func (x *index) outcomes() (count int64) {
	for _, c := range x.cells {
		for _, p := range c.points {
			count += p.rows
		}
	}
	return count
}

// page returns the page that a trial stands on, or nil where nothing on it is known.
func (x *index) page(cell [32]byte, n, repetition int64) *page {
	return x.cells[cell].point(n).page(repetition)
}

// find returns the page and the slot of a trial's outcome, or nil where it has none.
func (x *index) find(cell [32]byte, n, repetition int64) (p *page, slot int64) {
	p, slot = x.page(cell, n, repetition), slotOf(repetition)
	if p == nil || !p.has(slot) {
		return nil, 0
	}
	return p, slot
}

// judge compares a batch with what is known and changes nothing. hashes are those of hashRows.
func (x *index) judge(b *Batch, hashes []uint64) Verdict {
	v := Verdict{Batch: b}
	var p *page
	next := int64(0) // the first repetition beyond p
	for i, rep := range b.Repetition {
		if rep >= next {
			next = nextPage(rep)
			p = x.page(b.Cell, b.N, rep)
		}
		slot := slotOf(rep)
		known := p != nil && p.has(slot)
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
		case p.agrees(slot, status, math.Float64bits(b.Error[i]), hashAt(hashes, i)):
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
	return Outcome{Repetition: repetition, Status: p.states()[slot] - 1, Error: math.Float64frombits(p.bitsOf(slot))}
}

// commit makes the new rows of a verdict known, as those of the frame at ref.
func (x *index) commit(v Verdict, hashes []uint64, ref frameRef) {
	if len(v.New) == 0 {
		return
	}
	b := v.Batch
	c := x.cell(b.Cell)
	owner := uint32(len(c.frames))
	c.frames = append(c.frames, ref)
	c.credit(b, int64(len(v.New)))
	i, known := c.at(b.N)
	if !known {
		c.points = slices.Insert(c.points, i, point{n: b.N})
	}
	c.points[i].commit(v, hashes, owner, &x.pages)
}

// commit makes the new rows of a verdict known, as those of the cell's frame with the number owner.
// Further pages come from a slab.
func (p *point) commit(v Verdict, hashes []uint64, owner uint32, pages *numeric.Slab[page]) {
	b := v.Batch
	p.rows += int64(len(v.New))
	for rows := v.New; len(rows) > 0; { // those of one page after the other
		first := b.Repetition[rows[0]]
		end := sort.Search(len(rows), func(i int) bool { return b.Repetition[rows[i]] >= nextPage(first) })
		i, known := p.at(first)
		if !known {
			q := pages.Next()
			q.first, q.by = first-slotOf(first), owner
			p.pages = slices.Insert(p.pages, i, q)
		}
		q := p.pages[i]
		q.reach(b.Repetition[rows[end-1]])
		for _, row := range rows[:end] {
			slot := slotOf(b.Repetition[row])
			q.set(slot, b.Status[row], math.Float64bits(b.Error[row]), hashAt(hashes, row), owner)
		}
		rows = rows[end:]
	}
}

// credit counts rows of a batch for the plugin file and the float profile that made them.
func (c *cellIndex) credit(b *Batch, rows int64) {
	by := unique.Make(maker{b.Digest, b.Profile})
	for i := range c.credits {
		if c.credits[i].maker == by {
			c.credits[i].outcomes += rows
			return
		}
	}
	c.credits = append(c.credits, credit{by, rows})
}

// owns appends to rows those of a batch whose outcomes the frame with the number owner of its cell
// brought.
func (x *index) owns(b *Batch, owner int, rows []int) []int {
	var p *page
	var states []byte                 // of p; none where the frame brought nothing
	first, next := int64(0), int64(0) // repetitions of p, to next-1
	for i, rep := range b.Repetition {
		if rep >= next {
			first, next = rep-slotOf(rep), nextPage(rep)
			p, states = x.page(b.Cell, b.N, rep), nil
			if p != nil && (p.owned || p.by == uint32(owner)) {
				states = p.states()
			}
		}
		slot := rep - first
		if slot < int64(len(states)) && states[slot] != 0 && (!p.owned || p.ownerOf(slot) == uint32(owner)) {
			rows = append(rows, i)
		}
	}
	return rows
}

// outcomes appends to dst what is known on the page, in the order of repetitions.
func (p *page) outcomes(dst []Outcome) []Outcome {
	for slot, state := range p.states() {
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
