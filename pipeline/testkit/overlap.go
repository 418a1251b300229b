package testkit

import (
	"flag"
	"os"
	"runtime"
	"strconv"
)

// Overlap lets parallel tests overlap their waits: four tests run at the same time on each core. TestMain calls it
// before the tests run; a -parallel flag of the command line overrides it.
func Overlap() {
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

// TempInMemory makes the temporary folders of this process and its children in memory, if the system has a folder
// there, because tests sync many small files. The folder may forbid to execute files.
func TempInMemory() {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if err := os.Setenv("TMPDIR", "/dev/shm"); err != nil {
			panic(err)
		}
	}
}
