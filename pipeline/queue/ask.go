package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
)

const askPrefix = "shatter.ask." // of plain requests to the leader of a sweep

// ErrNobody reports that nobody answers questions about a sweep: no coordinator leads it.
var ErrNobody = errors.New("no coordinator answers")

// Ask puts a question to the leader of a sweep and returns its answer. It returns ErrNobody where
// none is there.
func (c *Conn) Ask(ctx context.Context, id string, question []byte) ([]byte, error) {
	m, err := c.nc.RequestWithContext(ctx, askPrefix+id, question)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("ask the leader of sweep %s: %w", id, err)
	}
	return m.Data, nil
}

// What is answered about a sweep. Without limits, who may ask could keep a leader from its lease.
const (
	mostQuestions      = 64 // at a time
	questionsPerSecond = 100
)

// Answer has answer called for each question about a sweep, in a goroutine of its own, until stop is
// called. Questions beyond some number are lost, as any message may be.
func (c *Conn) Answer(id string, answer func(question []byte) []byte) (stop func(), err error) {
	free, often := make(chan struct{}, mostQuestions), rate.NewLimiter(questionsPerSecond, mostQuestions)
	sub, err := c.nc.Subscribe(askPrefix+id, func(m *nats.Msg) {
		if m.Reply == "" || !often.Allow() {
			return
		}
		select {
		case free <- struct{}{}:
		default:
			return
		}
		go func() {
			defer func() { <-free }()
			if err := m.Respond(answer(m.Data)); err != nil {
				c.log.Warn("question not answered", "sweep", id, "error", err.Error())
			}
		}()
	})
	if err != nil {
		return nil, fmt.Errorf("answer questions about sweep %s: %w", id, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails where the connection is closed: then it is stopped
}
