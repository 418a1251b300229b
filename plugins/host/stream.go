package host

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// stream carries the messages of a session: a call of gRPC, or pipes.
type stream interface {
	Send(*pluginv1.SessionRequest) error
	Recv() (*pluginv1.SessionResponse, error)
}

// pipeStream is the host's end of the pipes of a process, which carry its sessions one after another.
type pipeStream struct {
	pipes               *pluginv1.Pipes
	responses, requests *os.File
}

func newPipeStream(responses, requests *os.File) *pipeStream {
	return &pipeStream{pluginv1.NewPipes(responses, requests), responses, requests}
}

// errPipes reports that the other side has closed its end of a pipe, or that close was called.
var errPipes = errors.New("it closed its pipes but did not end")

func (s *pipeStream) Send(q *pluginv1.SessionRequest) error { return pipeError(s.pipes.Send(q)) }

func (s *pipeStream) Recv() (*pluginv1.SessionResponse, error) {
	r := new(pluginv1.SessionResponse)
	return r, pipeError(s.pipes.Receive(r))
}

func pipeError(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errPipes
	}
	return err
}

// close ends all calls that are under way.
func (s *pipeStream) close() {
	_, _ = s.responses.Close(), s.requests.Close()
}
