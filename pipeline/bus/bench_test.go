package bus

import (
	"context"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// processTime returns the user and system time that this process has used.
func processTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkPaced measures one job at a time: submit, lease, publish, done, result, acknowledge.
// cpu-us/op counts the core time of all parties; the server is in this process. With a pause
// between jobs, as when jobs trickle in, caches are cold and threads asleep.
func BenchmarkPaced(b *testing.B) {
	for _, pause := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run("pause="+pause.String(), func(b *testing.B) {
			conn := embedded(b, Options{})
			q := coordinate(b, conn, "paced", 1)
			work(b, conn, 1, 8000)
			payload := make([]byte, 1000)
			began := processTime(b)
			for i := 0; b.Loop(); i++ {
				if err := q.Submit(b.Context(), strconv.Itoa(i), payload); err != nil {
					b.Fatal(err)
				}
				m, err := q.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := m.Ack(); err != nil {
					b.Fatal(err)
				}
				time.Sleep(pause)
			}
			b.ReportMetric(float64(processTime(b)-began)/float64(b.N)/1e3, "cpu-us/op")
		})
	}
}

// BenchmarkSaturated keeps jobs queued for two slots.
func BenchmarkSaturated(b *testing.B) {
	for _, size := range []int{1000, 64 << 10, 512 << 10} {
		b.Run("result="+strconv.Itoa(size), func(b *testing.B) {
			conn := embedded(b, Options{})
			q := coordinate(b, conn, "saturated", 2)
			work(b, conn, 2, size)
			b.SetBytes(int64(size))
			payload := make([]byte, 1000)
			began := processTime(b)
			sent, received := 0, 0
			for b.Loop() {
				for ; sent < received+8; sent++ {
					if err := q.Submit(b.Context(), strconv.Itoa(sent), payload); err != nil {
						b.Fatal(err)
					}
				}
				m, err := q.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := m.Ack(); err != nil {
					b.Fatal(err)
				}
				received++
			}
			b.ReportMetric(float64(processTime(b)-began)/float64(b.N)/1e3, "cpu-us/op")
		})
	}
}

// BenchmarkState measures what a call of State costs the coordinator.
func BenchmarkState(b *testing.B) {
	conn := embedded(b, Options{})
	q := coordinate(b, conn, "state", 1)
	for i := range 100 {
		if err := q.Submit(b.Context(), strconv.Itoa(i), nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := q.State(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// work runs slots that answer each job with a result of size bytes, until the test ends.
func work(t testing.TB, conn *Conn, slots, size int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, slots)
	for range slots {
		go func() {
			defer func() { done <- struct{}{} }()
			result := make([]byte, size)
			for {
				lease, err := conn.Lease(ctx)
				if err != nil {
					return
				}
				if err := conn.Publish(ctx, lease.Sweep, lease.ID, result); err != nil {
					return
				}
				if err := lease.Done(ctx); err != nil {
					return
				}
			}
		}()
	}
	t.Cleanup(func() {
		cancel()
		for range slots {
			<-done
		}
	})
}
