//go:build cgo

package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/flight/flightsql"
	"github.com/apache/arrow/go/v17/arrow/flight/flightsql/schema_ref"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// DuckDB's names of the database and of its only schema, and the type of a view for clients.
const (
	catalog  = "views"
	dbSchema = "main"
	viewType = "VIEW"
)

const (
	draining   = 10 * time.Second // maximum time to finish answers when Serve ends
	maxRequest = 1 << 20
	maxHeaders = 64 << 10
	maxStreams = 64               // concurrent calls per connection
	maxConns   = 256              // maximum number of connections; others wait to be accepted
	hello      = 10 * time.Second // maximum time of a client's handshake
	maxIdle    = 10 * time.Minute // idle time after which a connection is closed
)

// Serve answers clients of Arrow Flight SQL on l until ctx ends. It then waits up to ten seconds
// for answers that have begun. It closes l.
//
// It keeps no state about its clients: tickets and prepared statements contain the SQL.
func (d *DB) Serve(ctx context.Context, l net.Listener, o ServeOptions) error {
	s := &server{db: d}
	if err := s.registerInfo(o.Version); err != nil {
		return err
	}
	guard := guard{o.Token}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(hello), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: maxIdle}),
		grpc.UnaryInterceptor(guard.unary), grpc.StreamInterceptor(guard.stream),
	}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	g := grpc.NewServer(options...)
	requests := limitedAllocator{memory.DefaultAllocator}
	flight.RegisterFlightServiceServer(g, flightsql.NewFlightServerWithAllocator(s, requests))
	stop := context.AfterFunc(ctx, func() {
		hard := time.AfterFunc(draining, g.Stop)
		defer hard.Stop()
		g.GracefulStop()
	})
	defer stop()
	err := g.Serve(netutil.LimitListener(l, maxConns))
	if ctx.Err() != nil {
		g.GracefulStop() // returns when the other call has returned
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// A stream is an answer that is being sent to a client.
type stream = <-chan flight.StreamChunk

// A server serves one result.
type server struct {
	flightsql.BaseServer
	db *DB
}

// registerInfo registers the server's description of itself.
func (s *server) registerInfo(version string) error {
	for id, v := range map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName:         "shatter",
		flightsql.SqlInfoFlightSqlServerVersion:      version,
		flightsql.SqlInfoFlightSqlServerArrowVersion: arrow.PkgVersion,
		flightsql.SqlInfoFlightSqlServerReadOnly:     true,
		flightsql.SqlInfoFlightSqlServerSql:          true,
		flightsql.SqlInfoFlightSqlServerSubstrait:    false,
		flightsql.SqlInfoFlightSqlServerTransaction:  int32(0),
		flightsql.SqlInfoFlightSqlServerCancel:       false,
		flightsql.SqlInfoDDLCatalog:                  false,
		flightsql.SqlInfoDDLSchema:                   false,
		flightsql.SqlInfoDDLTable:                    false,
		flightsql.SqlInfoIdentifierCase:              int64(1), // case-insensitive
		flightsql.SqlInfoIdentifierQuoteChar:         `"`,
		flightsql.SqlInfoQuotedIdentifierCase:        int64(1),
	} {
		if err := s.RegisterSqlInfo(id, v); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	return nil
}

// code returns the gRPC status of an error.
func code(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch {
	case errors.Is(err, ErrSQL):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, ErrLimit):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}

// info describes where a client gets the answer to a request: at this server, with the request as
// the ticket.
func info(desc *flight.FlightDescriptor, ticket []byte, schema *arrow.Schema) *flight.FlightInfo {
	return &flight.FlightInfo{
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
		FlightDescriptor: desc, Schema: flight.SerializeSchema(schema, memory.DefaultAllocator),
		TotalRecords: -1, TotalBytes: -1,
	}
}

// infoOf returns the info about a query with the given ticket.
func (s *server) infoOf(
	ctx context.Context, sql string, desc *flight.FlightDescriptor, ticket []byte,
) (*flight.FlightInfo, error) {
	schema, _, err := s.db.Shape(ctx, sql)
	if err != nil {
		return nil, code(err)
	}
	return info(desc, ticket, schema), nil
}

func (s *server) schemaOf(ctx context.Context, sql string) (*flight.SchemaResult, error) {
	schema, _, err := s.db.Shape(ctx, sql)
	if err != nil {
		return nil, code(err)
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(schema, memory.DefaultAllocator)}, nil
}

// answer streams the answer to sql. The query ends when the client disconnects.
func (s *server) answer(ctx context.Context, sql string, values []any) (*arrow.Schema, stream, error) {
	rows, err := s.db.Query(ctx, sql, values...)
	if err != nil {
		return nil, nil, code(err)
	}
	chunks := make(chan flight.StreamChunk)
	go func() {
		defer close(chunks)
		defer func() { _ = rows.Close() }() // Next has returned the relevant error
		for {
			rec, err := rows.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				select {
				case chunks <- flight.StreamChunk{Data: rec}:
					continue
				case <-rows.ctx.Done(): // the client has disconnected, or reads too slowly
					rec.Release()
					err = context.Cause(rows.ctx)
				}
			}
			select {
			case chunks <- flight.StreamChunk{Err: code(err)}:
			case <-ctx.Done():
			}
			return
		}
	}()
	return rows.Schema(), chunks, nil
}

