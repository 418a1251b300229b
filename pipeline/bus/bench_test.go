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

// BenchmarkPaced measures one job at a time: sent, run, its result published, read, acknowledged.
// cpu-us/op counts the core time of all parties; the server is in this process. With a pause
// between jobs, as when jobs trickle in, caches are cold and threads asleep.
func BenchmarkPaced(b *testing.B) {
	for _, pause := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run("pause="+pause.String(), func(b *testing.B) {
			conn := embedded(b, Options{})
			q := coordinate(b, conn, "paced", 1)
			work(b, conn, 8000)
			payload := make([]byte, 1000)
			began := processTime(b)
			for i := 0; b.Loop(); i++ {
				must(b, q.Send(b.Context(), "w", strconv.Itoa(i), payload))
				m, err := q.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				must(b, m.Ack())
				time.Sleep(pause)
			}
			b.ReportMetric(float64(processTime(b)-began)/float64(b.N)/1e3, "cpu-us/op")
		})
	}
}

// BenchmarkSaturated keeps jobs at a worker that answers each with a result of some size.
func BenchmarkSaturated(b *testing.B) {
	for _, size := range []int{1000, 64 << 10, 512 << 10} {
		b.Run("result="+strconv.Itoa(size), func(b *testing.B) {
			conn := embedded(b, Options{})
			q := coordinate(b, conn, "saturated", 1)
			work(b, conn, size)
			b.SetBytes(int64(size))
			payload := make([]byte, 1000)
			began := processTime(b)
			sent, received := 0, 0
			for b.Loop() {
				for ; sent < received+8; sent++ {
					must(b, q.Send(b.Context(), "w", strconv.Itoa(sent), payload))
				}
				m, err := q.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				must(b, m.Ack())
				received++
			}
			b.ReportMetric(float64(processTime(b)-began)/float64(b.N)/1e3, "cpu-us/op")
		})
	}
}

// work runs a worker "w" that answers each job with a result of size bytes, until the test ends.
func work(t testing.TB, conn *Conn, size int) {
	t.Helper()
	in := listen(t, conn, "w")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		result := make([]byte, size)
		for {
			select {
			case j := <-in.Jobs:
				if err := conn.Publish(ctx, j.Lead, Part{"w", j.ID, 0, 1}, result); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}
