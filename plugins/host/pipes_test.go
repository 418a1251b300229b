package host

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// serveRawPipes takes sessions from the pipes without the SDK, and misbehaves in one way when it is asked
// for answers.
func serveRawPipes(kind string) {
	requests, responses := os.NewFile(pluginv1.RequestFD, "requests"), os.NewFile(pluginv1.ResponseFD, "responses")
	pipes := pluginv1.NewPipes(requests, responses)
	for {
		q, r := new(pluginv1.SessionRequest), new(pluginv1.SessionResponse)
		if err := pipes.Receive(q); err != nil {
			return
		}
		switch q.Request.(type) {
		case *pluginv1.SessionRequest_Open:
			r.Response = &pluginv1.SessionResponse_Opened{Opened: &pluginv1.Opened{}}
		case *pluginv1.SessionRequest_Step:
			r.Response = &pluginv1.SessionResponse_Answers{Answers: &pluginv1.Answers{Values: make([]byte, 16)}}
			switch kind {
			case "pipes dies":
				os.Exit(3)
			case "pipes hangs":
				continue
			case "pipes closes":
				_, _ = requests.Close(), responses.Close()
				select {}
			case "pipes floods":
				for {
					report := &pluginv1.SessionResponse_Progress{Progress: &pluginv1.Progress{}}
					_ = pipes.Send(&pluginv1.SessionResponse{Response: report})
				}
			case "pipes long", "pipes garbage":
				length := map[string]uint32{"pipes long": 1 << 31, "pipes garbage": 100}[kind]
				b := binary.LittleEndian.AppendUint32(nil, length)
				_, _ = responses.Write(append(b, strings.Repeat("\xff", 100)...))
				continue
			case "pipes failure":
				r.Response = &pluginv1.SessionResponse_Failure{Failure: "no such rows"}
			case "pipes other":
				r.Response = &pluginv1.SessionResponse_Closed{Closed: &pluginv1.Closed{}}
			}
		case *pluginv1.SessionRequest_Close:
			r.Response = &pluginv1.SessionResponse_Closed{Closed: &pluginv1.Closed{}}
		}
		if err := pipes.Send(r); err != nil {
			return
		}
	}
}

// The error about a plugin that misuses the pipes names the misuse.
func TestPipesProtocol(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind   string
		cause  Cause // "": no error
		detail string
	}{
		{"pipes fine", "", ""},
		{"pipes dies", Exit, ""},
		{"pipes hangs", Time, "took more than the 700ms allowed"},
		{"pipes closes", Protocol, "it closed its pipes but did not end"},
		{"pipes floods", Protocol, "reports of progress where one a second is allowed"},
		{"pipes long", Protocol, "a message of 2147483648 bytes is longer than the limit of 33554432"},
		{"pipes garbage", Protocol, "cannot be decoded"},
		{"pipes failure", Protocol, "it answered with an error: no such rows"},
		{"pipes other", Protocol, `it sent "closed" where "answers" was due`},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			c := self("raw", "RAW="+tt.kind)
			if c.Trial = time.Minute; tt.cause == Time {
				c.Trial = 700 * time.Millisecond
			}
			_, err := runIn(t, start(t, c), request("test/raw", 1, 1, 1, nil))
			var exit *ExitError
			if tt.cause == "" && err != nil || tt.cause != "" && (!errors.As(err, &exit) ||
				exit.Cause != tt.cause || exit.Where != "answering" || !strings.Contains(exit.Detail, tt.detail)) {
				t.Errorf("%v", err)
			}
		})
	}
}
