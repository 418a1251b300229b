package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// rawPlugin speaks the protocol without the SDK, and breaks it in one way.
type rawPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	pluginv1.UnimplementedPluginServer
	kind string
}

func serveRaw(p rawPlugin) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: pluginv1.Version, MagicCookieKey: pluginv1.CookieKey, MagicCookieValue: pluginv1.CookieValue,
		},
		Plugins: plugin.PluginSet{pluginv1.Name: p},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxSendMsgSize(1<<30))...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

func (p rawPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pluginv1.RegisterPluginServer(s, p)
	return nil
}

func (rawPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (p rawPlugin) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	d := &pluginv1.DescribeResponse{
		Sdk: "raw", ProtocolMin: 1, ProtocolMax: 1,
		Algorithms: []*pluginv1.Algorithm{{
			Name: "test/raw", Version: "1", Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN},
			Metrics: []*pluginv1.Metric{{Name: "m"}},
		}},
	}
	switch p.kind {
	case "range":
		d.ProtocolMin, d.ProtocolMax = 7, 9
	case "twice":
		d.Algorithms = append(d.Algorithms, d.Algorithms[0])
	case "nothing":
		d.Algorithms = nil
	case "silent description":
		select {}
	}
	d.Ask = strings.HasPrefix(p.kind, "ask ")
	if d.Pipes = strings.HasPrefix(p.kind, "pipes "); d.Pipes {
		go serveRawPipes(p.kind)
	}
	return d, nil
}

// rawDeclarations lists declarations of plugins, by name.
var rawDeclarations = map[string][]*pluginv1.Declared{
	"well":    {{Kind: "halfspace", Trials: []uint32{0}, Numbers: make([]byte, 16)}},
	"outside": {{Kind: "halfspace", Trials: []uint32{1}, Numbers: make([]byte, 16)}},
	"twice": {
		{Kind: "halfspace", Trials: []uint32{0}, Numbers: make([]byte, 16)},
		{Kind: "constant", Trials: []uint32{0}, Numbers: make([]byte, 8)},
	},
	"nothing known":   {{Kind: "oracle", Trials: []uint32{0}, Numbers: make([]byte, 8)}},
	"too many":        {{Kind: "stump", Trials: []uint32{0}, Numbers: make([]byte, 8_000_000)}},
	"half a number":   {{Kind: "stump", Trials: []uint32{0}, Numbers: make([]byte, 23)}},
	"not a number":    {{Kind: "halfspace", Trials: []uint32{0}, Numbers: bytes.Repeat([]byte{0xff}, 16)}},
	"no sign":         {{Kind: "constant", Trials: []uint32{0}, Numbers: make([]byte, 8)}},
	"no trial at all": {{Kind: "constant", Numbers: make([]byte, 8)}},
}

// rawCheck refuses settings with a sample size, which it repeats.
func rawCheck(s *pluginv1.Setting) *pluginv1.CheckResponse {
	if s.GetN() == 0 {
		return &pluginv1.CheckResponse{}
	}
	return &pluginv1.CheckResponse{Refusal: &pluginv1.Refusal{Kind: 1, Message: strconv.Itoa(int(s.GetN()))}}
}

func rawBound() *pluginv1.BoundResponse {
	return &pluginv1.BoundResponse{Bounds: []*pluginv1.Bound{{Name: "raw", Source: "test", Value: 1}}}
}

func (p rawPlugin) Check(_ context.Context, s *pluginv1.Setting) (*pluginv1.CheckResponse, error) {
	if p.kind == "unary dies" && s.GetN() == 40 {
		os.Exit(3)
	}
	return rawCheck(s), nil
}

func (rawPlugin) Bound(context.Context, *pluginv1.Setting) (*pluginv1.BoundResponse, error) {
	return rawBound(), nil
}

