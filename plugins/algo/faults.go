package algo

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// thrown is a recovered panic of the author's code.
type thrown struct {
	value any
	stack string // result of authorStack
}

func (t *thrown) Error() string {
	what := fmt.Sprintf("panic: %v", t.value)
	if e, ok := t.value.(interface{ Addr() uintptr }); ok { // a memory fault
		what = fmt.Sprintf("panic: bad access to memory at %#x (samples and points are read-only)", e.Addr())
	}
	return what + "\n\n" + t.stack
}

// guarded calls f, which calls the author's code, and returns its error, or a *thrown if it panics.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &thrown{value: value, stack: authorStack()}
		}
	}()
	return f()
}

// maxFrames limits the frames that authorStack examines; the text of more would exceed maxText.
const maxFrames = 100

// authorStack describes the frames of the author's code in the stack of a panic, the innermost
// first. It must be called while guarded recovers that panic. It omits the frames of the Go
// runtime, the frames of the recovery, and those between guarded and the author's code.
func authorStack() string {
	guard, sdk := runtime.FuncForPC(reflect.ValueOf(guarded).Pointer()).Name(), reflect.TypeFor[thrown]().PkgPath()
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var found []runtime.Frame
	panicked := false
	for {
		f, more := frames.Next()
		if f.Function == guard {
			for len(found) > 0 && packageOf(found[len(found)-1].Function) == sdk {
				found = found[:len(found)-1]
			}
			break
		}
		if packageOf(f.Function) == "runtime" {
			panicked = true // the runtime has raised the panic that guarded recovers
		} else if panicked {
			found = append(found, f)
		}
		if !more {
			break
		}
	}
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// packageOf returns the import path of the package of a function, given its name in a
// runtime.Frame: all of it before the first dot that follows the last slash outside of type
// arguments.
func packageOf(function string) string {
	path, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(path, '/') + 1
	if dot := strings.IndexByte(path[slash:], '.'); dot >= 0 {
		return path[:slash+dot]
	}
	return path
}

// refusalOf encodes an error as the refusal of a setting.
func refusalOf(err error) *pluginv1.Refusal {
	r := &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_ERROR, Message: text(err.Error())}
	switch {
	case IsInvalid(err):
		r.Kind = pluginv1.Refusal_KIND_INVALID
	case IsInfeasible(err):
		r.Kind = pluginv1.Refusal_KIND_INFEASIBLE
	}
	return r
}

// A fault is the error that ended a trial.
type fault struct {
	trial int
	err   error
}

// maxFaultText limits the texts of all faults of one message, in bytes.
const maxFaultText = 256 << 10

// packFaults encodes faults. It sends equal consecutive texts once, and cuts all texts to one
// length if together they would be too long.
func packFaults(faults []fault) []*pluginv1.Fault {
	if len(faults) == 0 {
		return nil
	}
	packed := make([]*pluginv1.Fault, len(faults))
	total, last := 0, ""
	for i, f := range faults {
		message := text(f.err.Error())
		if message == "" {
			message = fmt.Sprintf("an error without a text, of type %T", f.err)
		}
		packed[i] = &pluginv1.Fault{Trial: uint32(f.trial), Kind: faultKind(f.err)}
		if message != last {
			packed[i].Message = message
			total += len(message)
		}
		last = message
	}
	if total > maxFaultText {
		for _, f := range packed {
			f.Message = cut(f.Message, max(3, maxFaultText/len(packed)))
		}
	}
	return packed
}

// faultKind classifies the error that ended a trial.
func faultKind(err error) pluginv1.Fault_Kind {
	var panicked *thrown
	switch {
	case errors.As(err, &panicked):
		return pluginv1.Fault_KIND_PANIC
	case IsInvalid(err):
		return pluginv1.Fault_KIND_INVALID
	case IsInfeasible(err):
		return pluginv1.Fault_KIND_INFEASIBLE
	}
	return pluginv1.Fault_KIND_ERROR
}

// maxText limits the length of a text that is sent to the host, in bytes.
const maxText = 4096

// text returns s as valid UTF-8 of at most maxText bytes.
func text(s string) string { return cut(s, maxText) }

// cut returns s as valid UTF-8, which the protocol requires, of at most limit bytes; limit is at
// least 3.
func cut(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit-3] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
