//go:build unix

package store_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// as is a DSN with another user.
func as(t *testing.T, dsn, user string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	return u.String()
}

// The role that docs/cluster.md makes for nodes can do what a node does, and changes no table.
func TestARoleThatMayDoLess(t *testing.T) {
	page, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	server := startServer(t, "fsync=off")
	dsn, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runner := as(t, dsn, "runner")
	first := func(dsn string) error {
		s, err := store.Open(t.Context(), store.Options{DSN: dsn + "#" + t.TempDir(), Settle: always})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	if err := first(dsn); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	_, said, found := strings.Cut(string(page), "CREATE ROLE runner")
	said, _, ends := strings.Cut(said, "\n\n")
	if !found || !ends {
		t.Fatal("docs/cluster.md makes no role runner")
	}
	if _, err := conn.Exec(t.Context(), "CREATE ROLE runner"+said, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}

	s, err := store.Open(t.Context(), store.Options{DSN: runner + "#" + t.TempDir(), Settle: always})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	_, err = s.RescueClaims(t.Context(), now, "web-1:1:AAAA")
	must(err)
	_, err = s.Accept(t.Context(), []messaging.Plan{benchPlan(1, now)})
	must(err)
	got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "bench", Now: now.Add(time.Second), Lease: time.Minute, Marketing: 10})
	if err != nil || len(got) != 1 {
		t.Fatalf("claimed %v, %v", got, err)
	}
	must(s.Finish(t.Context(), benchAttempt(got[0], now)))
	_, err = s.ClaimPolls(t.Context(), now.Add(time.Hour), time.Hour, 10)
	must(err)
	must(s.Hold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, Reason: "a test", At: now}))
	must(s.EndHold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}))
	_, err = privacy.Records{Store: s}.Retain(t.Context(), privacy.Retention{Payloads: time.Hour, Events: time.Hour, Messages: time.Hour}, now.AddDate(1, 0, 0))
	must(err)
	must(s.Refused())
	if _, err := conn.Exec(t.Context(), "SET ROLE runner; DROP TABLE blocks", pgx.QueryExecModeSimpleProtocol); err == nil {
		t.Error("the role may drop tables")
	}
}

// With sslmode=verify-full a server that somebody else vouches for is not spoken to.
func TestTheServerProvesItself(t *testing.T) {
	server := startServer(t, "fsync=off")
	dsn, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var data string
	if err := conn.QueryRow(t.Context(), "SHOW data_directory").Scan(&data); err != nil {
		t.Fatal(err)
	}
	own, other := certificate(t, data), certificate(t, t.TempDir())
	for _, setting := range []string{"ssl_cert_file = 'cert.pem'", "ssl_key_file = 'key.pem'", "ssl = on"} {
		if _, err := conn.Exec(t.Context(), "ALTER SYSTEM SET "+setting); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(server.Stop(), server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	open := func(ca string) error {
		proven := strings.Replace(dsn, "sslmode=disable", "sslmode=verify-full&sslrootcert="+ca, 1)
		s, err := store.Open(t.Context(), store.Options{DSN: proven + "#" + t.TempDir(), Settle: always})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	if err := open(own); err != nil {
		t.Errorf("by the authority that vouches for it: %v", err)
	}
	if err := open(other); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("by another authority: %v", err)
	}
}

// certificate puts a certificate for this machine and its key into a folder, for whoever has the folder.
func certificate(t *testing.T, folder string) (path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		file := filepath.Join(folder, name)
		if err := errors.Join(os.WriteFile(file, pem.EncodeToMemory(block), 0o600), os.Chown(file, int(owner.Uid), int(owner.Gid))); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "cert.pem")
}

// A pooler that gives each transaction another session is refused, also where it is told to let settings pass.
func TestAPoolerIsRefused(t *testing.T) {
	program, err := testserver.Program("pgbouncer")
	if errors.Is(err, testserver.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	server := startServer(t, "fsync=off")
	for _, more := range []string{"", "ignore_startup_parameters = idle_in_transaction_session_timeout, default_transaction_isolation, statement_timeout, extra_float_digits\n"} {
		folder, err := os.MkdirTemp("", "nudgewire-pooler") //nolint:usetesting // somebody else must get there
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(folder) }() // nothing hangs on it
		who, err := testserver.Nobody(folder, "postgres")
		if err != nil {
			t.Fatal(err)
		}
		port, err := testserver.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		config := fmt.Sprintf("[databases]\n* = user=nudgewire host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\npool_mode = transaction\nauth_type = any\n%s", server.Port, port, more)
		config = strings.Replace(config, "* = host=127.0.0.1", "* = user=nudgewire host=127.0.0.1", 1) // auth_type any needs one
		if err := os.WriteFile(filepath.Join(folder, "pgbouncer.ini"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-q", "pgbouncer.ini")
		cmd.Dir, cmd.SysProcAttr, cmd.Env = folder, who, testserver.Libraries()
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // another process tells nobody when it listens
			_, err = store.Open(t.Context(), store.Options{DSN: fmt.Sprintf("postgres://nudgewire@127.0.0.1:%d/postgres?sslmode=disable#%s", port, t.TempDir()), Settle: always})
			if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(end) {
				break
			}
		}
		_ = errors.Join(cmd.Process.Kill(), cmd.Wait()) // it is killed
		if refused, is := errors.AsType[*engine.ServerError](err); !is || !strings.Contains(refused.Words, "pooler") {
			t.Errorf("with %q: %v\n%s", more, err, said.String())
		}
	}
}

// A server that answers and takes no writes any more is told with what to do about it, and everything goes on by itself.
func TestWhatAServerRefusesIsTold(t *testing.T) {
	server := startServer(t, "fsync=off")
	dsn, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shut(t, openAt(t, dsn, t.TempDir())) // which makes the tables
	execOn(t, dsn, "CREATE ROLE runner LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO runner; GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO runner")
	s := openAt(t, as(t, dsn, "runner"), t.TempDir())
	defer shut(t, s)
	for i, tt := range []struct{ take, give, hint string }{
		{"REVOKE INSERT ON events FROM runner", "GRANT INSERT ON events TO runner", "give the role its rights"},
		{
			"ALTER ROLE runner SET default_transaction_read_only = on; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'runner'",
			"ALTER ROLE runner RESET default_transaction_read_only; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'runner'",
			"name the server that takes writes",
		},
	} {
		accept := func() error {
			_, err := s.Accept(t.Context(), []messaging.Plan{benchPlan(int64(i), time.Now())})
			return err
		}
		execOn(t, dsn, tt.take)
		soon(t, "it is told: "+tt.hint, func() bool {
			err := accept()
			told := s.Refused()
			return err != nil && told != nil && strings.HasPrefix(s.Hint(told), tt.hint)
		})
		execOn(t, dsn, tt.give)
		soon(t, "it takes events again", func() bool { return accept() == nil })
	}
}
