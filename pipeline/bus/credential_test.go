package bus

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestRefusesPrivate(t *testing.T) {
	refused := func(text string) error { return fmt.Errorf("%w: %s", nats.ErrPermissionViolation, text) }
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{refused(`Publish to "shatter.private.ab"`), true},
		{refused(`Publish to "$JS.API.DIRECT.GET.shatter-files.shatter.private.ab.0"`), true},
		{refused(`Publish to "shatter.file.ab"`), false},
		{errors.New(`read shatter.private.ab: not stored`), false},
	} {
		if got := refusesPrivate(tt.err); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}