func (p rawPlugin) Ask(_ context.Context, q *pluginv1.AskRequest) (*pluginv1.AskResponse, error) {
	r := &pluginv1.AskResponse{}
	for _, s := range q.Settings {
		a := &pluginv1.Answer{Check: rawCheck(s)}
		if s.GetN() == 0 {
			a.Bound = rawBound()
		}
		r.Answers = append(r.Answers, a)
	}
	switch p.kind {
	case "ask sizes":
		for _, a := range r.Answers {
			a.Check = &pluginv1.CheckResponse{Refusal: &pluginv1.Refusal{Message: fmt.Sprint(len(q.Settings))}}
		}
	case "ask one by one":
		r.Answers = r.Answers[:1]
	case "ask none":
		r.Answers = nil
	case "ask too much":
		r.Answers = append(r.Answers, r.Answers[0])
	case "ask nowhere":
		return p.UnimplementedPluginServer.Ask(context.Background(), q)
	}
	return r, nil
}

func (p rawPlugin) Session(s grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionResponse]) error {
	for {
		q, err := s.Recv()
		if err != nil {
			return nil
		}
		switch r := q.Request.(type) {
		case *pluginv1.SessionRequest_Open:
			if p.kind == "ends session" {
				return nil
			}
			err = p.opened(s, r.Open)
		case *pluginv1.SessionRequest_Step:
			err = p.answers(s, r.Step)
		case *pluginv1.SessionRequest_Close:
			err = p.closed(s)
			if err == nil && p.kind != "goes on" {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

func (p rawPlugin) opened(
	s grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionResponse], o *pluginv1.Open,
) error {
	r := &pluginv1.Opened{}
	switch p.kind {
	case "fault outside":
		r.Faults = []*pluginv1.Fault{{Trial: uint32(len(o.Seeds) / 2), Kind: pluginv1.Fault_KIND_ERROR}}
	case "fault without kind":
		r.Faults = []*pluginv1.Fault{{}}
	case "flood":
		for {
			report := &pluginv1.SessionResponse_Progress{Progress: &pluginv1.Progress{}}
			if err := s.Send(&pluginv1.SessionResponse{Response: report}); err != nil {
				os.Exit(0)
			}
		}
	case "wrong answer":
		return s.Send(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Closed{Closed: &pluginv1.Closed{}}})
	case "empty":
		return s.Send(&pluginv1.SessionResponse{})
	case "huge":
		r.Faults = []*pluginv1.Fault{{Kind: pluginv1.Fault_KIND_ERROR, Message: string(make([]byte, pluginv1.MaxMessage))}}
	case "hang":
		select {}
	}
	if name, ok := strings.CutPrefix(p.kind, "declared "); ok {
		r.Declared = rawDeclarations[name]
	}
	return s.Send(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Opened{Opened: r}})
}

func (p rawPlugin) answers(
	s grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionResponse], q *pluginv1.Step,
) error {
	n := 0
	for _, c := range q.Counts {
		n += int(c)
	}
	r := &pluginv1.Answers{Values: make([]byte, 8*n)}
	switch p.kind {
	case "too few":
		r.Values = r.Values[:len(r.Values)-8]
	case "too many":
		r.Values = append(r.Values, make([]byte, 8)...)
	case "half a number":
		r.Values = r.Values[:len(r.Values)-1]
	case "twice":
		m := &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: r}}
		if err := s.Send(m); err != nil {
			return err
		}
	case "limit":
		r.Values = make([]byte, pluginv1.MaxMessage-10) // with tags and lengths exactly at the limit
	case "over limit":
		r.Values = make([]byte, pluginv1.MaxMessage-9)
	}
	return s.Send(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: r}})
}

func (p rawPlugin) closed(s grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionResponse]) error {
	r := &pluginv1.Closed{}
	switch p.kind {
	case "metric unknown":
		r.Metrics = map[string][]byte{"other": make([]byte, 8)}
	case "metric short":
		r.Metrics = map[string][]byte{"m": make([]byte, 7)}
	case "goes on":
		m := &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Closed{Closed: r}}
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return s.Send(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Closed{Closed: r}})
}
