package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// A Part identifies one message of a job's results.
type Part struct {
	Term        // leader that published the job
	Worker, Job string
	Index, Of   int // counted from 0
}

// subject returns shatter.result.<sweep>.<worker>.<epoch>.<job>.<part>.<parts>.
func (p Part) subject() string {
	return fmt.Sprintf("%s%s.%s.%d.%s.%d.%d", resultSubject, p.Sweep, p.Worker, p.Epoch, p.Job, p.Index, p.Of)
}

// ParsePart parses the subject of a result.
func ParsePart(subject string) (p Part, ok bool) {
	fields := strings.Split(strings.TrimPrefix(subject, resultSubject), ".")
	if len(fields) != 6 || !strings.HasPrefix(subject, resultSubject) {
		return p, false
	}
	var errs [3]error
	p.Sweep, p.Worker, p.Job = fields[0], fields[1], fields[3]
	p.Epoch, errs[0] = strconv.ParseUint(fields[2], 10, 64)
	p.Index, errs[1] = strconv.Atoi(fields[4])
	p.Of, errs[2] = strconv.Atoi(fields[5])
	if errors.Join(errs[:]...) != nil || p.Index < 0 || p.Index >= p.Of {
		return Part{}, false
	}
	return p, true
}

// A Message is one part of a job's results.
type Message struct {
	Part            // zero if the subject is invalid
	Data     []byte // at most MaxResult bytes
	Sequence uint64 // sequence number among all results on the server
	Pending  uint64 // number of the sweep's later results at the time of delivery
}

// Publish stores a part of a job's results for the sweep's leaders and returns nil when the server
// has stored it. It continues through restarts of the server and while the stream is full, until
// ctx ends. The result may be stored more than once; the ledger recognizes copies.
func (p *Puller) Publish(ctx context.Context, part Part, result []byte) error {
	err := errors.Join(token("sweep", part.Sweep), token("job", part.Job),
		checkSize("result", part.Job, result, MaxResult))
	if err != nil {
		return err
	}
	part.Worker = p.worker
	return p.c.retry(ctx, "publish result of job "+part.Job, func(ctx context.Context) error {
		_, err := p.c.js.PublishMsg(ctx, &nats.Msg{Subject: part.subject(), Data: result})
		if streamGone(err) {
			p.c.streams.invalidate()
			if !p.c.access.limited() {
				_, err = p.c.streams.open(ctx, resultStream)
			}
			err = fmt.Errorf("%w: no stream of results (%w)", errNoAnswer, err)
		}
		return err
	})
}
