//go:build cgo

package query

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	queueing   = 10 * time.Second // how long a question waits for others to end
	maxWaiting = 16               // questions of one client that wait; further ones are refused at once
)

// turns decides whose question is answered next. A client, which is an address, cannot take all the
// places.
type turns struct {
	places    chan struct{} // has an element for each question in work
	perClient int

	mu      sync.Mutex
	clients map[string]*client // those that have a question here
}

type client struct {
	places    chan struct{}
	questions int // in work or waiting
}

func newTurns(o ServeOptions) *turns {
	return &turns{places: make(chan struct{}, o.queries()), perClient: o.perClient(), clients: map[string]*client{}}
}

// take waits until a question may be answered. The caller calls free when it has been.
func (t *turns) take(ctx context.Context) (free func(), err error) {
	name := clientOf(ctx)
	c, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeoutCause(ctx, queueing, status.Errorf(codes.ResourceExhausted,
		"%d queries are in work, and a client may have %d of them: try again when one has ended",
		cap(t.places), t.perClient))
	defer stop()
	for i, places := range []chan struct{}{c.places, t.places} {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-c.places
			}
			t.leave(name, c)
			return nil, code(context.Cause(ctx))
		}
	}
	return func() {
		<-t.places
		<-c.places
		t.leave(name, c)
	}, nil
}

// enter counts a question of a client.
func (t *turns) enter(name string) (*client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[name]
	if c == nil {
		c = &client{places: make(chan struct{}, t.perClient)}
		t.clients[name] = c
	}
	if c.questions >= t.perClient+maxWaiting {
		return nil, status.Errorf(codes.ResourceExhausted, "%d queries of this client wait already: ask again when one of "+
			"them has ended", maxWaiting)
	}
	c.questions++
	return c, nil
}

func (t *turns) leave(name string, c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.questions--; c.questions == 0 {
		delete(t.clients, name)
	}
}

// clientOf returns the address of the client of a call, without its port.
func clientOf(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}
