package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// workerBucket is the key-value bucket of heartbeats, by the worker's name. A heartbeat is removed after workerTTL.
const (
	workerBucket  = "shatter-workers"
	workerStream  = "KV_" + workerBucket
	workerSubject = "$KV." + workerBucket + "."
	workerTTL     = 10 * time.Second
)

// A Heartbeat is a worker's message about itself.
type Heartbeat struct {
	Worker string    // name of the worker, which the server has verified
	Data   []byte    // nil: the worker has left
	At     time.Time // time at which the server stored it; zero: not known
}

// Beat stores this worker's heartbeat in the bucket, to whose subjects leaders subscribe. It does
// not wait for a response: the next heartbeat follows within a second.
func (p *Puller) Beat(data []byte) error {
	if err := checkSize("heartbeat", p.worker, data, MaxHeartbeat); err != nil {
		return err
	}
	return p.c.notify("heartbeat", &nats.Msg{Subject: workerSubject + p.worker, Data: data})
}

// Leave removes this worker from the bucket.
func (p *Puller) Leave() error {
	return p.c.notify("end of heartbeats",
		&nats.Msg{Subject: workerSubject + p.worker, Header: nats.Header{markHeader: {"DEL"}}})
}

// Workers calls see with the last heartbeat of each worker.
func (c *Conn) Workers(ctx context.Context, see func(Heartbeat)) error {
	return c.retry(ctx, "list workers", func(ctx context.Context) error {
		kv, err := c.js.KeyValue(ctx, workerBucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			return c.access.unprepared()
		}
		if err != nil {
			return err
		}
		return completed(watch(ctx, c, kv, func(e jetstream.KeyValueEntry) error {
			if e == nil {
				return errComplete
			}
			if e.Operation() == jetstream.KeyValuePut {
				see(Heartbeat{e.Key(), e.Value(), e.Created()})
			}
			return nil
		}))
	})
}

func heartbeat(m *nats.Msg) Heartbeat {
	h := Heartbeat{Worker: strings.TrimPrefix(m.Subject, workerSubject)}
	if m.Header.Get(markHeader) == "" {
		h.Data = append([]byte{}, m.Data...)
	}
	return h
}
