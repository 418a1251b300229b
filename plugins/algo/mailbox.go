package algo

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/shatterlab/shatter/plugins/mailbox"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// startMailbox begins to take sessions from the mailbox that the process inherited. It reports whether
// that is possible; otherwise they go by gRPC.
func (s *service) startMailbox() bool {
	m, err := s.places.mailbox()
	if err != nil {
		return false
	}
	go func() {
		for range time.Tick(time.Second) {
			m.Beat()
		}
	}()
	go s.serveMailbox(m)
	return true
}

// serveMailbox answers the sessions that come by the mailbox, one after another, until the process
// ends. It does what Session does by gRPC.
func (s *service) serveMailbox(m *mailbox.Mailbox) {
	// Shared memory is read-only. A write to it must fail one trial and not end the process.
	debug.SetPanicOnFault(true)
	for {
		s.mailboxSession(m)
	}
}

// mailboxSession answers one session. Its context never ends: the process ends when the host does,
// or when the host no longer waits.
func (s *service) mailboxSession(m *mailbox.Mailbox) {
	ctx := context.Background()
	var q pluginv1.SessionRequest
	err := m.Next(&q)
	release, _ := s.acquire(ctx) // fails only if ctx ends
	defer release()
	t := newSession(ctx, s)
	t.mailbox = m
	t.begun, t.done = m.Counters()
	for ; ; err = m.Next(&q) {
		var r *pluginv1.SessionResponse
		if err == nil {
			r, err = t.answer(&q)
		}
		if err == nil {
			err = m.Answer(r)
		}
		if err != nil { // the host's fault, or a response that is too long
			_ = m.Answer(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Failure{Failure: text(err.Error())}})
		}
		if err != nil || q.GetClose() != nil {
			return
		}
	}
}
