//go:build cgo

package query

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/flight/flightsql"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// served returns a client of a server of d on a real socket, and a function that stops the server.
func served(t *testing.T, d *DB, o ServeOptions) (c *flightsql.Client, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(ctx, l, o) }()
	c, err = flightsql.NewClient(l.Addr().String(), nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return c, stop
}

// fetch reads all rows of an answer.
func fetch(
	ctx context.Context, c *flightsql.Client, info *flight.FlightInfo, err error,
) (rows [][]any, schema *arrow.Schema, _ error) {
	if err != nil {
		return nil, nil, err
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return nil, nil, err
	}
	defer r.Release()
	for r.Next() {
		rec := r.Record()
		for i := range int(rec.NumRows()) {
			var row []any
			for _, col := range rec.Columns() {
				row = append(row, sheet.ValueAt(col, i))
			}
			rows = append(rows, row)
		}
	}
	return rows, r.Schema(), r.Err()
}

func TestFlight(t *testing.T) {
	d := shared(t)
	c, _ := served(t, d, ServeOptions{})
	ctx := context.Background()

	info, err := c.Execute(ctx, "select n, repetition, error, success, cell from trials order by n, repetition")
	rows, schema, err := fetch(ctx, c, info, err)
	if err != nil || len(rows) != 10000 || schema.NumFields() != 5 {
		t.Fatal(len(rows), err)
	}
	for i, row := range rows {
		n, rep := int64(100*(1+i/5000)), int64(i%5000)
		if want := []any{n, rep, errorOf(n, rep), errorOf(n, rep) <= 0.1+1e-12, "kbcd000000"}; !slices.Equal(
			row,
			want,
		) {
			t.Fatalf("row %d: %v, want %v", i, row, want)
		}
	}
	described, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	if err != nil || !described.Equal(schema) {
		t.Errorf("schema in the info: %v, %v", described, err)
	}
	res, err := c.GetExecuteSchema(ctx, `from "table"`)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := flight.DeserializeSchema(res.Schema, memory.DefaultAllocator); err != nil ||
		s.NumFields() != len(result.Columns("table"))+metricColumns["table"] {
		t.Errorf("schema: %v, %v", s, err)
	}
	for sql, code := range map[string]codes.Code{
		"copy curve to '/tmp/x'":       codes.InvalidArgument,
		"from read_csv('/etc/passwd')": codes.InvalidArgument,
		"selct":                        codes.InvalidArgument,
		"select ?":                     codes.InvalidArgument,
		"select error('x')":            codes.InvalidArgument,
	} {
		info, err := c.Execute(ctx, sql)
		if _, _, err = fetch(ctx, c, info, err); status.Code(err) != code || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v", sql, err, code)
		}
	}
	if _, err := c.ExecuteUpdate(ctx, "delete from curve"); status.Code(err) != codes.Unimplemented {
		t.Errorf("update: %v", err)
	}
	forged, err := flightsql.CreateStatementQueryTicket([]byte("from read_csv('/etc/passwd')"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.DoGet(ctx, &flight.Ticket{Ticket: forged}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("forged ticket: %v", err)
	}
}

func TestFlightPrepared(t *testing.T) {
	d := shared(t)
	c, _ := served(t, d, ServeOptions{})
	ctx := context.Background()
	p, err := c.Prepare(ctx, "select count(*) from trials where n = ? and repetition < ?")
	if err != nil {
		t.Fatal(err)
	}
	if s := p.ParameterSchema(); s.NumFields() != 2 || s.Field(0).Type.ID() != arrow.INT64 {
		t.Errorf("parameters: %v", s)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, p.ParameterSchema())
	defer b.Release()
	for _, limit := range []int64{7, 11} {
		b.Field(0).(*array.Int64Builder).Append(200)
		b.Field(1).(*array.Int64Builder).Append(limit)
		rec := b.NewRecord()
		p.SetParameters(rec)
		rec.Release()
		info, err := p.Execute(ctx)
		rows, _, err := fetch(ctx, c, info, err)
		if err != nil || len(rows) != 1 || rows[0][0] != limit {
			t.Errorf("limit %d: %v, %v", limit, rows, err)
		}
	}
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := c.Prepare(ctx, "drop view curve"); status.Code(err) != codes.InvalidArgument {
		t.Errorf("drop: %v", err)
	}
}

func TestFlightCatalog(t *testing.T) {
	d := shared(t)
	c, _ := served(t, d, ServeOptions{Version: "v1"})
	ctx := context.Background()
	column := func(i int, info *flight.FlightInfo, err error) (all []string) {
		t.Helper()
		rows, _, err := fetch(ctx, c, info, err)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			all = append(all, fmt.Sprint(r[i]))
		}
		return all
	}
	for _, test := range []struct {
		options *flightsql.GetTablesOpts
		want    string
	}{
		{&flightsql.GetTablesOpts{}, "bounds cells curve failures fits table timing trials"},
		{&flightsql.GetTablesOpts{TableNameFilterPattern: new("t%")}, "table timing trials"},
		{&flightsql.GetTablesOpts{TableNameFilterPattern: new("t_bl."), DbSchemaFilterPattern: new("main")}, ""},
		{&flightsql.GetTablesOpts{TableTypes: []string{"TABLE"}}, ""},
		{&flightsql.GetTablesOpts{Catalog: new("other")}, ""},
	} {
		info, err := c.GetTables(ctx, test.options)
		if got := strings.Join(column(2, info, err), " "); got != test.want {
			t.Errorf("%+v: %q, want %q", test.options, got, test.want)
		}
	}
	info, err := c.GetTables(ctx, &flightsql.GetTablesOpts{IncludeSchema: true, TableNameFilterPattern: new("curve")})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	s, err := flight.DeserializeSchema(r.Record().Column(4).(*array.Binary).Value(0), memory.DefaultAllocator)
	r.Release()
	if err != nil || s.NumFields() != len(result.Columns("curve"))+metricColumns["curve"] || s.Field(0).Name != "cell" {
		t.Errorf("schema of curve: %v, %v", s, err)
	}
	info, err = c.GetCatalogs(ctx)
	if got := column(0, info, err); !slices.Equal(got, []string{catalog}) {
		t.Errorf("catalogs %v", got)
	}
	info, err = c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{})
	if got := column(1, info, err); !slices.Equal(got, []string{dbSchema}) {
		t.Errorf("schemas %v", got)
	}
	info, err = c.GetTableTypes(ctx)
	if got := column(0, info, err); !slices.Equal(got, []string{viewType}) {
		t.Errorf("types %v", got)
	}
	info, err = c.GetSqlInfo(ctx, []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName,
		flightsql.SqlInfoFlightSqlServerReadOnly})
	if got := column(0, info, err); len(got) != 2 {
		t.Errorf("sql info %v", got)
	}
	info, err = c.GetPrimaryKeys(ctx, flightsql.TableRef{Table: "curve"})
	if got := column(0, info, err); len(got) != 0 {
		t.Errorf("keys %v", got)
	}
	info, err = c.Execute(ctx, `select count(*) from views.main."curve"`)
	if got := column(0, info, err); !slices.Equal(got, []string{"2"}) {
		t.Errorf("full name: %v", got)
	}
}

