package coordinator

import "container/heap"

// A cellQueue is a heap of cells that may want trials, ordered by progress (least first), then by
// position in the plan.
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
	q.cells[i].heapIndex, q.cells[j].heapIndex = i, j
}
func (q *cellQueue) Push(x any) {
	c := x.(*cell)
	c.heapIndex = len(q.cells)
	q.cells = append(q.cells, c)
}
func (q *cellQueue) Pop() any {
	c := q.cells[len(q.cells)-1]
	q.cells = q.cells[:len(q.cells)-1]
	c.heapIndex = -1
	return c
}

// push adds a cell, or restores the heap order after its progress has changed.
func (q *cellQueue) push(c *cell) {
	if c.heapIndex >= 0 {
		heap.Fix(q, c.heapIndex)
		return
	}
	heap.Push(q, c)
}

// pop removes the first cell.
func (q *cellQueue) pop() { heap.Pop(q) }
