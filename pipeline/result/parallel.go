package result

import (
	"iter"
	"runtime"
	"sync"
)

// maxParallel is the largest number of goroutines of inOrder: it bounds what they hold in memory.
const maxParallel = 4

// inOrder calls do with each element of a sequence, in several goroutines, and hands out what it
// returns in the order of the sequence. No more than one result for each goroutine waits to be
// taken. All calls have returned when the loop over the results ends.
func inOrder[T, R any](elements iter.Seq[T], do func(T) (R, error)) iter.Seq2[R, error] {
	type result struct {
		value R
		err   error
	}
	return func(yield func(R, error) bool) {
		coming, done := make(chan chan result, min(runtime.GOMAXPROCS(0), maxParallel)-1), make(chan struct{})
		var running sync.WaitGroup
		defer running.Wait()
		defer close(done)
		running.Go(func() {
			defer close(coming)
			for x := range elements {
				one := make(chan result, 1)
				select {
				case coming <- one:
				case <-done:
					return
				}
				running.Go(func() {
					value, err := do(x)
					one <- result{value, err}
				})
			}
		})
		for one := range coming {
			if r := <-one; !yield(r.value, r.err) {
				return
			}
		}
	}
}