func TestFlightToken(t *testing.T) {
	d := shared(t)
	c, _ := served(t, d, ServeOptions{Token: "correct horse"})
	for header, want := range map[string]codes.Code{
		"":                     codes.Unauthenticated,
		"Bearer":               codes.Unauthenticated,
		"Bearer ":              codes.Unauthenticated,
		"Bearer correct":       codes.Unauthenticated,
		"correct horse":        codes.Unauthenticated,
		"Basic correct horse":  codes.Unauthenticated,
		"Bearer correct horse": codes.OK,
		"bearer correct horse": codes.OK,
	} {
		ctx := context.Background()
		if header != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", header)
		}
		info, err := c.Execute(ctx, "from curve")
		if status.Code(err) != want {
			t.Errorf("%q: %v, want %v", header, err, want)
		}
		if want == codes.OK {
			if rows, _, err := fetch(ctx, c, info, err); err != nil || len(rows) != 2 {
				t.Errorf("%q: %v, %v", header, rows, err)
			}
			continue
		}
		ticket, err := flightsql.CreateStatementQueryTicket([]byte("from curve"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.DoGet(ctx, &flight.Ticket{Ticket: ticket}); status.Code(err) != want {
			t.Errorf("%q, stream: %v", header, err)
		}
	}
}

// A client that disconnects frees its place for the next.
func TestFlightCancel(t *testing.T) {
	d, _ := opened(t, Options{Queries: 1})
	c, _ := served(t, d, ServeOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	info, err := c.Execute(ctx, "select * from range(1000000)")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	if _, err := c.Execute(short, "select 1"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("second query: %v", err)
	}
	cancel()
	r.Release()
	info, err = c.Execute(context.Background(), "select 1")
	if rows, _, err := fetch(context.Background(), c, info, err); err != nil || len(rows) != 1 {
		t.Errorf("afterwards: %v, %v", rows, err)
	}
}

func TestFlightLimits(t *testing.T) {
	d, _ := opened(t, Options{Memory: 64e6})
	c, _ := served(t, d, ServeOptions{})
	ctx := context.Background()
	info, err := c.Execute(ctx, "select repeat('x', 1000000) || i from range(200) r(i)")
	if _, _, err := fetch(ctx, c, info, err); status.Code(err) != codes.ResourceExhausted ||
		!strings.Contains(err.Error(), "more memory than 64 MB") {
		t.Error(err)
	}
}

// An answer that has begun may finish after the server has stopped accepting others.
func TestFlightDrain(t *testing.T) {
	d := shared(t)
	c, stop := served(t, d, ServeOptions{})
	ctx := context.Background()
	info, err := c.Execute(ctx, "from range(300000)")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	rows := int64(0)
	for r.Next() {
		rows += r.Record().NumRows()
	}
	if r.Err() != nil || rows != 300000 {
		t.Errorf("%d rows, %v", rows, r.Err())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := c.Execute(ctx, "select 1"); err == nil {
		t.Error("a server that has ended answers")
	}
}
