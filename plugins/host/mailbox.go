package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/shatterlab/shatter/plugins/mailbox"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// mailboxWait limits the time for which a wait for an answer does not look at the caller's context
// and at limits. The end of the process ends it at once. Go's runtime looks at a thread that waits
// some 5,000 times a second for the first 10 ms, so that shorter waits cost more than they tell.
const mailboxWait = watchEvery

// errGone reports that the process ended before it answered. Process.explain knows why.
var errGone = errors.New("it ended without an answer")

// post exchanges messages by the mailbox, and supervises the process meanwhile. The response holds
// until the next one.
func (s *Session) post(ctx context.Context, w *watch, q *pluginv1.SessionRequest) (*pluginv1.SessionResponse, error) {
	w.begin(s.p)
	r := &s.reply
	err := w.post(ctx, q, r)
	if f, failed := r.GetResponse().(*pluginv1.SessionResponse_Failure); err == nil && failed {
		err = fmt.Errorf("it answered with an error: %s", limited(f.Failure))
	}
	if err != nil {
		return nil, s.broken(w.place(), err)
	}
	s.messages++
	return r, nil
}

// post does the work of Session.post, with r for the response. Until it returns, Stop does not close
// the mailbox.
func (w *watch) post(ctx context.Context, q *pluginv1.SessionRequest, r *pluginv1.SessionResponse) error {
	w.p.memUse.RLock()
	defer w.p.memUse.RUnlock()
	m := w.p.mailbox
	if w.p.mailboxMemory.Bytes() == nil {
		return errGone
	}
	if err := m.Ask(q); err != nil {
		return err
	}
	if err := w.await(ctx, m); err != nil {
		return err
	}
	return m.Response(r)
}

// await waits until the plugin has answered in the mailbox.
func (w *watch) await(ctx context.Context, m *mailbox.Mailbox) error {
	_, _, w.beats = m.Progress()
	for !w.look(ctx) {
		if there, err := m.Await(mailboxWait); there || err != nil {
			return err
		}
		if begun, done, beats := m.Progress(); beats != w.beats {
			w.beats = beats
			if err := w.tell(begun, done); err != nil {
				return err
			}
		}
	}
	return errGone
}

// rouse has a wait for an answer look at the process, which has ended.
func (p *Process) rouse(m *mailbox.Mailbox) {
	p.memUse.RLock()
	defer p.memUse.RUnlock()
	if p.mailboxMemory.Bytes() != nil {
		m.Rouse()
	}
}

// takeAnswers appends that many answers from the mailbox and, if they are to queries, their marks.
func (s *Session) takeAnswers(rows int, marks bool) error {
	s.p.memUse.RLock()
	defer s.p.memUse.RUnlock()
	if s.p.mailboxMemory.Bytes() == nil {
		return errGone
	}
	s.answers = append(s.answers, s.p.mailbox.Values(rows)...)
	if marks {
		s.marks = append(s.marks, s.p.mailbox.Marks(rows)...)
	}
	return nil
}
