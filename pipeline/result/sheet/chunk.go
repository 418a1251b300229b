package sheet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/metadata"
)

// Chunk holds the values of one column in one row group as a Parquet file has them: encoded, and
// not compressed. It is made by one of the encoders Repeats, Floats, Flags and Sequence, each of
// which takes next to no time and room where values repeat or are in order, as most values of
// trials are and do.
type Chunk struct {
	rows       int
	dictionary []byte // plain values, where the page refers to them
	entries    int    // of the dictionary
	page       []byte // levels, then values
	buffer     []byte // that free gives back; nil: none
	encoding   parquet.Encoding
	stats      metadata.EncodedStatistics
}

// newChunk returns the chunk of a column whose non-null values were encoded, and of which the levels
// are 1 where there is a value.
func newChunk(levels *runs, encoding parquet.Encoding, values []byte) *Chunk {
	c := &Chunk{rows: levels.total, encoding: encoding, page: append(levels.levels(), values...)}
	c.setNulls(levels)
	return c
}

// pages holds buffers of pages that were written.
var pages = sync.Pool{New: func() any { return new([]byte) }}

// free gives the chunk's memory back. The chunk must not be used after it.
func (c *Chunk) free() {
	if c.buffer != nil {
		c.buffer = c.buffer[:0]
		pages.Put(&c.buffer)
	}
}

func (c *Chunk) setNulls(levels *runs) {
	c.stats.HasNullCount, c.stats.NullCount = true, int64(levels.count(0))
}

// setRange sets the statistics of a column that has a value. They are signed where the values are
// ordered as numbers, and not as bytes.
func (c *Chunk) setRange(least, most []byte, signed bool) {
	c.stats.HasMin, c.stats.Min = true, least
	c.stats.HasMax, c.stats.Max = true, most
	c.stats.Signed = signed
}

// Repeats encodes a column of few different values, often repeated one after the other. The zero
// value is an empty column.
type Repeats[T int64 | string] struct {
	levels, indices runs
	index           map[T]uint32
	values          []byte // of the dictionary
	least, most     T
}

// Add appends a value a number of times.
func (r *Repeats[T]) Add(v T, times int) {
	i, ok := r.index[v]
	if !ok {
		if r.index == nil {
			r.index, r.least, r.most = map[T]uint32{}, v, v
		}
		i = uint32(len(r.index))
		r.index[v] = i
		r.least, r.most = min(r.least, v), max(r.most, v)
		if s, isText := any(v).(string); isText {
			r.values = binary.LittleEndian.AppendUint32(r.values, uint32(len(s)))
		}
		r.values = append(r.values, plain(v)...)
	}
	r.levels.add(1, times)
	r.indices.add(i, times)
}

// AddNull appends a number of nulls.
func (r *Repeats[T]) AddNull(times int) { r.levels.add(0, times) }

// Chunk returns the column.
func (r *Repeats[T]) Chunk() *Chunk {
	width := 0
	if len(r.index) > 0 {
		width = max(1, bits.Len(uint(len(r.index)-1)))
	}
	c := newChunk(&r.levels, parquet.Encodings.RLEDict, r.indices.encode([]byte{byte(width)}, width))
	c.dictionary, c.entries = r.values, len(r.index)
	if c.entries > 0 {
		_, isText := any(r.least).(string)
		c.setRange(plain(r.least), plain(r.most), !isText)
	}
	return c
}

// plain returns the bytes of a value.
func plain(v any) []byte {
	switch v := v.(type) {
	case int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	}
	return []byte(v.(string))
}

// Floats encodes a column of numbers: see NewFloats.
type Floats struct {
	levels      runs
	page        []byte // room for levels, then values
	room        int
	least, most float64
}

// NewFloats returns an encoder for up to a number of rows.
func NewFloats(rows int) *Floats {
	room := levelRoom(rows)
	page := slices.Grow(*pages.Get().(*[]byte), room+8*rows)
	return &Floats{page: page[:room], room: room, least: math.Inf(1), most: math.Inf(-1)}
}

