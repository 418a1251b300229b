package pluginv1

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The agreement of host and plugin apart from the messages. hashicorp/go-plugin starts a plugin
// with these values; the plugin's standard output contains only one handshake line.
const (
	Version     = 1                // protocol version of this release
	CookieKey   = "SHATTER_PLUGIN" // environment variable that is set for a plugin started by a host
	CookieValue = "5f0e8a4b1c9d4e0fa7d2"
	AttachKey   = "SHATTER_ATTACH" // environment variable with which a user makes a plugin wait for hosts
	// SocketDirKey is go-plugin's environment variable with the directory of a plugin's socket.
	SocketDirKey = "PLUGIN_UNIX_SOCKET_DIR"
	Name         = "shatter" // name of the service in go-plugin's set of plugins

	// MaxMessage is the limit on a message's size, set on both sides. Requests stay below 1 MiB by construction,
	// and responses below 1 MiB or the size of one declared hypothesis.
	MaxMessage = 32 << 20

	// MaxMetrics limits the metrics of an algorithm, so that those of the largest session fit in
	// one message.
	MaxMetrics = 16
)

// Descriptors that a plugin inherits.
const (
	LifelineFD = 3 // a pipe without data: it ends when the host ends, and the plugin then exits
	SessionFD  = 4 // memory file of sessions
	DatasetFD  = 5 // memory file of a shared dataset, if there is one
	RequestFD  = 6 // pipe of session requests
	ResponseFD = 7 // pipe of session responses
	LastFD     = ResponseFD
)

// BoundSetting returns the setting for a request of bounds after a plugin has checked s: s itself
// with the resolved parameters, without a delta if the guarantee is pure, and without test points
// if declared hypotheses have exact errors. It returns nil if no bounds are needed: the check
// rejects s, or s has a sample size. The two settings share their problem.
func BoundSetting(s *Setting, checked *CheckResponse) *Setting {
	if checked.GetRefusal() != nil || s.GetN() != 0 {
		return nil
	}
	resolved := new(Setting)
	to := resolved.ProtoReflect()
	s.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(f, v)
		return true
	})
	resolved.Parameters = checked.GetParameters()
	if checked.GetGuarantee().GetPure() {
		resolved.Delta = 0
	}
	if checked.GetDeclares() && s.GetProblem().GetFormula() {
		resolved.Test = 0
	}
	return resolved
}

// Name returns the task's name in sweep files, such as "learn".
func (x Task) Name() string { return strings.ToLower(strings.TrimPrefix(x.String(), "TASK_")) }

// TaskNamed returns the task with the given Name, or TASK_UNSPECIFIED.
func TaskNamed(name string) Task { return Task(Task_value["TASK_"+strings.ToUpper(name)]) }

// Rounds reports whether a trial of the task is a game of rounds. Its learner gets neither a sample
// nor a goal; its loss is compared with that of the best hypothesis in hindsight. In other tasks
// models learn from samples and have errors.
func (x Task) Rounds() bool { return x == Task_TASK_ONLINE }

// IsProblem reports whether x describes a problem instead of an algorithm.
func (x *Algorithm) IsProblem() bool { return slices.Contains(x.GetTasks(), Task_TASK_PROBLEM) }

// Units of bounds.
const (
	Examples = "examples" // a sample size
	Regret   = "regret"   // loss minus that of the best hypothesis in hindsight
	Mistakes = "mistakes" // loss, which is the expected number of mistakes
)

// Units lists the units that bounds of the task may have, the default first.
func (x Task) Units() []string {
	if x.Rounds() {
		return []string{Regret, Mistakes}
	}
	return []string{Examples}
}

// ValueOf returns the value with the content v, an int, int64, float64, bool or string. It panics
// for any other type.
func ValueOf(v any) *Value {
	switch v := v.(type) {
	case int:
		return &Value{Kind: &Value_Int{Int: int64(v)}}
	case int64:
		return &Value{Kind: &Value_Int{Int: v}}
	case float64:
		return &Value{Kind: &Value_Float{Float: v}}
	case bool:
		return &Value{Kind: &Value_Bool{Bool: v}}
	case string:
		return &Value{Kind: &Value_String_{String_: v}}
	}
	panic(fmt.Sprintf("pluginv1: a value cannot be of type %T", v))
}

// Plain returns the value as int64, float64, bool or string; nil if it has no kind.
func (v *Value) Plain() any {
	switch v := v.GetKind().(type) {
	case *Value_Int:
		return v.Int
	case *Value_Float:
		return v.Float
	case *Value_Bool:
		return v.Bool
	case *Value_String_:
		return v.String_
	}
	return nil
}
