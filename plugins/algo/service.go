package algo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// service serves a set of algorithms by the plugin protocol.
type service struct {
	pluginv1.UnimplementedPluginServer
	description *pluginv1.DescribeResponse
	plugins     map[string]Plugin // plugins by name
	places      *places
	turn        chan struct{} // holds a value while the algorithms are in use; see acquire
}

// newService returns a service of the given algorithms, or an error if one is not valid.
func newService(plugins []Plugin, places *places) (*service, error) {
	s := &service{
		description: &pluginv1.DescribeResponse{
			Sdk: sdkVersion(), ProtocolMin: pluginv1.Version, ProtocolMax: pluginv1.Version, Progress: true, Pipes: true,
			Ask: true, Environment: buildEnvironment(),
		},
		plugins: make(map[string]Plugin), places: places, turn: make(chan struct{}, 1),
	}
	if len(plugins) == 0 {
		return nil, errors.New("no algorithm to serve")
	}
	for _, p := range plugins {
		d, err := p.describe()
		if err != nil {
			return nil, err
		}
		if s.plugins[d.Name] != nil {
			return nil, fmt.Errorf("algorithm %q is served twice", d.Name)
		}
		s.plugins[d.Name] = p
		s.description.Algorithms = append(s.description.Algorithms, d)
	}
	return s, nil
}

func (s *service) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	d := proto.CloneOf(s.description)
	d.Goroutines = uint32(runtime.NumGoroutine())
	return d, nil
}

func (s *service) Check(ctx context.Context, w *pluginv1.Setting) (*pluginv1.CheckResponse, error) {
	return consult(ctx, s, w, Plugin.check, func(r *pluginv1.Refusal) *pluginv1.CheckResponse {
		return &pluginv1.CheckResponse{Refusal: r}
	})
}

func (s *service) Bound(ctx context.Context, w *pluginv1.Setting) (*pluginv1.BoundResponse, error) {
	return consult(ctx, s, w, Plugin.bound, func(r *pluginv1.Refusal) *pluginv1.BoundResponse {
		return &pluginv1.BoundResponse{Refusal: r}
	})
}

// Limits of a response of Ask: when one is reached, the remaining settings are left to the next
// request.
const (
	askTime  = time.Second / 4
	askBytes = 512 << 10
)

func (s *service) Ask(ctx context.Context, q *pluginv1.AskRequest) (*pluginv1.AskResponse, error) {
	r := &pluginv1.AskResponse{}
	start, size := time.Now(), 0
	for _, w := range q.GetSettings() {
		a, err := s.answer(ctx, w)
		if err != nil {
			return nil, err
		}
		r.Answers = append(r.Answers, a)
		if size += textSize(a); size > askBytes || time.Since(start) > askTime {
			break
		}
	}
	return r, nil
}

// textSize returns the approximate length of the texts in an answer, which are nearly all of it.
func textSize(a *pluginv1.Answer) int {
	size := len(a.GetCheck().GetRefusal().GetMessage()) + len(a.GetBound().GetRefusal().GetMessage())
	for _, v := range a.GetCheck().GetParameters() {
		size += len(v.GetString_())
	}
	for _, b := range a.GetBound().GetBounds() {
		size += len(b.GetName()) + len(b.GetSource()) + len(b.GetFails()) + 64*(len(b.GetWith())+len(b.GetPremises()))
	}
	return size
}

// answer returns the results of Check and Bound for a setting.
func (s *service) answer(ctx context.Context, w *pluginv1.Setting) (a *pluginv1.Answer, err error) {
	a = &pluginv1.Answer{}
	if a.Check, err = s.Check(ctx, w); err != nil {
		return nil, err
	}
	if b := pluginv1.BoundSetting(w, a.Check); b != nil {
		a.Bound, err = s.Bound(ctx, b)
	}
	return a, err
}

// consult calls the algorithm that a setting names, once no other call uses the algorithms, and
// returns its response. It converts an error or a panic to a refusal. Its own error is that of ctx.
func consult[R any](ctx context.Context, s *service, w *pluginv1.Setting,
	call func(Plugin, *pluginv1.Setting) (R, error), refuse func(*pluginv1.Refusal) R) (response R, err error) {
	release, err := s.acquire(ctx)
	if err != nil {
		return response, err
	}
	defer release()
	p, err := s.plugin(w)
	if err == nil {
		err = guarded(func() (err error) {
			response, err = call(p, w)
			return err
		})
	}
	if err != nil {
		return refuse(refusalOf(err)), nil
	}
	return response, nil
}

// acquire waits until no other call uses the algorithms. The caller must call release when it no
// longer uses them.
func (s *service) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// plugin returns the algorithm that a setting names.
func (s *service) plugin(w *pluginv1.Setting) (Plugin, error) {
	if p := s.plugins[w.GetAlgorithm()]; p != nil {
		return p, nil
	}
	return nil, Invalid("this plugin has no algorithm %q", w.GetAlgorithm())
}
