package algo

import (
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// sender sends the responses of a session, and reports of progress while a request is being
// answered.
type sender struct {
	stream grpc.ServerStreamingServer[pluginv1.SessionResponse]
	mu     sync.Mutex
	since  time.Time // when the present request came; zero between requests
}

// expect notes that a request has come, to which send will give the response.
func (s *sender) expect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
}

func (s *sender) send(r *pluginv1.SessionResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
	return s.stream.Send(r)
}

// reportProgress starts a goroutine that, once a second until stop is called, sends the counts of a
// request that has been worked on for longer than that.
func (s *sender) reportProgress(begun, done *atomic.Uint32) (stop func()) {
	const interval = time.Second
	ticker := time.NewTicker(interval)
	ctx := s.stream.Context()
	stopped := make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			s.mu.Lock()
			if !s.since.IsZero() && time.Since(s.since) >= interval {
				// A failed send ends the stream, and with it the session.
				_ = s.stream.Send(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Progress{
					Progress: &pluginv1.Progress{Begun: begun.Load(), Done: done.Load()},
				}})
			}
			s.mu.Unlock()
		}
	}()
	return func() {
		close(stopped)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.since = time.Time{} // nothing is sent from here on
	}
}
