package query

import (
	_ "github.com/apache/arrow/go/v17/arrow/flight/flightsql"
	_ "github.com/duckdb/duckdb-go/v2"
)
