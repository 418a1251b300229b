package ledger

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"
	"unique"

	"github.com/shatterlab/shatter/schemas"
)

// index holds the outcomes of all trials in memory: 32 bytes per trial.
type index struct {
	cells        map[[32]byte]*cellIndex
	environments map[string]schemas.Environment // of plugins, by their identity
}

func newIndex() *index {
	return &index{cells: map[[32]byte]*cellIndex{}, environments: map[string]schemas.Environment{}}
}

// cellIndex holds the outcomes, refusals and conflicts of a cell.
type cellIndex struct {
	frames    []frameRef     // in the order of their addition
	points    []point        // ascending in n
	credits   []Origin       // counts of the outcomes, by plugin file and float profile
	refused   []Refused      // ascending in n
	conflicts []Conflict     // each once
	clashes   []Clash        // each once
	lost      map[Trial]Loss // the last loss of each trial
}

// frameRef is the location of a frame.
type frameRef struct {
	file   int32 // index of the file
	length int32 // length of the message
	at     int64
	worker unique.Handle[string] // sender of the message
}

// point holds the outcomes of a cell at one sample size.
type point struct {
	n    int64
	rows []row // ascending in repetition
}

// row is the outcome of one trial.
type row struct {
	bits       uint64 // error
	hash       uint64 // hash by hashRows
	repetition int32
	owner      uint32 // index, in the cell's frames, of the message that brought it
	status     uint8
}

// agrees reports whether the row is the same outcome as another.
func (r *row) agrees(status uint8, bits, hash uint64) bool {
	return r.status == status && r.hash == hash && (status != OK || r.bits == bits)
}

func (r *row) outcome() Outcome {
	return Outcome{Repetition: int64(r.repetition), Status: r.status, Error: math.Float64frombits(r.bits)}
}

// seek returns the index of the first row at or after from whose repetition is at least the given
// one. p may be nil.
func (p *point) seek(from int, repetition int64) int {
	if p == nil || from < len(p.rows) && int64(p.rows[from].repetition) >= repetition {
		return from
	}
	i, _ := slices.BinarySearchFunc(p.rows[from:], repetition, func(r row, repetition int64) int {
		return cmp.Compare(int64(r.repetition), repetition)
	})
	return from + i
}

// at returns the row at an index that seek returned, or nil if it has another repetition. p may
// be nil.
func (p *point) at(i int, repetition int64) *row {
	if p == nil || i == len(p.rows) || int64(p.rows[i].repetition) != repetition {
		return nil
	}
	return &p.rows[i]
}

// add adds rows in ascending order. None of them may be present.
func (p *point) add(rows []row) {
	at, last := p.seek(0, int64(rows[0].repetition)), rows[len(rows)-1].repetition
	p.rows = slices.Insert(p.rows, at, rows...)
	if next := at + len(rows); next < len(p.rows) && p.rows[next].repetition < last { // they overlap
		slices.SortFunc(p.rows, func(a, b row) int { return cmp.Compare(a.repetition, b.repetition) })
	}
}

// at returns the index of a sample size among the cell's, and whether it has outcomes.
func (c *cellIndex) at(n int64) (place int, known bool) {
	return slices.BinarySearchFunc(c.points, n, func(p point, n int64) int { return cmp.Compare(p.n, n) })
}

// point returns the outcomes at a sample size, or nil if there are none. The result is valid
// until the next sample size is added. c may be nil.
func (c *cellIndex) point(n int64) *point {
	if c == nil {
		return nil
	}
	if i, known := c.at(n); known {
		return &c.points[i]
	}
	return nil
}

// outcomes returns the number of outcomes of all cells.
func (x *index) outcomes() (count int64) {
	for _, c := range x.cells {
		for _, p := range c.points {
			count += int64(len(p.rows))
		}
	}
	return count
}

// find returns a trial's outcome, or nil if it has none.
func (c *cellIndex) find(n, repetition int64) *row {
	p := c.point(n)
	return p.at(p.seek(0, repetition), repetition)
}

