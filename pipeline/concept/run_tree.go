package concept

// runTree finds the least sum of a run of neighbours among whole numbers of which one changes at a
// time. It is a binary tree over them, node 1 on top of nodes 2i and 2i+1 on top of the leaves.
type runTree struct {
	nodes []runNode
}

// runNode tells of the numbers below a node: their sum, and the least sums of a run from the first
// on, of one up to the last, and of any. A run may be empty.
type runNode struct{ sum, first, last, any int32 }

// reset takes n zeros.
func (t *runTree) reset(n int) {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	t.nodes = zeroed(t.nodes, 2*leaves)
}

// add adds v to number i. O(log n).
func (t *runTree) add(i, v int) {
	i += len(t.nodes) / 2
	sum := t.nodes[i].sum + int32(v)
	least := min(sum, 0)
	t.nodes[i] = runNode{sum, least, least, least}
	for i /= 2; i > 0; i /= 2 {
		a, b := t.nodes[2*i], t.nodes[2*i+1]
		t.nodes[i] = runNode{
			sum:   a.sum + b.sum,
			first: min(a.first, a.sum+b.first),
			last:  min(b.last, b.sum+a.last),
			any:   min(a.any, b.any, a.last+b.first),
		}
	}
}

// least returns the least sum of a run: at most 0, that of the empty one.
func (t *runTree) least() int { return int(t.nodes[1].any) }
