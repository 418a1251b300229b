package bus

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What a leader hears of each worker, in bytes: a worker of the most slots with all that an announcement
// may hold stays below. Without a limit, one that never stops talking would keep the leader from all
// others, and fill its memory.
const (
	saidAtOnce    = 4 * MaxResult
	saidPerSecond = MaxResult
	saidLeast     = 512 // that a message counts
	mostTalkers   = 1 << 14
)

// A budget tells how much is heard of each worker. The zero value is full.
type budget struct {
	mu   sync.Mutex
	left map[string]*rate.Limiter // by worker
}

// allows reports whether a message of a worker is heard. What is not is lost, as any message may be.
func (b *budget) allows(worker string, data []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.left[worker]
	if left == nil {
		if b.left == nil || len(b.left) == mostTalkers { // of names that nobody proves
			b.left = map[string]*rate.Limiter{}
		}
		left = rate.NewLimiter(saidPerSecond, saidAtOnce)
		b.left[worker] = left
	}
	return left.AllowN(time.Now(), max(len(data), saidLeast))
}
