package host

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Limits of a message that asks about settings. A larger single setting travels alone.
const (
	maxAsked      = 64
	maxAskedBytes = 512 << 10
)

// unaryCalls is the number of calls at a time to a plugin that is asked about settings one by one:
// enough to hide the way there and back.
const unaryCalls = 64

// Ask asks about settings and returns the answer to each, in their order. A refusal is part of an
// answer and no error.
func (p *Process) Ask(ctx context.Context, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	if !p.description.GetAsk() {
		return p.askEach(ctx, settings)
	}
	answers := make([]*pluginv1.Answer, 0, len(settings))
	// The first message asks about one setting and the next ones about more and more, so that an algorithm that
	// hangs is found out in the time for one.
	for len(answers) < len(settings) {
		q := askRequest(settings[len(answers):], len(answers)+1)
		limit := p.child.command.questionTime(len(q.Settings))
		err := p.call(ctx, "checking settings", limit, func(ctx context.Context) error {
			r, err := p.rpc.Ask(ctx, q)
			if err != nil {
				return err
			}
			if got := len(r.GetAnswers()); got == 0 || got > len(q.GetSettings()) {
				return fmt.Errorf("it gave %d answers about %d settings", got, len(q.GetSettings()))
			}
			answers = append(answers, r.GetAnswers()...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// questionTime returns the time limit for a question about a number of settings: the limit of a trial for each, but at
// least the time that a process may need just after its start.
func (c *Command) questionTime(settings int) time.Duration {
	const least = 5 * time.Second
	return max(least, c.Trial*time.Duration(settings))
}

// askRequest returns a message about the first of the settings, at most so many and as many as it may
// hold.
func askRequest(settings []*pluginv1.Setting, most int) *pluginv1.AskRequest {
	count, size := 1, proto.Size(settings[0])
	for count < min(len(settings), maxAsked, most) {
		if size += proto.Size(settings[count]); size > maxAskedBytes {
			break
		}
		count++
	}
	return &pluginv1.AskRequest{Settings: settings[:count]}
}

// askEach does what Ask does with a plugin that does not serve it.
func (p *Process) askEach(ctx context.Context, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	answers := make([]*pluginv1.Answer, len(settings))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(unaryCalls)
	for i, s := range settings {
		calls.Go(func() (err error) {
			answers[i] = &pluginv1.Answer{}
			if answers[i].Check, err = p.Check(ctx, s); err != nil {
				return err
			}
			if b := pluginv1.BoundSetting(s, answers[i].Check); b != nil {
				answers[i].Bound, err = p.Bound(ctx, b)
			}
			return err
		})
	}
	return answers, calls.Wait()
}
