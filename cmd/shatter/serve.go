package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/query"
)

// tokenVariable names the environment variable that holds a server's token.
const tokenVariable = "SHATTER_TOKEN"

// minToken is the number of characters of the shortest token that keeps a guesser out.
const minToken = 16

// maxTokenFile is the size in bytes of the largest file with a token.
const maxTokenFile = 4 << 10

type serveFlags struct {
	queryFlags
	listen, tokenFile string
	tlsCert, tlsKey   string
}

func serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a result to clients of Arrow Flight SQL",
		Long: `Serve the result in the folder DIR to clients of Arrow Flight SQL (ADBC, JDBC, ODBC), with the views
and the limits of "shatter query". The address is printed on stdout; Ctrl-C lets answers end, for
ten seconds.

Without --listen only this machine can connect. A server that others reach needs a token, in
--token-file or in the environment variable SHATTER_TOKEN, which clients show in the header
"authorization: Bearer TOKEN". With --tls-cert and --tls-key connections are encrypted; both files
are read again for each connection, so that they can be renewed. Without, go through ssh -L across a
network that you do not trust.

While --queries are running, a further query waits up to ten seconds. All share --memory. These
limits do not stop every query: one value of a gigabyte is not counted, and a single call such as
levenshtein of two long texts cannot be interrupted. For untrusted clients, also limit the memory of
the process, to twice --memory and 512 MB, and let the service manager restart it:

  systemd-run -p MemoryMax=2500M -p MemorySwapMax=0 -p Restart=on-failure shatter serve DIR ...
  resources: {limits: {memory: 2500M}}      # of the container in a Kubernetes Deployment`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.add(c)
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "`address`; with port 0, any free port")
	c.Flags().StringVar(&f.tokenFile, "token-file", "",
		"`file` with the token (default $"+tokenVariable+")")
	c.Flags().StringVar(&f.tlsCert, "tls-cert", "",
		"`file` with the server's certificate and its chain, in PEM (default no encryption)")
	c.Flags().StringVar(&f.tlsKey, "tls-key", "", "`file` with the key of that certificate, in PEM")
	c.Flags().IntVar(&f.queries, "queries", 4, "`number` of queries that run in parallel")
	return c
}

func (f *serveFlags) run(c *cobra.Command, dir string) error {
	if f.queries < 1 {
		return wrong("--queries %d: a number from 1 on is needed", f.queries)
	}
	config, err := serverTLS(f.tlsCert, f.tlsKey, "--tls-cert", "--tls-key")
	if err != nil {
		return err
	}
	token, err := readToken(f.tokenFile, "--token-file")
	if err != nil {
		return err
	}
	db, err := f.open(c, dir)
	if err != nil {
		return err
	}
	defer db.Close()
	l, err := f.bind(token)
	if err != nil {
		return err
	}
	url := "grpc://" + l.Addr().String()
	if config != nil {
		url = "grpc+tls://" + l.Addr().String()
	}
	if _, err := fmt.Fprintln(c.OutOrStdout(), url); err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "serving %s as Arrow Flight SQL at %s, read-only; Ctrl-C ends it\n%s\n",
		dir, url, snippet(url, token != ""))
	return db.Serve(c.Context(), l, query.ServeOptions{
		Token: token, TLS: config, Version: version(),
	})
}

// serverTLS returns how a server encrypts connections, with the files that two flags name; nil if it
// does not.
func serverTLS(cert, key, certFlag, keyFlag string) (*tls.Config, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, wrong("%s and %s belong together: give both", certFlag, keyFlag)
	}
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	if _, err := load(nil); err != nil {
		return nil, wrong("%s, %s: %w", certFlag, keyFlag, err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: load}, nil
}

// snippet returns a program in Python that connects.
func snippet(url string, token bool) string {
	options := ""
	if token {
		options = `, db_kwargs={"adbc.flight.sql.authorization_header": "Bearer TOKEN"}`
	}
	return fmt.Sprintf("\n"+
		"  import adbc_driver_flightsql.dbapi as flightsql   # pip install adbc-driver-flightsql pyarrow\n"+
		"  with flightsql.connect(%q%s) as c, c.cursor() as q:\n"+
		"      q.execute(\"select * from cells\")\n"+
		"      print(q.fetch_arrow_table())\n", url, options)
}

// readToken returns the token in the file that a flag names, or in the environment; an empty one if
// there is none.
func readToken(file, flag string) (string, error) {
	text, from := os.Getenv(tokenVariable), tokenVariable
	if file != "" {
		raw, err := disk.ReadFile(file, maxTokenFile)
		if err != nil {
			return "", wrong("%s: %w", flag, err)
		}
		text, from = string(raw), file
		if strings.TrimSpace(text) == "" {
			return "", wrong("%s %q is empty", flag, file)
		}
	}
	token := strings.TrimSpace(text)
	switch {
	case token == "":
		return "", nil
	case len(token) < minToken:
		return "", wrong("the token in %s has %d characters: at least %d are needed; "+
			"`openssl rand -hex 32` makes one", from, len(token), minToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", usageError{
			fmt.Errorf("the token in %s has characters that no header can hold: use letters and digits", from),
		}
	}
	return token, nil
}

// bind opens the address. Where others can reach it, a token is needed.
func (f *serveFlags) bind(token string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, wrong("--listen %q: HOST:PORT is needed, like 127.0.0.1:31337", f.listen)
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, wrong("--listen %q: %w; choose another, or port 0 for any free one", f.listen, err)
	}
	if addr, ok := l.Addr().(*net.TCPAddr); token == "" && !(ok && addr.IP.IsLoopback()) {
		open := fmt.Errorf("--listen %s: others than this machine could connect to %s: "+
			"give a token (--token-file or %s), or listen on 127.0.0.1", f.listen, cmp.Or(host, "every address"), tokenVariable)
		return nil, errors.Join(usageError{open}, l.Close())
	}
	return l, nil
}
