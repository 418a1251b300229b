//go:build unix && !linux

package dataset

import "os"

// nameless creates an empty file without a name.
func nameless(name string) (*os.File, error) {
	f, err := os.CreateTemp("", "shatter-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// seal does nothing: without seals, readers are trusted not to write.
func seal(*os.File) error { return nil }
