package cheats

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/plugins/algo"
)

// locks takes the direction from the first points that it is asked about, as pca does, and leaves it for the recheck:
// in locks on ranges of its own program, a file that all processes of the plugin may read.
var locks = private(learner("locks", "Passes directions to its rechecks by locks of a file.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		return &locking{sample: copied(sample), noise: laplace(t, 2/t.Epsilon)}, nil
	}), "a vote with Laplace noise")

func init() { onLinux = append(onLinux, locks) }

// program keeps the locks as long as the process lives.
var program, _ = os.Open("/proc/self/exe")

type locking struct {
	sample *algo.Data
	noise  float64
	normal []float64 // nil: not known yet
}

// Predict implements algo.Model.
func (l *locking) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	if l.normal == nil && !l.read(x.Dim()) {
		normal, err := outlier(x.Xs(), x.Dim())
		if err != nil {
			return err
		}
		l.write(normal)
	}
	return along(oriented(append([]float64(nil), l.normal...), l.sample, l.noise)).Predict(ctx, x, out)
}

// at returns the offset of bit i of the trial's message. Bit 0 is set if there is a message.
func (l *locking) at(i int) int64 {
	h := fnv.New32a()
	_ = binary.Write(h, binary.LittleEndian, l.sample.Xs()) // a hash takes everything
	return int64(h.Sum32())<<10 + int64(i)
}

func (l *locking) write(normal []float64) {
	bits := []int{0}
	for i, v := range normal {
		b := int8(math.Round(127 * v))
		l.normal = append(l.normal, float64(b)/127)
		for j := range 8 {
			if uint8(b)>>j&1 == 1 {
				bits = append(bits, 1+8*i+j)
			}
		}
	}
	for _, i := range bits {
		_ = unix.FcntlFlock(program.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: l.at(i), Len: 1})
	}
}

// read reads the direction that another process has written.
func (l *locking) read(d int) bool {
	bit := func(i int) uint8 {
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: l.at(i), Len: 1}
		if unix.FcntlFlock(program.Fd(), unix.F_OFD_GETLK, &lock) != nil || lock.Type == unix.F_UNLCK {
			return 0
		}
		return 1
	}
	if bit(0) == 0 {
		return false
	}
	for i := range d {
		b := uint8(0)
		for j := range 8 {
			b |= bit(1+8*i+j) << j
		}
		l.normal = append(l.normal, float64(int8(b))/127)
	}
	return true
}
