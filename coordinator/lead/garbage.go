package lead

import (
	"context"
	"errors"
	"time"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/schemas"
)

const (
	collectEvery = 10 * time.Minute // interval between removals of unused data
	unnamedTime  = 24 * time.Hour   // minimum age of unreferenced content that is removed
)

// collectGarbage removes unused data from the server until ctx ends. It deletes sweeps immediately
// when requested. At intervals it removes sweeps that ended long ago, and content to which no sweep
// refers. Several coordinators may do so at the same time.
func (s *server) collectGarbage(ctx context.Context) {
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		all := false
		select {
		case <-s.garbage:
		case <-tick.C:
			all = true
		case <-ctx.Done():
			return
		}
		list, err := s.registry.List(ctx)
		if err == nil {
			err = s.deleteSweeps(ctx, list)
		}
		if err == nil && all {
			err = s.evict(ctx, list)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("unused data not removed from the server; trying again", "error", err.Error())
		}
	}
}

// deleteSweeps deletes the sweeps with that desired state, and those that ended longer ago than
// Keep.
func (s *server) deleteSweeps(ctx context.Context, list []*queue.Entry) error {
	for _, e := range list {
		r, err := ReadRecord(e)
		if err != nil {
			continue // another release may have submitted it
		}
		if s.expired(r) {
			err = ChangeDesiredState(ctx, s.registry, r.ID, func(w *DesiredState) error {
				if *w == r.Desired {
					w.Do, w.By, w.At = Delete, s.Name, time.Now().UTC()
				}
				return nil
			})
		} else if r.Desired.Do != Delete {
			continue
		}
		if err != nil {
			return err
		}
		done, err := s.registry.Delete(ctx, r.ID, shouldDelete)
		if err != nil {
			return err
		}
		if done {
			if err := s.registry.DeleteResults(ctx, r.ID); err != nil {
				return err
			}
			s.Log.Info("sweep deleted", "sweep", r.ID, "name", r.Submission.Name, "by", r.Desired.By)
		}
	}
	return nil
}

// expired reports whether a sweep has been done, failed or canceled for longer than Keep.
func (s *server) expired(r *Record) bool {
	var since time.Time
	switch {
	case s.Keep == 0:
		return false
	case r.End != nil:
		since = r.End.At
	case r.Desired.Do == Cancel:
		since = r.Desired.At
	default:
		return false
	}
	return time.Since(since) > s.Keep
}

// evict removes content to which no sweep refers from the server, unless another release has
// submitted a sweep.
func (s *server) evict(ctx context.Context, list []*queue.Entry) error {
	named := map[string]bool{}
	for _, e := range list {
		r, err := ReadRecord(e)
		var other *schemas.VersionError
		if errors.As(err, &other) {
			s.Log.Debug("no content is removed: an earlier or later release has submitted a sweep", "sweep", e.ID)
			return nil
		}
		if err != nil {
			continue
		}
		for _, digest := range r.Submission.Content {
			named[digest] = true
		}
		for _, f := range r.Shipment.Files {
			named[f.Digest] = true
		}
	}
	removed, err := s.Conn.Files.RemoveUnnamed(ctx, func(digest string) bool { return named[digest] }, unnamedTime)
	if removed > 0 {
		s.Log.Info("content removed that no sweep names", "files", removed)
	}
	if err != nil {
		return err
	}
	return s.registry.Clear(ctx)
}
