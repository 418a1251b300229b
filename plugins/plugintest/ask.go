package plugintest

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// checkAsk checks that the answers to a request about several settings equal those of Check and
// Bound.
func (s checks) checkAsk() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	settings := []*pluginv1.Setting{
		s.with(func(w *pluginv1.Setting) { w.N = 0 }),
		s.setting,
		s.with(func(w *pluginv1.Setting) { w.N, w.Alpha, w.Epsilon = 0, w.Alpha/2, w.Epsilon/2 }),
		s.with(func(w *pluginv1.Setting) { w.Parameters = map[string]*pluginv1.Value{"": {}} }),
	}
	answers, err := p.Ask(s.ctx, settings)
	if err != nil {
		return err
	}
	for i, setting := range settings {
		want := &pluginv1.Answer{}
		if want.Check, err = p.Check(s.ctx, setting); err != nil {
			return err
		}
		if b := pluginv1.BoundSetting(setting, want.Check); b != nil {
			if want.Bound, err = p.Bound(s.ctx, b); err != nil {
				return err
			}
		}
		if !proto.Equal(want, answers[i]) {
			return fmt.Errorf("the answer is %v in a request with several settings, and %v alone", answers[i], want)
		}
	}
	return nil
}