// Add appends numbers, with 0 for -0 and null for NaN.
func (f *Floats) Add(values []float64) {
	page, first := f.page, 0
	for i, v := range values {
		if v != v {
			f.levels.add(1, i-first)
			f.levels.add(0, 1)
			first = i + 1
			continue
		}
		if v == 0 {
			v = 0 // and not -0
		}
		if v < f.least {
			f.least = v
		}
		if v > f.most {
			f.most = v
		}
		page = binary.LittleEndian.AppendUint64(page, math.Float64bits(v))
	}
	f.page = page
	f.levels.add(1, len(values)-first)
}

// AddNull appends a number of nulls.
func (f *Floats) AddNull(times int) { f.levels.add(0, times) }

// Chunk returns the column. The encoder must not be used after it.
func (f *Floats) Chunk() *Chunk {
	levels := f.levels.levels()
	start := f.room - len(levels)
	copy(f.page[start:], levels)
	c := &Chunk{rows: f.levels.total, encoding: parquet.Encodings.Plain, buffer: f.page, page: f.page[start:]}
	c.setNulls(&f.levels)
	if len(f.page) > f.room {
		least := f.least
		if least == 0 {
			least = math.Copysign(0, -1) // as the format wants it
		}
		c.setRange(plain(least), plain(f.most), true)
	}
	return c
}

// Flags encodes a column of booleans. The zero value is an empty column.
type Flags struct {
	levels runs
	values []byte // eight a byte
	n      int    // of values
	seen   [2]bool
}

// Add appends a value.
func (f *Flags) Add(v bool) {
	f.levels.add(1, 1)
	if f.n%8 == 0 {
		f.values = append(f.values, 0)
	}
	if v {
		f.values[f.n/8] |= 1 << (f.n % 8)
		f.seen[1] = true
	} else {
		f.seen[0] = true
	}
	f.n++
}

// AddNull appends a number of nulls.
func (f *Flags) AddNull(times int) { f.levels.add(0, times) }

// Chunk returns the column.
func (f *Flags) Chunk() *Chunk {
	c := newChunk(&f.levels, parquet.Encodings.Plain, f.values)
	if f.n > 0 {
		least, most := byte(1), byte(0)
		if f.seen[0] {
			least = 0
		}
		if f.seen[1] {
			most = 1
		}
		c.setRange([]byte{least}, []byte{most}, true)
	}
	return c
}

// Sequence encodes a column of whole numbers, none of them null, that mostly follow each other. The
// zero value is an empty column.
type Sequence struct {
	n           int
	first, last int64
	least, most int64
	deltas      [128]int64 // of a block, from each number to the next
	blocks      []byte
}

// Add appends a number.
func (s *Sequence) Add(v int64) {
	if s.n == 0 {
		s.first, s.last, s.least, s.most = v, v, v, v
		s.n = 1
		return
	}
	at := (s.n - 1) % len(s.deltas)
	s.deltas[at] = v - s.last
	s.n++
	s.last = v
	s.least, s.most = min(s.least, v), max(s.most, v)
	if at == len(s.deltas)-1 {
		s.blocks = appendBlock(s.blocks, s.deltas[:], len(s.deltas))
	}
}

// Chunk returns the column. The encoder must not be used after it.
func (s *Sequence) Chunk() *Chunk {
	if left := (s.n - 1) % len(s.deltas); s.n > 0 && left > 0 {
		s.blocks = appendBlock(s.blocks, s.deltas[:], left)
	}
	b := binary.AppendUvarint(nil, uint64(len(s.deltas)))
	b = binary.AppendUvarint(b, blockParts)
	b = binary.AppendUvarint(b, uint64(s.n))
	b = binary.AppendVarint(b, s.first)
	var levels runs
	levels.add(1, s.n)
	c := newChunk(&levels, parquet.Encodings.DeltaBinaryPacked, append(b, s.blocks...))
	if s.n > 0 {
		c.setRange(plain(s.least), plain(s.most), true)
	}
	return c
}

