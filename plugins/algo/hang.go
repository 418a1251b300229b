package algo

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// showOnQuit prints the stacks of the author's code whenever the process receives SIGQUIT. A host
// sends that signal to a plugin that exceeds its time, before it ends the plugin.
func showOnQuit() {
	quits := make(chan os.Signal, 1)
	signal.Notify(quits, syscall.SIGQUIT)
	go func() {
		for range quits {
			const most = 1 << 20
			stacks := make([]byte, most)
			stacks = stacks[:runtime.Stack(stacks, true)]
			fmt.Fprintf(os.Stderr, "stopped here:\n%s\n", authorGoroutines(string(stacks)))
		}
	}()
}

// authorGoroutines returns the goroutines of a dump that run the author's code, without the frames
// by which the SDK called it, or all goroutines if none does.
func authorGoroutines(dump string) string {
	var found []string
	for goroutine := range strings.SplitSeq(dump, "\n\n") {
		if stack, _, ok := strings.Cut(goroutine, "\ngithub.com/shatterlab/shatter/plugins/algo."); ok &&
			strings.Contains(goroutine, "plugins/algo.guarded(") {
			found = append(found, stack)
		}
	}
	if len(found) == 0 {
		return dump
	}
	return strings.Join(found, "\n\n")
}
