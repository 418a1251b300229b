package concept

// plane holds points of the plane. Each coordinate is replaced by its number among the distinct
// values: the row and the column of the point.
type plane struct {
	sorter
	rows, cols axis  // axes of coordinates 0 and 1
	col        []int // column of each point
	byRow      []int // points by row: row i has byRow[start[i]:start[i+1]]
	start      []int
}

// reset loads new points, two numbers below domain each.
func (p *plane) reset(x []float64, domain uint64) error {
	shift, err := p.order(x, 2, 1, domain)
	if err != nil {
		return err
	}
	p.rows.domain, p.cols.domain = domain, domain
	p.cols.values, p.col = p.cols.values[:0], zeroed(p.col, len(p.keys))
	for _, key := range p.keys {
		p.cols.extend(key >> shift)
		p.col[key&(1<<shift-1)] = len(p.cols.values) - 1
	}
	if _, err := p.order(x, 2, 0, domain); err != nil {
		return err
	}
	p.rows.values, p.byRow, p.start = p.rows.values[:0], p.byRow[:0], p.start[:0]
	for i, key := range p.keys {
		if p.rows.extend(key >> shift) {
			p.start = append(p.start, i)
		}
		p.byRow = append(p.byRow, int(key&(1<<shift-1)))
	}
	p.start = append(p.start, len(p.keys))
	return nil
}

// in returns the points of a row.
func (p *plane) in(row int) []int { return p.byRow[p.start[row]:p.start[row+1]] }

// addRow adds the gains of a row's points to the sums of their columns.
func (p *plane) addRow(row int, gains, sums []float64) {
	for _, q := range p.in(row) {
		sums[p.col[q]] += gains[q]
	}
}

// block names the rows i..j and columns k..l of a plane.
type block struct{ i, j, k, l int }

// leastBlock returns the least sum of gains, one per point, in a block, and the first block by i,
// j, k, l that attains it. sums is scratch memory with one element per column. O(rows^2 columns).
func (p *plane) leastBlock(gains, sums []float64) (least float64, at block) {
	at.i = -1
	for i := range p.rows.values {
		clear(sums)
		for j := i; j < len(p.rows.values); j++ {
			p.addRow(j, gains, sums)
			if run, k, l := leastRun(sums); run < least || at.i < 0 {
				least, at = run, block{i, j, k, l}
			}
		}
	}
	return least, at
}

// free returns the first point of the domain, by row and then column, that is not in the plane;
// it returns false if there is none. mark is scratch memory with one element per column.
func (p *plane) free(mark []bool) (row, col uint64, ok bool) {
	for i, v := range p.rows.values {
		if v > uint64(i) {
			return uint64(i), 0, true
		}
		clear(mark)
		for _, q := range p.in(i) {
			mark[p.col[q]] = true
		}
		for k, taken := range mark {
			if !taken || p.cols.values[k] > uint64(k) {
				return v, uint64(k), true
			}
		}
		if k := uint64(len(mark)); k < p.cols.domain {
			return v, k, true
		}
	}
	k := uint64(len(p.rows.values))
	return k, 0, k < p.rows.domain
}