// blockParts is the number of parts of a block of deltas, each with its own width.
const blockParts = 4

// appendBlock appends a block of deltas, of which the first n are in use: the least one, the widths
// of the parts, then the parts, all deltas less the least one. It changes the deltas.
func appendBlock(b []byte, deltas []int64, n int) []byte {
	least := slices.Min(deltas[:n])
	for i := range deltas {
		if deltas[i] -= least; i >= n {
			deltas[i] = 0
		}
	}
	b = binary.AppendVarint(b, least)
	size, widths := len(deltas)/blockParts, len(b)
	b = append(b, make([]byte, blockParts)...)
	for p := range blockParts {
		part, all := deltas[p*size:(p+1)*size], uint64(0)
		for _, d := range part {
			all |= uint64(d)
		}
		width := bits.Len64(all)
		if b[widths+p] = byte(width); width == 0 {
			continue
		}
		pack := packer{to: b, width: width}
		for _, d := range part {
			pack.add(uint64(d))
		}
		b = pack.to
	}
	return b
}

// runs is a column of small numbers, kept by runs of equal ones.
type runs struct {
	value []uint32
	times []uint32
	total int
}

func (r *runs) add(v uint32, times int) {
	if times == 0 {
		return
	}
	r.total += times
	if last := len(r.value) - 1; last >= 0 && r.value[last] == v {
		r.times[last] += uint32(times)
		return
	}
	r.value, r.times = append(r.value, v), append(r.times, uint32(times))
}

// count returns how often a value occurs.
func (r *runs) count(v uint32) (n int) {
	for i, times := range r.times {
		if r.value[i] == v {
			n += int(times)
		}
	}
	return n
}

// levels returns the numbers, all 0 or 1, as a page begins with them.
func (r *runs) levels() []byte {
	b := r.encode(make([]byte, 4), 1)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// levelRoom returns the most bytes that levels returns for a number of rows.
func levelRoom(rows int) int { return 4 + (rows+7)/8 + 2*binary.MaxVarintLen32 }

// encode appends the numbers, of a width in bits, as Parquet's hybrid of runs and bits has them: as
// runs alone, or all of them as bits where that is shorter.
func (r *runs) encode(b []byte, width int) []byte {
	start, value := len(b), (width+7)/8
	groups := (r.total + 7) / 8
	for i, times := range r.times {
		b = binary.AppendUvarint(b, uint64(times)<<1)
		b = binary.LittleEndian.AppendUint32(b, r.value[i])[:len(b)+value]
		if len(b)-start > groups*width+binary.MaxVarintLen32 {
			return r.pack(b[:start], width, groups)
		}
	}
	return b
}

// pack appends the numbers as bits, filled with zeros up to a number of groups of eight.
func (r *runs) pack(b []byte, width, groups int) []byte {
	pack := packer{to: binary.AppendUvarint(b, uint64(groups)<<1|1), width: width}
	for i, v := range r.value {
		for range r.times[i] {
			pack.add(uint64(v))
		}
	}
	for range groups*8 - r.total {
		pack.add(0)
	}
	return pack.to
}

// packer appends numbers of a width in bits, the lowest bit of each first. As many as are added
// must fill whole bytes.
type packer struct {
	to     []byte
	width  int
	buffer uint64
	filled int // bits of the buffer that are in use: less than 8 between calls
}

func (p *packer) add(v uint64) {
	p.buffer |= v << p.filled
	p.filled += p.width
	if p.filled > 64 { // the upper bits of v did not fit
		p.to = binary.LittleEndian.AppendUint64(p.to, p.buffer)
		p.filled -= 64
		p.buffer = v >> (p.width - p.filled)
	}
	for p.filled >= 8 {
		p.to = append(p.to, byte(p.buffer))
		p.buffer >>= 8
		p.filled -= 8
	}
}
