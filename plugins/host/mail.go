package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shatterlab/shatter/plugins/mailbox"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// mailWait is the time after which who waits for an answer in the mailbox looks whether the process
// lives and the caller's context goes on.
const mailWait = 10 * time.Millisecond

// errGone says that the process ended before it answered; why, the process itself tells.
var errGone = errors.New("it ended without an answer")

// post exchanges messages by the mailbox, and supervises the process meanwhile.
func (s *Session) post(ctx context.Context, w *watch, q *pluginv1.SessionRequest) (*pluginv1.SessionResponse, error) {
	w.begin(s.p)
	r, err := w.post(ctx, q)
	if f, failed := r.GetResponse().(*pluginv1.SessionResponse_Failure); failed {
		err = fmt.Errorf("it answered with an error: %s", limited(f.Failure))
	}
	if err != nil {
		return nil, s.broken(w.place(), err)
	}
	s.messages++
	return r, nil
}

// post exchanges messages while Stop must not close the mailbox.
func (w *watch) post(ctx context.Context, q *pluginv1.SessionRequest) (*pluginv1.SessionResponse, error) {
	w.p.memUse.RLock()
	defer w.p.memUse.RUnlock()
	m := w.p.mail
	if w.p.letters.Bytes() == nil {
		return nil, errGone
	}
	if err := m.Ask(q); err != nil {
		return nil, err
	}
	if err := w.await(ctx, m); err != nil {
		return nil, err
	}
	r := new(pluginv1.SessionResponse)
	return r, m.Response(r)
}

// await waits until the plugin has answered in the mailbox.
func (w *watch) await(ctx context.Context, m *mailbox.Mailbox) error {
	_, _, w.beats = m.Progress()
	for !w.look(ctx) {
		if there, err := m.Await(mailWait); there || err != nil {
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

// takeAnswers appends the answers in the mailbox, and their marks if they are to queries.
func (s *Session) takeAnswers(rows int, marks bool) error {
	s.p.memUse.RLock()
	defer s.p.memUse.RUnlock()
	if s.p.letters.Bytes() == nil {
		return errGone
	}
	s.answers = append(s.answers, s.p.mail.Values(rows)...)
	if marks {
		s.marks = append(s.marks, s.p.mail.Marks(rows)...)
	}
	return nil
}
