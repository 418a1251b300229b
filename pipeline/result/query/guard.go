//go:build cgo

package query

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

// A guard checks the token of each call, and turns a panic about a malformed request into an error.
type guard struct{ token string }

func (g guard) check(ctx context.Context) error {
	if g.token == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	want := sha256.Sum256([]byte(g.token))
	for _, v := range md.Get("authorization") {
		kind, token, _ := strings.Cut(v, " ")
		got := sha256.Sum256([]byte(token)) // the comparison takes constant time
		if strings.EqualFold(kind, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, `send the server's token in the header "authorization: Bearer TOKEN"`)
}

func (g guard) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	if err := g.check(ctx); err != nil {
		return nil, err
	}
	defer recovered(&err)
	return next(ctx, req)
}

func (g guard) stream(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	if err := g.check(s.Context()); err != nil {
		return err
	}
	defer recovered(&err)
	return next(srv, checkedStream{s})
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = status.Error(codes.InvalidArgument, fmt.Sprintf("malformed request: %v", p))
	}
}

// A checkedStream verifies the lengths in Arrow messages before the Arrow library uses them for
// allocations.
type checkedStream struct{ grpc.ServerStream }

func (c checkedStream) RecvMsg(m any) error {
	if err := c.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if d, ok := m.(*flight.FlightData); ok && len(d.GetDataHeader()) > 0 {
		if err := dataset.CheckMessage(d.GetDataHeader()); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
	}
	return nil
}

// maxPiece is the maximum size in bytes of an allocation for a request. Requests may be compressed,
// or state wrong lengths.
const maxPiece = 16 << 20

// A limitedAllocator panics if more than maxPiece bytes are requested at once. The guard and the
// Arrow readers turn the panic into an error.
type limitedAllocator struct{ memory.Allocator }

func (l limitedAllocator) Allocate(size int) []byte {
	l.check(size)
	return l.Allocator.Allocate(size)
}

func (l limitedAllocator) Reallocate(size int, b []byte) []byte {
	l.check(size)
	return l.Allocator.Reallocate(size, b)
}

func (limitedAllocator) check(size int) {
	if size < 0 || size > maxPiece {
		panic(fmt.Sprintf("a part of %d bytes", size))
	}
}
