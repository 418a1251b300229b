package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// missingSubject, with a digest, is that of plain messages that say that content is missing or
// damaged on the server. They hold the numbers of its damaged parts, one a line. One of those who
// have the content answers "here", and puts what is missing.
const missingSubject = "shatter.missing."

// holdings is the content that a process has, by digest, with what is asked of it.
type holdings struct {
	mu      sync.Mutex
	by      map[string]holding
	subs    map[string]*nats.Subscription
	asked   chan *nats.Msg     // nil until the first subscription
	repairs map[string][]int64 // damaged parts that are still to be put, by digest of a content being repaired
}

func (hs *holdings) get(digest string) (h holding, ok bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h, ok = hs.by[digest]
	return h, ok
}

func (hs *holdings) set(digest string, h holding) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.by == nil {
		hs.by, hs.subs, hs.repairs = map[string]holding{}, map[string]*nats.Subscription{}, map[string][]int64{}
	}
	hs.by[digest] = h
}

func (hs *holdings) remove(digest string) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	delete(hs.by, digest)
	if sub := hs.subs[digest]; sub != nil {
		_ = sub.Unsubscribe() // or the connection is gone, and it with that
		delete(hs.subs, digest)
	}
}

// hold makes this process one of those who put content again when it is missing. Holders of limited
// credentials are none of them: a worker must not write there, and a submitter leaves.
func (c *Conn) hold(digest string, h holding) error {
	if c.limited() {
		return nil
	}
	c.held.set(digest, h)
	c.held.mu.Lock()
	defer c.held.mu.Unlock()
	if c.held.subs[digest] != nil {
		return nil
	}
	if c.held.asked == nil {
		c.held.asked = make(chan *nats.Msg, 256)
		go c.answerAsked(c.held.asked)
	}
	// One of the queue group is asked at a time; another one the next time.
	sub, err := c.nc.ChanQueueSubscribe(missingSubject+digest, "holders", c.held.asked)
	if err != nil {
		return fmt.Errorf("offer content %s: %w", digest, err)
	}
	c.held.subs[digest] = sub
	return nil
}

// answerAsked answers what is asked for until the connection is closed.
func (c *Conn) answerAsked(asked <-chan *nats.Msg) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		select {
		case m := <-asked:
			digest := strings.TrimPrefix(m.Subject, missingSubject)
			if h, ok := c.held.get(digest); ok && m.Respond([]byte("here")) == nil {
				c.repair(ctx, digest, h, partNumbers(m.Data))
			}
		case <-c.closed:
			return
		}
	}
}

// join returns the distinct numbers of two lists, at most mostAsked.
func join(a, b []int64) []int64 {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
	return all[:min(len(all), mostAsked)]
}

// repair puts what the server lacks of a content, and its damaged parts, in the background. Of one
// content there is one repair at a time, which takes in what is asked for meanwhile.
func (c *Conn) repair(ctx context.Context, digest string, h holding, damaged []int64) {
	c.held.mu.Lock()
	defer c.held.mu.Unlock()
	if more, ok := c.held.repairs[digest]; ok {
		c.held.repairs[digest] = join(more, damaged)
		return
	}
	c.held.repairs[digest] = nil
	go func() {
		for again := true; again; {
			c.log.Info("putting missing content again", "digest", digest, "damaged", len(damaged))
			if err := c.put(ctx, digest, h, damaged); err != nil && ctx.Err() == nil {
				c.log.Warn("content cannot be put again", "digest", digest, "error", err.Error())
				c.held.remove(digest) // others may have it
			}
			c.held.mu.Lock()
			damaged = c.held.repairs[digest]
			if again = len(damaged) > 0; again {
				c.held.repairs[digest] = nil
			} else {
				delete(c.held.repairs, digest)
			}
			c.held.mu.Unlock()
		}
	}()
}

// ask asks those who have some content to put what is missing of it, and the listed parts, which are
// damaged. It returns when one of them has answered; the error has ErrNotStored in its chain where
// there is nobody.
func (c *Conn) ask(ctx context.Context, digest string, damaged []int64) error {
	const tries, answer = 5, 5 * time.Second
	const noneFor = 1500 * time.Millisecond // after a restart of the server they may be connecting just now
	until := time.Now().Add(noneFor)
	var text strings.Builder
	for _, i := range damaged[:min(len(damaged), mostAsked)] {
		fmt.Fprintln(&text, i)
	}
	for try := 0; ; {
		if err := c.connected(ctx); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, answer)
		_, err := c.nc.RequestWithContext(within, missingSubject+digest, []byte(text.String()))
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, nats.ErrNoResponders):
			if time.Now().After(until) {
				return ErrNotStored
			}
			select {
			case <-time.After(noneFor / 10):
			case <-ctx.Done():
			}
		case errors.Is(err, context.DeadlineExceeded): // the one who was asked is stuck or gone
			if try++; try == tries {
				return fmt.Errorf("%w: nobody answered", ErrNotStored)
			}
		case !transient(err):
			return err
		}
	}
}