func (s *server) GetFlightInfoStatement(
	ctx context.Context, q flightsql.StatementQuery, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	ticket, err := flightsql.CreateStatementQueryTicket([]byte(q.GetQuery()))
	if err != nil {
		return nil, code(err)
	}
	return s.infoOf(ctx, q.GetQuery(), desc, ticket)
}

func (s *server) GetSchemaStatement(
	ctx context.Context, q flightsql.StatementQuery, _ *flight.FlightDescriptor,
) (*flight.SchemaResult, error) {
	return s.schemaOf(ctx, q.GetQuery())
}

func (s *server) DoGetStatement(ctx context.Context, t flightsql.StatementQueryTicket) (*arrow.Schema, stream, error) {
	return s.answer(ctx, string(t.GetStatementHandle()), nil)
}

// A prepared is a prepared statement. Its handle contains the whole statement.
type prepared struct {
	SQL    string
	Values []trial.Params `json:",omitempty"` // each holds one value, or none for null
}

// valueName is the name of a value in its Params, whose JSON keeps its type.
const valueName = "value"

func (p prepared) handle() ([]byte, error) { return json.Marshal(p) }

func readHandle(raw []byte) (p prepared, values []any, err error) {
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, nil, status.Error(codes.InvalidArgument, "the prepared statement is not one of this server's")
	}
	for _, v := range p.Values {
		values = append(values, v[valueName])
	}
	return p, values, nil
}

func (s *server) CreatePreparedStatement(
	ctx context.Context, r flightsql.ActionCreatePreparedStatementRequest,
) (res flightsql.ActionCreatePreparedStatementResult, err error) {
	if res.DatasetSchema, res.ParameterSchema, err = s.db.Shape(ctx, r.GetQuery()); err != nil {
		return res, code(err)
	}
	res.Handle, err = prepared{SQL: r.GetQuery()}.handle()
	return res, err
}

func (s *server) ClosePreparedStatement(context.Context, flightsql.ActionClosePreparedStatementRequest) error {
	return nil // the server keeps nothing
}

func (s *server) GetFlightInfoPreparedStatement(
	ctx context.Context, q flightsql.PreparedStatementQuery, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	p, _, err := readHandle(q.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	return s.infoOf(ctx, p.SQL, desc, desc.Cmd)
}

func (s *server) GetSchemaPreparedStatement(
	ctx context.Context, q flightsql.PreparedStatementQuery, _ *flight.FlightDescriptor,
) (*flight.SchemaResult, error) {
	p, _, err := readHandle(q.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	return s.schemaOf(ctx, p.SQL)
}

func (s *server) DoGetPreparedStatement(
	ctx context.Context, q flightsql.PreparedStatementQuery,
) (*arrow.Schema, stream, error) {
	p, values, err := readHandle(q.GetPreparedStatementHandle())
	if err != nil {
		return nil, nil, err
	}
	return s.answer(ctx, p.SQL, values)
}

// DoPutPreparedStatementQuery binds one row of values, and returns a handle that contains them.
func (s *server) DoPutPreparedStatementQuery(
	_ context.Context, q flightsql.PreparedStatementQuery, r flight.MessageReader, _ flight.MetadataWriter,
) ([]byte, error) {
	p, _, err := readHandle(q.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	p.Values = nil
	rows := int64(0)
	for r.Next() {
		rec := r.Record()
		if rows += rec.NumRows(); rows > 1 {
			return nil, status.Error(codes.Unimplemented, "a query takes one row of parameters")
		}
		for _, c := range rec.Columns() {
			if rec.NumRows() == 0 {
				break
			}
			v, err := parameter(c)
			if err != nil {
				return nil, err
			}
			p.Values = append(p.Values, v)
		}
	}
	if err := r.Err(); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "read parameters: %v", err)
	}
	return p.handle()
}

// parameter returns the first value of a column.
func parameter(a arrow.Array) (trial.Params, error) {
	if a.IsNull(0) {
		return nil, nil
	}
	var v any
	var err error
	switch id, text := a.DataType().ID(), strings.Clone(a.ValueStr(0)); {
	case arrow.IsInteger(id):
		v, err = strconv.ParseInt(text, 10, 64)
	case arrow.IsFloating(id):
		v, err = strconv.ParseFloat(text, 64)
	case id == arrow.BOOL:
		v = a.(*array.Boolean).Value(0)
	case id == arrow.STRING:
		v = text
	default:
		err = fmt.Errorf("of type %v: text, integers, floats and booleans are known", a.DataType())
	}
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "a parameter is not valid: %v", err)
	}
	return trial.Params{valueName: v}, nil
}

