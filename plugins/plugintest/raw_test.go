package plugintest

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"math"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// rawPlugin speaks the protocol without the SDK. Its algorithms answer a point with a label that
// depends on the point and the seed: raw/half uses half of the seed, raw/first ignores first_row.
type rawPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	pluginv1.UnimplementedPluginServer
	session, shared []byte
}

func serveRaw() {
	p := rawPlugin{}
	p.session, _ = dataset.MapFile(os.NewFile(4, "session"))
	p.shared, _ = dataset.MapFile(os.NewFile(5, "dataset"))
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: pluginv1.Version, MagicCookieKey: pluginv1.CookieKey, MagicCookieValue: pluginv1.CookieValue,
		},
		Plugins: plugin.PluginSet{pluginv1.Name: p}, GRPCServer: plugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	})
}

func (p rawPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pluginv1.RegisterPluginServer(s, p)
	return nil
}

func (rawPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (rawPlugin) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	d := &pluginv1.DescribeResponse{Sdk: "raw", ProtocolMin: 1, ProtocolMax: 1}
	for _, name := range []string{"raw/right", "raw/half", "raw/first"} {
		d.Algorithms = append(d.Algorithms, &pluginv1.Algorithm{
			Name: name, Version: "1", Doc: "Hashes points.", Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN},
		})
	}
	return d, nil
}

func (rawPlugin) Check(context.Context, *pluginv1.Setting) (*pluginv1.CheckResponse, error) {
	return &pluginv1.CheckResponse{}, nil
}

// Session answers the requests of one session.
func (p rawPlugin) Session(stream grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionResponse]) error {
	var open *pluginv1.Open
	for {
		q, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r := &pluginv1.SessionResponse{}
		switch {
		case q.GetOpen() != nil:
			open = q.GetOpen()
			r.Response = &pluginv1.SessionResponse_Opened{Opened: &pluginv1.Opened{}}
		case q.GetStep() != nil:
			r.Response = &pluginv1.SessionResponse_Answers{Answers: &pluginv1.Answers{Values: p.answers(open, q.GetStep())}}
		default:
			r.Response = &pluginv1.SessionResponse_Closed{Closed: &pluginv1.Closed{}}
		}
		if err := stream.Send(r); err != nil {
			return err
		}
	}
}

func (p rawPlugin) answers(open *pluginv1.Open, step *pluginv1.Step) (values []byte) {
	memory := p.session
	if step.Points.Place == pluginv1.Table_PLACE_DATASET {
		memory = p.shared
	}
	size := 8 * int(step.Points.Dim)
	next := 0
	for j, count := range step.Counts {
		if step.Shared {
			next = int(step.FirstRow)
			if open.Setting.Algorithm == "raw/first" {
				next = 0
			}
		}
		for range count {
			h := fnv.New64a()
			for _, seed := range open.Seeds[2*j : 2*j+2] {
				if open.Setting.Algorithm == "raw/half" {
					seed &= math.MaxUint32
				}
				_ = binary.Write(h, binary.LittleEndian, seed)
			}
			at := int(step.Points.Offset) + int(step.Points.XAt) + next*size
			h.Write(memory[at : at+size])
			label := 1.0
			if mixed(h.Sum64())>>63 == 0 {
				label = -1
			}
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(label))
			next++
		}
	}
	return values
}
