//go:build unix

package lists

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// found is what a look for a server of the machine gave. The test is skipped where there is none: "make setup" brings it, and
// where CI is set a skipped test is a failed one.
func found[T any](t testing.TB) func(T, error) T {
	t.Helper()
	return func(it T, err error) T {
		t.Helper()
		if errors.Is(err, testserver.ErrMissing) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
}

// serve starts a server and ends it with the test.
func serve(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	serveUntil(t, cmd, syscall.SIGTERM)
}

// serveUntil starts a server and ends it with the test, by the signal that it takes for that.
func serveUntil(t testing.TB, cmd *exec.Cmd, end os.Signal) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if cmd.Env == nil {
		cmd.Env = testserver.Libraries()
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(end); err != nil {
			t.Errorf("end %s: %v", cmd.Path, err)
		}
		_ = cmd.Wait() // a server that is told to end ends with a signal, or not: both are well
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, said.String())
		}
	})
}

// openFolder is a folder that others than its owner may look into, unlike t.TempDir.
func openFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "nudgewire-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// mariaDB starts a server of its own with a user crm, and gives its address without user and
// database.
func mariaDB(t testing.TB) (address string, root *sql.DB) {
	t.Helper()
	install, server := found[string](t)(testserver.Program("mariadb-install-db")), found[string](t)(testserver.Program("mariadbd", "mysqld"))
	folder := openFolder(t)
	who := found[*syscall.SysProcAttr](t)(testserver.Nobody(folder, "mysql"))
	data := filepath.Join(folder, "data")
	// The server finds its own files beside its folder.
	base := "--basedir=" + filepath.Dir(filepath.Dir(server))
	create := exec.CommandContext(t.Context(), install, "--no-defaults", base, "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
	create.SysProcAttr, create.Dir, create.Env = who, folder, testserver.Libraries()
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("make the data: %v\n%s", err, out)
	}
	port := found[int](t)(testserver.FreePort())
	run := exec.Command(server, "--no-defaults", base, "--datadir="+data, "--socket="+filepath.Join(folder, "s"), "--pid-file="+filepath.Join(folder, "pid"),
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(port), "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0")
	run.SysProcAttr, run.Dir = who, folder
	serve(t, run)
	address = "tcp(127.0.0.1:" + strconv.Itoa(port) + ")"
	root = ownerOf(t, "mysql", "root@"+address+"/",
		"create database crm character set utf8mb4",
		"create user crm@'%' identified by 'hush'",
		"grant all on crm.* to crm@'%'",
		"create table crm.customers (id int primary key, phone varchar(40), name varchar(80), spent decimal(10,2), born date, seen datetime, vip bool, note text, score double)",
		"insert into crm.customers values (1, '+447700900101', 'Zoë 🎈', 12.50, '1990-02-03', '2026-03-01 10:20:30', true, null, 0.1), (2, '07700 900102', 'O''Neil, \"Al\"', 0.00, null, null, false, '', 1e21)",
	)
	return address, root
}

// What holds of a real server: texts, numbers and days come as a list would write them, nothing
// can be written though the user may, and a query that takes too long ends in words.
func TestMySQLAgainstAServer(t *testing.T) {
	address, root := mariaDB(t)
	from := func(query string) Origin {
		return Origin{MySQL: secret.New("crm:hush@" + address + "/crm"), Query: query}
	}
	got := readAll(t, from("select phone, name, spent, born, seen, vip, note, score from customers order by id"))
	want := list{
		Header: []string{"phone", "name", "spent", "born", "seen", "vip", "note", "score"},
		Rows: []string{
			"+447700900101|Zoë 🎈|12.50|1990-02-03|2026-03-01 10:20:30|1||0.1",
			`07700 900102|O'Neil, "Al"|0.00|||0||1000000000000000000000`,
		},
		Lines: []int64{1, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}

	ends := map[string]struct {
		o   Origin
		end string
	}{
		"a change":           {from("update customers set vip = false"), "Cannot execute statement in a READ ONLY transaction"},
		"a new table":        {from("create table other (id int)"), "Cannot execute statement in a READ ONLY transaction"},
		"a table that goes":  {from("drop table customers"), "Cannot execute statement in a READ ONLY transaction"},
		"a second statement": {from("select phone from customers; delete from customers"), "error in your SQL syntax"},
		"a misspelt column":  {from("select fone from customers"), "Unknown column 'fone'"},
		"a wrong password":   {Origin{MySQL: secret.New("crm:wrong@" + address + "/crm"), Query: "select 1"}, "Access denied for user 'crm'"},
		"no such database":   {Origin{MySQL: secret.New("crm:hush@" + address + "/other"), Query: "select 1"}, "Access denied for user 'crm'"},
	}
	for name, tt := range ends {
		t.Run(name, func(t *testing.T) {
			got := readAll(t, tt.o)
			if !strings.Contains(got.End, tt.end) || !strings.HasPrefix(got.End, "mysql ") || strings.Contains(got.End, "hush") {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
		})
	}
	var vips, tables int
	if err := root.QueryRowContext(t.Context(), "select (select count(*) from crm.customers where vip), (select count(*) from information_schema.tables where table_schema = 'crm')").Scan(&vips, &tables); err != nil || vips != 1 || tables != 1 {
		t.Errorf("after all attempts to write there are %d vips and %d tables, %v", vips, tables, err)
	}

	t.Run("the session cannot write and is bounded by the server, too", func(t *testing.T) {
		o := from("select @@session.tx_read_only, @@session.max_statement_time")
		o.Timeout = units.Duration(90 * time.Second)
		got := readAll(t, o)
		if len(got.Rows) != 1 || !strings.HasPrefix(got.Rows[0], "1|91") {
			t.Errorf("the session's settings are %v, %q", got.Rows, got.End)
		}
	})
	t.Run("a query that takes too long", func(t *testing.T) {
		o := from("select sleep(60)")
		o.Timeout = units.Duration(300 * time.Millisecond)
		if got := readAll(t, o); !strings.HasSuffix(got.End, "the query took longer than 300ms") {
			t.Errorf("it ended with %q", got.End)
		}
	})
	t.Run("a result of many rows is streamed", func(t *testing.T) {
		const rows = 200_000
		streams(t, from(fmt.Sprintf("select seq, concat('+4477', lpad(seq, 8, '0')) as phone, repeat('x', 200) as text from seq_1_to_%d", rows)), rows)
	})
	t.Run("a reading that is given up ends the query", func(t *testing.T) {
		closesAtOnce(t, from("select seq from seq_1_to_100000000"))
	})
}
