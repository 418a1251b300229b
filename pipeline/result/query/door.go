package query

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

// ServeOptions configure Serve.
type ServeOptions struct {
	Token     string      // that clients have to show, as the header "authorization: Bearer TOKEN"; empty: none
	Queries   int         // questions answered at the same time; 0: 4
	PerClient int         // of which those of one address; 0: half of them
	TLS       *tls.Config // nil: connections are not encrypted
	Version   string      // of this program, for clients that ask
}

func (o ServeOptions) queries() int {
	if o.Queries <= 0 {
		return 4
	}
	return o.Queries
}

func (o ServeOptions) perClient() int {
	if o.PerClient <= 0 {
		return max(1, o.queries()/2)
	}
	return min(o.PerClient, o.queries())
}

// door lets in clients that show the token, and turns a panic over a malformed request into an
// error.
type door struct{ token string }

func (d door) check(ctx context.Context) error {
	if d.token == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, v := range md.Get("authorization") {
		if kind, token, _ := strings.Cut(v, " "); strings.EqualFold(kind, "Bearer") && equal(token, d.token) {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, `show the server's token in the header "authorization: Bearer TOKEN"`)
}

// equal compares two texts in a time that depends on neither, not even on their lengths.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func (d door) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	if err := d.check(ctx); err != nil {
		return nil, err
	}
	defer mend(&err)
	return next(ctx, req)
}

func (d door) stream(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	if err := d.check(s.Context()); err != nil {
		return err
	}
	defer mend(&err)
	return next(srv, checked{s})
}

// checked is a stream whose Arrow messages are looked at before the Arrow library reads them.
type checked struct{ grpc.ServerStream }

func (c checked) RecvMsg(m any) error {
	if err := c.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	d, ok := m.(*flight.FlightData)
	if !ok || len(d.GetDataHeader()) == 0 {
		return nil
	}
	if err := dataset.CheckMessage(d.GetDataHeader()); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

func mend(err *error) {
	if p := recover(); p != nil {
		*err = status.Error(codes.InvalidArgument, fmt.Sprintf("malformed request: %v", p))
	}
}