// one returns a stream with the one batch that fill makes.
func one(schema *arrow.Schema, fill func(*array.RecordBuilder)) (*arrow.Schema, stream, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	fill(b)
	ch := make(chan flight.StreamChunk, 1)
	ch <- flight.StreamChunk{Data: b.NewRecord()}
	close(ch)
	return schema, ch, nil
}

// add appends a row of texts to the first columns.
func add(b *array.RecordBuilder, row ...string) {
	for i, v := range row {
		b.Field(i).(*array.StringBuilder).Append(v)
	}
}

func (s *server) GetFlightInfoCatalogs(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return info(desc, desc.Cmd, schema_ref.Catalogs), nil
}

func (s *server) DoGetCatalogs(context.Context) (*arrow.Schema, stream, error) {
	return one(schema_ref.Catalogs, func(b *array.RecordBuilder) { add(b, catalog) })
}

func (s *server) GetFlightInfoSchemas(
	_ context.Context, _ flightsql.GetDBSchemas, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return info(desc, desc.Cmd, schema_ref.DBSchemas), nil
}

func (s *server) DoGetDBSchemas(_ context.Context, q flightsql.GetDBSchemas) (*arrow.Schema, stream, error) {
	return one(schema_ref.DBSchemas, func(b *array.RecordBuilder) {
		if same(q.GetCatalog(), catalog) && like(q.GetDBSchemaFilterPattern(), dbSchema) {
			add(b, catalog, dbSchema)
		}
	})
}

func (s *server) GetFlightInfoTableTypes(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return info(desc, desc.Cmd, schema_ref.TableTypes), nil
}

func (s *server) DoGetTableTypes(context.Context) (*arrow.Schema, stream, error) {
	return one(schema_ref.TableTypes, func(b *array.RecordBuilder) { add(b, viewType) })
}

func tablesSchema(q flightsql.GetTables) *arrow.Schema {
	if q.GetIncludeSchema() {
		return schema_ref.TablesWithIncludedSchema
	}
	return schema_ref.Tables
}

func (s *server) GetFlightInfoTables(
	_ context.Context, q flightsql.GetTables, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return info(desc, desc.Cmd, tablesSchema(q)), nil
}

func (s *server) DoGetTables(_ context.Context, q flightsql.GetTables) (*arrow.Schema, stream, error) {
	here := same(q.GetCatalog(), catalog) && like(q.GetDBSchemaFilterPattern(), dbSchema) &&
		(len(q.GetTableTypes()) == 0 || slices.Contains(q.GetTableTypes(), viewType))
	views := slices.Clone(s.db.Views())
	views = append(views, View{Name: Alias, Columns: views[0].Columns})
	slices.SortFunc(views, func(a, b View) int { return strings.Compare(a.Name, b.Name) })
	return one(tablesSchema(q), func(b *array.RecordBuilder) {
		for _, v := range views {
			if !here || !like(q.GetTableNameFilterPattern(), v.Name) {
				continue
			}
			add(b, catalog, dbSchema, v.Name, viewType)
			if q.GetIncludeSchema() {
				b.Field(4).(*array.BinaryBuilder).Append(flight.SerializeSchema(v.schema(), memory.DefaultAllocator))
			}
		}
	})
}

// schema returns the view's columns with their documentation.
func (v View) schema() *arrow.Schema {
	var fields []arrow.Field
	for _, c := range v.Columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: sheet.ArrowType(c.Type), Nullable: true,
			Metadata: arrow.NewMetadata([]string{"ARROW:FLIGHT:SQL:REMARKS"}, []string{c.Doc})})
	}
	return arrow.NewSchema(fields, nil)
}

// The views have no keys, but some clients request them.

func (s *server) GetFlightInfoPrimaryKeys(
	_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return info(desc, desc.Cmd, schema_ref.PrimaryKeys), nil
}

func (s *server) DoGetPrimaryKeys(context.Context, flightsql.TableRef) (*arrow.Schema, stream, error) {
	return one(schema_ref.PrimaryKeys, func(*array.RecordBuilder) {})
}

func (s *server) GetFlightInfoExportedKeys(
	_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return info(desc, desc.Cmd, schema_ref.ExportedKeys), nil
}

func (s *server) DoGetExportedKeys(context.Context, flightsql.TableRef) (*arrow.Schema, stream, error) {
	return one(schema_ref.ExportedKeys, func(*array.RecordBuilder) {})
}

func (s *server) GetFlightInfoImportedKeys(
	_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor,
) (*flight.FlightInfo, error) {
	return info(desc, desc.Cmd, schema_ref.ImportedKeys), nil
}

func (s *server) DoGetImportedKeys(context.Context, flightsql.TableRef) (*arrow.Schema, stream, error) {
	return one(schema_ref.ImportedKeys, func(*array.RecordBuilder) {})
}

// same reports whether the filter is nil or equal to the name.
func same(filter *string, name string) bool { return filter == nil || *filter == name }

// like reports whether the SQL pattern is nil or matches the name.
func like(pattern *string, name string) bool {
	if pattern == nil {
		return true
	}
	quoted := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(*pattern))
	ok, err := regexp.MatchString("^(?s:"+quoted+")$", name)
	return err == nil && ok
}
