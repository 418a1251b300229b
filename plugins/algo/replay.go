package algo

import (
	"context"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// NewSession returns a function that answers the requests of one session of the protocol, as Serve
// does. Tables of the requests lie in what memory returns. It is for package algotest.
func NewSession(ctx context.Context, p Plugin, memory func() []byte) (
	answer func(*pluginv1.SessionRequest) (*pluginv1.SessionResponse, error), err error,
) {
	s, err := newService([]Plugin{p}, &places{session: func() ([]byte, error) { return memory(), nil }})
	if err != nil {
		return nil, err
	}
	return newSession(ctx, s).answer, nil
}
