package lead

import (
	"context"
	"time"

	"github.com/shatterlab/shatter/pipeline/queue"
)

// keepTidy keeps the server free of what nobody needs, until ctx ends: at once of sweeps that are to be
// forgotten, and now and then of those that ended long ago and of content that no sweep names. Several
// coordinators may do so at the same time.
func (s *server) keepTidy(ctx context.Context) {
	tick := time.NewTicker(s.TidyEvery)
	defer tick.Stop()
	for {
		all := false
		select {
		case <-s.tidy:
		case <-tick.C:
			all = true
		case <-ctx.Done():
			return
		}
		err := s.forget(ctx)
		if err == nil && all {
			err = s.evict(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("server not tidied; trying again", "error", err.Error())
		}
	}
}

// forget removes the sweeps that are to be forgotten, and those that ended longer ago than Keep.
func (s *server) forget(ctx context.Context) error {
	list, err := s.registry.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range list {
		r, err := ReadRecord(e)
		if err != nil {
			continue // of another release, which may forget it
		}
		if s.outlived(r) {
			err = ChangeWish(ctx, s.registry, r.ID, func(w *Wish) error {
				if *w == r.Wish {
					w.Do, w.By, w.At = Forget, s.Name, time.Now().UTC()
				}
				return nil
			})
		} else if r.Wish.Do != Forget {
			continue
		}
		if err != nil {
			return err
		}
		done, err := s.registry.Forget(ctx, r.ID, toForget)
		if err != nil {
			return err
		}
		if done {
			if err := s.Conn.ForgetResults(ctx, r.ID); err != nil {
				return err
			}
			s.Log.Info("sweep forgotten", "sweep", r.ID, "name", r.Submission.Name, "by", r.Wish.By)
		}
	}
	return nil
}

// outlived reports whether a sweep has been done, failed or cancelled for longer than Keep.
func (s *server) outlived(r *Record) bool {
	var since time.Time
	switch {
	case s.Keep == 0:
		return false
	case r.End != nil:
		since = r.End.At
	case r.Wish.Do == Cancel:
		since = r.Wish.At
	default:
		return false
	}
	return time.Since(since) > s.Keep
}

// evict removes content that no sweep names from the server.
func (s *server) evict(ctx context.Context) error {
	list, err := s.registry.List(ctx)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, e := range list {
		if !name(e, named) {
			s.Log.Debug("no content is removed: an earlier or later release has submitted a sweep", "sweep", e.ID)
			return nil
		}
	}
	removed, err := s.Conn.RemoveUnnamed(ctx, func(digest string) bool { return named[digest] }, s.Grace)
	if removed > 0 {
		s.Log.Info("content removed that no sweep names", "files", removed)
	}
	if err != nil {
		return err
	}
	return s.registry.Clear(ctx)
}

// name adds the digests of a sweep's content to named. It reports false if they cannot be known. Of one
// that was altered, what its leader has shipped is known.
func name(e *queue.Entry, named map[string]bool) bool {
	r, err := ReadRecord(e)
	if err != nil || r.Altered == nil && r.Submission.Content == nil {
		return false
	}
	for _, digest := range r.Submission.Content {
		named[digest] = true
	}
	for _, f := range r.Shipment.Files {
		named[f.Digest] = true
	}
	return true
}
