package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// shareFlag is the value of --recheck: a share of trials.
type shareFlag float64

// defaultRecheck is the share of trials that a run rechecks unless --recheck is given.
const defaultRecheck = 0.01

func (f *shareFlag) Type() string { return "SHARE" }

func (f *shareFlag) String() string { return fmt.Sprintf("%v%%", 100*float64(*f)) }

// Set reads 1%, all or 0.
func (f *shareFlag) Set(text string) error {
	switch text {
	case "0", "0%":
		*f = 0
		return nil
	case "all":
		*f = 1
		return nil
	}
	share, ok := strings.CutSuffix(text, "%")
	if v, err := strconv.ParseFloat(strings.TrimSpace(share), 64); ok && err == nil && v > 0 && v <= 100 {
		*f = shareFlag(v / 100)
		return nil
	}
	return errors.New("a share like 1%, all, or 0 for none is needed")
}
