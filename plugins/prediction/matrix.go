package prediction

import "fmt"

// matrix is Algorithm 3 for a class given as a table of labels. A block's hypothesis is the first
// row with the fewest errors among those that agree with the hard queries.
type matrix struct {
	points int
	text   string  // '0' or '1', row after row
	errors []int32 // blocks x rows
	alive  []int   // the rows that agree with the hard queries, ascending
	chosen []int   // per row: how many blocks have it as their hypothesis
	picks  []int   // per block: its row
}

// maxErrors limits the table of errors to 512 MB.
const maxErrors = 1 << 27

// newMatrix makes the generator of a class of rows of the given number of points.
func newMatrix(blocks []block, text string, points int) (*matrix, error) {
	rows := len(text) / points
	if rows*len(blocks) > maxErrors {
		return nil, fmt.Errorf("%d rows and %d blocks need %d counts of errors: "+
			"lower one of them until their product is at most %d", rows, len(blocks), rows*len(blocks), maxErrors)
	}
	g := &matrix{
		points: points, text: text, errors: make([]int32, 0, rows*len(blocks)),
		chosen: make([]int, rows), picks: make([]int, len(blocks)),
	}
	for _, b := range blocks {
		for h := range rows {
			g.errors = append(g.errors, int32(rowErrors(text[h*points:(h+1)*points], b)))
		}
	}
	for h := range rows {
		g.alive = append(g.alive, h)
	}
	g.fit()
	return g, nil
}

// rowErrors returns the number of errors that a row makes on a block.
func rowErrors(row string, b block) int {
	errors := 0
	for i, v := range b.x {
		if (row[int(v)] == '1') != (b.y[i] > 0) {
			errors++
		}
	}
	return errors
}

// fit chooses every block's row.
func (g *matrix) fit() {
	clear(g.chosen)
	for i := range g.picks {
		errors := g.errors[i*len(g.chosen):]
		first := g.alive[0]
		for _, h := range g.alive {
			if errors[h] < errors[first] {
				first = h
			}
		}
		g.picks[i] = first
		g.chosen[first]++
	}
}

// label returns the label of x by row h.
func (g *matrix) label(h int, x []float64) float64 {
	return labelOf(g.text[h*g.points+int(x[0])] == '1')
}

func (g *matrix) votes(x []float64) int {
	n := 0
	for _, h := range g.alive {
		if g.chosen[h] > 0 && g.label(h, x) > 0 {
			n += g.chosen[h]
		}
	}
	return n
}

// hard implements generator: it keeps the rows that label x so, or all where there are none.
func (g *matrix) hard(x []float64, label float64) error {
	var left []int
	for _, h := range g.alive {
		if g.label(h, x) == label {
			left = append(left, h)
		}
	}
	if len(left) > 0 {
		g.alive = left
		g.fit()
	}
	return nil
}

// public implements generator: it answers by the first row that is left.
func (g *matrix) public(x []float64) float64 { return g.label(g.alive[0], x) }