// judge compares a batch with the index without changing it.
func (x *index) judge(b *Batch) Verdict {
	v := Verdict{Batch: b, hashes: hashRows(b)}
	c := x.cells[b.Cell]
	p := c.point(b.N)
	if known := c.refusal(b.N); b.Refusal != nil || known != nil {
		v.judgeRefusal(known, p != nil)
		return v
	}
	place := 0
	for i, rep := range b.Repetition {
		place = p.seek(place, rep)
		known := p.at(place, rep)
		switch status := b.Status[i]; {
		case status == Lost:
			if known == nil {
				v.Lost = append(v.Lost, i)
			}
		case known == nil:
			if v.New == nil {
				v.New = make([]int, 0, len(b.Repetition)-i)
			}
			v.New = append(v.New, i)
		case known.agrees(status, math.Float64bits(b.Error[i]), v.hashes[i]):
			v.Duplicate++
		default:
			v.Conflicts = append(v.Conflicts, Conflict{
				Trial: Trial{b.N, rep}, Worker: b.Worker, Digest: b.Digest,
				First:  known.outcome(),
				Second: Outcome{Repetition: rep, Status: status, Error: b.Error[i]},
				hash:   v.hashes[i],
			})
		}
	}
	return v
}

// kind returns the kind of the frame that records the message of a verdict; 0: it contains
// nothing new.
func (x *index) kind(v Verdict) uint32 {
	c := x.cells[v.Batch.Cell]
	switch {
	case len(v.New)+len(v.Lost) > 0 || v.Refused:
		return frameOutcomes
	case v.Clash != nil && !slices.ContainsFunc(c.clashes, v.Clash.equal):
		return frameConflicts
	case slices.ContainsFunc(v.Conflicts, func(x Conflict) bool { return !slices.ContainsFunc(c.conflicts, x.equal) }):
		return frameConflicts
	}
	return 0
}

// commit records a verdict, whose message is in a frame of the given kind at ref.
func (x *index) commit(v Verdict, ref frameRef, kind uint32) {
	b := v.Batch
	if len(b.Environment) > 0 {
		x.environments[b.Digest] = b.Environment
	}
	c := x.cells[b.Cell]
	if c == nil {
		c = &cellIndex{}
		x.cells[b.Cell] = c
	}
	for _, i := range v.Lost {
		if c.lost == nil {
			c.lost = map[Trial]Loss{}
		}
		t := Trial{b.N, b.Repetition[i]}
		c.lost[t] = Loss{t, b.KindOf(i), b.ReasonOf(i)}
	}
	for _, x := range v.Conflicts {
		if !slices.ContainsFunc(c.conflicts, x.equal) {
			c.conflicts = append(c.conflicts, x)
		}
	}
	if v.Clash != nil && !slices.ContainsFunc(c.clashes, v.Clash.equal) {
		c.clashes = append(c.clashes, *v.Clash)
	}
	if kind != frameOutcomes {
		return
	}
	if v.Refused {
		i, _ := slices.BinarySearchFunc(c.refused, b.N, Refused.compare)
		c.refused = slices.Insert(c.refused, i, Refused{
			N: b.N, Refusal: *b.Refusal,
			Digest: b.Digest, Profile: b.Profile, Worker: b.Worker,
		})
	}
	if len(v.New) == 0 {
		return
	}
	owner := uint32(len(c.frames))
	ref.worker = unique.Make(b.Worker)
	c.frames = append(c.frames, ref)
	c.credit(b, int64(len(v.New)))
	i, known := c.at(b.N)
	if !known {
		c.points = slices.Insert(c.points, i, point{n: b.N})
	}
	rows := make([]row, len(v.New))
	for k, i := range v.New {
		rows[k] = row{
			bits: math.Float64bits(b.Error[i]), hash: v.hashes[i],
			repetition: int32(b.Repetition[i]), owner: owner, status: b.Status[i],
		}
	}
	c.points[i].add(rows)
}

// credit counts rows of a batch for the plugin file and the float profile that produced them.
func (c *cellIndex) credit(b *Batch, rows int64) {
	i := slices.IndexFunc(c.credits, func(o Origin) bool {
		return o.Digest == b.Digest && o.Profile == b.Profile
	})
	if i < 0 {
		i = len(c.credits)
		c.credits = append(c.credits, Origin{Cell: b.Cell, Digest: b.Digest, Profile: b.Profile})
	}
	c.credits[i].Outcomes += rows
}

// owns returns the rows of a batch that frame number owner brought, if their repetitions match.
func (c *cellIndex) owns(b *Batch, owner uint32, match func(repetition int64) bool) (rows []int) {
	p, place := c.point(b.N), 0
	for i, rep := range b.Repetition {
		place = p.seek(place, rep)
		if r := p.at(place, rep); r != nil && r.owner == owner && match(rep) {
			rows = append(rows, i)
		}
	}
	return rows
}

// hashRows returns, for each row, a hash of the values that must be equal in two runs of a trial
// in addition to status and error: its kind and the metrics that it reported. Reasons are not
// included, because they may contain memory addresses.
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

func hashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // it never fails
	return h.Sum64()
}
