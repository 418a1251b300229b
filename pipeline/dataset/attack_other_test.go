//go:build unix && !linux

package dataset

import "os"

func attack(*os.File) map[string]error { return nil }
