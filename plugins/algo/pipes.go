package algo

import (
	"context"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// serveSessions answers the sessions whose requests arrive on one pipe, one after another, until
// the pipe ends. It writes the responses to the other pipe.
func (s *service) serveSessions(ctx context.Context, requests io.Reader, responses io.Writer) {
	// Shared memory is read-only. A write to it must fail one trial without ending the process.
	debug.SetPanicOnFault(true)
	pipes := pluginv1.NewPipes(requests, responses)
	for s.serveSession(ctx, pipes) == nil {
	}
}

// serveSession answers one session: one Open, then Steps, then one Close. An error means that the
// pipes can no longer be used.
func (s *service) serveSession(ctx context.Context, pipes *pluginv1.Pipes) error {
	q := new(pluginv1.SessionRequest)
	if err := pipes.Receive(q); err != nil {
		return err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	t := newSession(ctx, s)
	p := &progress{session: t, pipes: pipes}
	defer p.stop()
	for {
		p.start()
		r, failed := t.answer(q)
		if failed != nil { // the host caused the error
			r = &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Failure{Failure: text(failed.Error())}}
		}
		p.stop()
		if err := pipes.Send(r); err != nil {
			return err
		}
		if failed != nil || q.GetClose() != nil {
			return nil
		}
		if err := pipes.Receive(q); err != nil {
			return err
		}
	}
}

// progress sends reports of progress while a request is being answered, once a second.
type progress struct {
	session *session
	pipes   *pluginv1.Pipes
	timer   *time.Timer

	mu      sync.Mutex
	working bool
}

const progressInterval = time.Second

// start records that the session works on a request.
func (p *progress) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working = true
	if p.timer == nil {
		p.timer = time.AfterFunc(progressInterval, p.report)
	} else {
		p.timer.Reset(progressInterval)
	}
}

// stop ends the reports: none is sent after it returns.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working = false
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *progress) report() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.working {
		return
	}
	// If the report cannot be sent, neither can the response.
	_ = p.pipes.Send(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Progress{
		Progress: &pluginv1.Progress{Begun: p.session.begun.Load(), Done: p.session.done.Load()},
	}})
	p.timer.Reset(progressInterval)
}
