package main

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// defaultCacheSize bounds the fetched files that a worker keeps while nobody uses them, in bytes.
const defaultCacheSize sizeFlag = 20 << 30

// sizeFlag is an amount of disk, in bytes.
type sizeFlag int64

func (s *sizeFlag) String() string { return wording.Bytes(int64(*s)) }

func (s *sizeFlag) Type() string { return "size" }

func (s *sizeFlag) Set(text string) error {
	var b schemas.Bytes
	if err := b.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("%q is no size of at least 1 MiB: write it like 20 GiB", text)
	}
	*s = sizeFlag(b)
	return nil
}
