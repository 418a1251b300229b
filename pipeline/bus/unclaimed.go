package bus

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	muchUnread  = 1 << 30          // bytes of results, above which those that nobody reads are looked for
	clearingGap = 30 * time.Second // between two looks, each of which lists all results
)

// clear makes room in the stream of results where half of it is taken: workers whose results are for
// sweeps that nobody leads now, an eighth of all or more, lose what they have there. Otherwise one of them
// could fill the stream with results of sweeps that do not exist, or whose leader has died, and keep all
// others waiting until these get old. What an honest worker loses by it is run again.
func (q *Queue) clear(ctx context.Context, stream jetstream.Stream, info *jetstream.StreamInfo) error {
	most, unread := info.Config.MaxMsgs, info.State.Msgs
	if (most <= 0 || int64(unread) < most/2) && info.State.Bytes < muchUnread {
		return nil
	}
	q.mu.Lock()
	soon := time.Since(q.cleared) < clearingGap
	if !soon {
		q.cleared = time.Now()
	}
	q.mu.Unlock()
	if soon {
		return nil
	}
	led := map[string]bool{}
	consumers := stream.ListConsumers(ctx)
	for c := range consumers.Info() {
		if end := strings.LastIndexByte(c.Name, '-'); end > 0 && c.PushBound {
			led[c.Name[:end]] = true
		}
	}
	if err := consumers.Err(); err != nil {
		return err
	}
	all, err := stream.Info(ctx, jetstream.WithSubjectFilter(resultSubject+">"))
	if err != nil {
		return err
	}
	unclaimed := map[string]uint64{} // by worker
	for subject, n := range all.State.Subjects {
		lead, rest, _ := parseLead(strings.TrimPrefix(subject, resultSubject))
		if worker, _, _ := strings.Cut(rest, "."); !led[lead.Sweep] {
			unclaimed[worker] += n
		}
	}
	for worker, n := range unclaimed {
		if n < unread/8 {
			continue
		}
		q.c.log.Warn("results of a worker removed: nobody leads their sweeps", "worker", worker, "results", n)
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(resultSubject+"*.*."+worker+".>")); err != nil {
			return err
		}
	}
	return nil
}
