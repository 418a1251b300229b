package bus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MostTogether is the number of results that travel in one message, at most.
const MostTogether = 64

// togetherHeader is the value of orderHeader that says that the leader takes several results in one
// message. Any other value stands for one that does not.
const togetherHeader = "2"

// A Result is a part of a job's results.
type Result struct {
	Part
	Data []byte
}

// PublishAll does the work of Publish for results of one worker to one leader. Those that fit into one
// message travel together, which is an envelope and nothing else: each of them is taken in, dropped and
// acknowledged as if it had come alone. It returns the number of results that are stored, from the first
// on: all of them where there is no error.
func (c *Conn) PublishAll(ctx context.Context, to Lead, results []Result) (stored int, err error) {
	for stored < len(results) {
		n := together(results[stored:])
		if n == 1 {
			r := results[stored]
			err = c.Publish(ctx, to, r.Part, r.Data)
		} else {
			err = c.publishTogether(ctx, to, results[stored:stored+n])
		}
		if err != nil {
			return stored, err
		}
		stored += n
	}
	return stored, nil
}

// together returns how many of the results, from the first on, one message has room for; at least 1.
func together(results []Result) int {
	size := 0
	for i, r := range results[:min(len(results), MostTogether)] {
		size += 2*binary.MaxVarintLen32 + len(r.Part.String()) + len(r.Data)
		if size > MaxResult {
			return max(1, i)
		}
	}
	return min(len(results), MostTogether)
}

// publishTogether stores results in one message, whose subject names the first of them and says how many
// there are.
func (c *Conn) publishTogether(ctx context.Context, to Lead, results []Result) error {
	first := results[0]
	errs := []error{token("sweep", to.Sweep, false), token("worker", first.Worker, false)}
	for _, r := range results {
		errs = append(errs, token("job", r.Job, false))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	subject := fmt.Sprintf("%s%s.%s.%s.%d", resultSubject, to, first.Worker, first.Job, len(results))
	return c.store(ctx, fmt.Sprintf("publish results of job %s and %d others", first.Job, len(results)-1), subject,
		pack(results))
}

// pack returns the content of a message of several results: for each its part, without the worker, and
// its data, both after their length.
func pack(results []Result) (data []byte) {
	for _, r := range results {
		part := strings.TrimPrefix(r.Part.String(), r.Worker+".")
		data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
		data = append(binary.AppendUvarint(data, uint64(len(r.Data))), r.Data...)
	}
	return data
}

// ResultsOf returns the leader that a message is for, and the results in it, all of the worker that the
// subject names. It reports false where subject or content are not sound; then no result is to be
// believed.
func ResultsOf(subject string, data []byte) (to Lead, results []Result, ok bool) {
	to, rest, ok := parseLead(strings.TrimPrefix(subject, resultSubject))
	if part, single := parsePart(rest); single {
		return to, []Result{{part, data}}, ok
	}
	fields := strings.Split(rest, ".")
	if !ok || len(fields) != 3 {
		return to, nil, false
	}
	count, err := strconv.Atoi(fields[2])
	if err != nil || count < 2 || count > MostTogether {
		return to, nil, false
	}
	for range count {
		var part, content []byte
		if part, data, ok = cutField(data); !ok {
			return to, nil, false
		}
		if content, data, ok = cutField(data); !ok {
			return to, nil, false
		}
		p, ok := parsePart(fields[0] + "." + string(part))
		if !ok {
			return to, nil, false
		}
		results = append(results, Result{p, content})
	}
	return to, results, len(data) == 0 && results[0].Job == fields[1]
}

// cutField cuts what stands after its length off the front of data.
func cutField(data []byte) (field, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, data, false
	}
	end := n + int(length)
	return data[n:end:end], data[end:], true
}
