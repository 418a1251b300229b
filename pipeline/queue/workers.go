package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// workerBucket is the key-value bucket of heartbeats, by the worker's name. What a worker has put last is
// removed after workerTTL.
const (
	workerBucket  = "shatter-workers"
	workerSubject = "$KV." + workerBucket + "."
	workerTTL     = 10 * time.Second
)

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

// workersReady makes the bucket where it is missing.
func (c *Conn) workersReady(ctx context.Context) error {
	_, err := c.js.KeyValue(ctx, workerBucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) || c.limited() {
		return err
	}
	err = c.replicated(ctx, func(replicas int) error {
		_, err := c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: workerBucket, Description: "Shatter: heartbeats of workers", TTL: workerTTL,
			Storage: jetstream.MemoryStorage, Replicas: replicas,
		})
		return err
	})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the bucket %q: %w", workerBucket, err)
	}
	return nil
}
