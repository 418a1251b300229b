package query

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/shatterlab/shatter/schemas"
)

// Options limits queries.
type Options struct {
	Memory  int64         // bytes for DuckDB, shared by all queries; 0: 1 GB
	Threads int           // 0: one per core
	Timeout time.Duration // limit on a query and the reading of its answer; 0: none
	Queries int           // maximum number of concurrent queries; 0: 4

	Metrics []schemas.Metric // documentation of metric columns, as far as known
}

// ServeOptions configures [DB.Serve].
type ServeOptions struct {
	Token   string      // clients send it in the header "authorization: Bearer TOKEN"; empty: no authentication
	TLS     *tls.Config // nil: connections are not encrypted
	Version string      // version of this program, reported to clients
}

// size formats a number of bytes.
func size(bytes int64) string {
	if bytes%1e9 == 0 {
		return fmt.Sprintf("%d GB", bytes/1e9)
	}
	return fmt.Sprintf("%.4g MB", float64(bytes)/1e6)
}
