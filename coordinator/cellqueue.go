package coordinator

import "container/heap"

// cellQueue is a heap of cells that may want trials: the least progress first, then the order of
// the plan.
type cellQueue struct{ cells []*cell }

func (q *cellQueue) Len() int { return len(q.cells) }
func (q *cellQueue) Less(i, j int) bool {
	a, b := q.cells[i], q.cells[j]
	if a.trials != b.trials {
		return a.trials < b.trials
	}
	return a.index < b.index
}
func (q *cellQueue) Swap(i, j int) {
	q.cells[i], q.cells[j] = q.cells[j], q.cells[i]
	q.cells[i].place, q.cells[j].place = i, j
}
func (q *cellQueue) Push(x any) {
	c := x.(*cell)
	c.place = len(q.cells)
	q.cells = append(q.cells, c)
}
func (q *cellQueue) Pop() any {
	c := q.cells[len(q.cells)-1]
	q.cells = q.cells[:len(q.cells)-1]
	c.place = -1
	return c
}

// push adds a cell, or moves one whose progress has changed to its new place.
func (q *cellQueue) push(c *cell) {
	if c.place >= 0 {
		heap.Fix(q, c.place)
		return
	}
	heap.Push(q, c)
}

// pop removes the first cell.
func (q *cellQueue) pop() { heap.Pop(q) }
