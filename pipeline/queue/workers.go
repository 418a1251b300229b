package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// workerBucket is the key-value bucket of heartbeats, by the worker's name. What a worker has put last is
// removed after workerTTL.
const (
	workerBucket  = "shatter-workers"
	workerStream  = "KV_" + workerBucket
	workerSubject = "$KV." + workerBucket + "."
	workerTTL     = 10 * time.Second
)

// workerConfig configures the bucket's stream.
var workerConfig = jetstream.StreamConfig{
	Subjects: []string{workerSubject + ">"}, Description: "Shatter: heartbeats of workers",
	MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxMsgSize: MaxHeartbeat + headerRoom, MaxAge: workerTTL,
	Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew, DenyDelete: true,
}

// A Heartbeat is a worker's message about itself.
type Heartbeat struct {
	Worker string // as the server lets it call itself
	Data   []byte // nil: the worker has left
}

// Beat puts a worker's heartbeat into the bucket, to whose subjects leaders subscribe. It waits for no answer: another
// heartbeat follows within a second.
func (c *Conn) Beat(worker string, data []byte) error {
	if err := token("worker", worker, false); err != nil {
		return err
	}
	if len(data) > MaxHeartbeat {
		return &SizeError{What: "heartbeat", ID: worker, Size: len(data), Limit: MaxHeartbeat}
	}
	return c.tell("heartbeat of worker "+worker, &nats.Msg{Subject: workerSubject + worker, Data: data})
}

// LeaveWorkers removes a worker from the bucket.
func (c *Conn) LeaveWorkers(worker string) error {
	m := &nats.Msg{Subject: workerSubject + worker, Header: nats.Header{markHeader: {"DEL"}}}
	return c.tell("leave of worker "+worker, m)
}

// Workers calls hear with the last heartbeat of each worker.
func (c *Conn) Workers(ctx context.Context, hear func(Heartbeat)) error {
	return c.retry(ctx, "list workers", func(ctx context.Context) error {
		kv, err := c.js.KeyValue(ctx, workerBucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			return c.unprepared()
		}
		if err != nil {
			return err
		}
		all, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		defer all.Stop() //nolint:errcheck // the connection is gone then
		for {
			select {
			case e, ok := <-all.Updates():
				if !ok || e == nil { // nil: these were all
					return nil
				}
				hear(Heartbeat{e.Key(), e.Value()})
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

func heartbeat(m *nats.Msg) Heartbeat {
	h := Heartbeat{Worker: strings.TrimPrefix(m.Subject, workerSubject)}
	if m.Header.Get(markHeader) == "" {
		h.Data = append([]byte{}, m.Data...)
	}
	return h
}
