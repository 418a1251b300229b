package trial

import (
	"encoding/json"
	"os"
	"testing"
)

// The vectors are the three that Salmon, Moraes, Dror and Shaw publish with Philox4x32-10, and
// another one.
func TestPhilox(t *testing.T) {
	b, err := os.ReadFile("testdata/philox.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Ctr, Out [4]uint32
		Key      [2]uint32
	}
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != 4 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		if got := Philox(v.Ctr, v.Key); got != v.Out {
			t.Errorf("Philox(%v, %v) = %v, want %v", v.Ctr, v.Key, got, v.Out)
		}
	}
}

// The layout of key, counter and words is part of the meaning of a seed.
func TestSeedIsOneBlock(t *testing.T) {
	var k Key
	for i := range k {
		k[i] = byte(i + 1)
	}
	hi, lo := Seed(k, TestPoints, 0x0123456789abcdef, 77)
	c := Philox([4]uint32{77, 4, 0x89abcdef, 0x01234567}, [2]uint32{0x04030201, 0x08070605})
	if hi != uint64(c[0])<<32|uint64(c[1]) || lo != uint64(c[2])<<32|uint64(c[3]) {
		t.Errorf("Seed = %x, %x, the block is %x", hi, lo, c)
	}
	const wantHi, wantLo = 0x2b6968e263ec4da6, 0x70ad83d72eea73a8
	if hi != wantHi || lo != wantLo {
		t.Errorf("Seed = %#x, %#x, want %#x, %#x", hi, lo, uint64(wantHi), uint64(wantLo))
	}
}
