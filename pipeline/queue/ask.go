package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

const askPrefix = "shatter.ask." // of plain requests to the leader of a sweep

// ErrNoLeader reports that no coordinator that leads a sweep answers questions about it.
var ErrNoLeader = errors.New("no coordinator answers")

// Ask sends a question to the leader of a sweep and returns its answer, or ErrNoLeader.
func (c *Conn) Ask(ctx context.Context, id string, question []byte) ([]byte, error) {
	m, err := c.nc.RequestWithContext(ctx, askPrefix+id, question)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, ErrNoLeader
	}
	if err != nil {
		return nil, fmt.Errorf("ask the leader of sweep %s: %w", id, err)
	}
	return m.Data, nil
}

// Answer calls answer for each question about a sweep, in a goroutine of its own, until stop is called.
func (c *Conn) Answer(id string, answer func(question []byte) []byte) (stop func(), err error) {
	sub, err := c.nc.Subscribe(askPrefix+id, func(m *nats.Msg) {
		go func() {
			if err := m.Respond(answer(m.Data)); err != nil {
				c.opts.Log.Warn("question not answered", "sweep", id, "error", err.Error())
			}
		}()
	})
	if err != nil {
		return nil, fmt.Errorf("answer questions about sweep %s: %w", id, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails if the connection is closed: then it is stopped
}
