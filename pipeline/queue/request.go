package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

const askPrefix = "shatter.ask." // subject prefix of requests to the leader of a sweep

// ErrNoLeader reports that no coordinator responds as the leader of a sweep.
var ErrNoLeader = errors.New("no coordinator answers")

// RequestLeader sends a request to the leader of a sweep and returns its response, or
// [ErrNoLeader].
func (c *Conn) RequestLeader(ctx context.Context, id string, request []byte) ([]byte, error) {
	m, err := c.nc.RequestWithContext(ctx, askPrefix+id, request)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, ErrNoLeader
	}
	if err != nil {
		return nil, fmt.Errorf("send a request to the leader of sweep %s: %w", id, err)
	}
	return m.Data, nil
}

// Respond calls handle for each request about a sweep, in a separate goroutine, until stop is
// called.
func (c *Conn) Respond(id string, handle func(request []byte) []byte) (stop func(), err error) {
	sub, err := c.nc.Subscribe(askPrefix+id, func(m *nats.Msg) {
		go func() {
			if err := m.Respond(handle(m.Data)); err != nil {
				c.opts.Log.Warn("request without response", "sweep", id, "error", err.Error())
			}
		}()
	})
	if err != nil {
		return nil, fmt.Errorf("respond to requests about sweep %s: %w", id, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails only if the connection is closed
}
