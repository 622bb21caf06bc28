//go:build unix

package lists

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
)

// unpacked is where "make setup" puts the servers that this machine lacks, with their libraries.
var unpacked = func() string {
	here, err := filepath.Abs(filepath.Join("..", "..", ".check", "servers", "usr"))
	if err != nil {
		panic(err)
	}
	return here
}()

// program is where a server program lies, and skips the test where there is none; "make setup"
// brings it, and where CI is set a skipped test is a failed one.
func program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		folders := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin", "/usr/bin", unpacked+"/bin", unpacked+"/sbin")
		// PostgreSQL has one folder for each version.
		for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", unpacked + "/lib/postgresql/*/bin"} {
			versions, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			folders = append(folders, versions...)
		}
		for _, folder := range folders {
			path := filepath.Join(folder, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	t.Skipf("%s is not here: make setup brings it", names[0])
	return ""
}

// libraries is the environment of a server that may have been unpacked with libraries of its own.
func libraries(t testing.TB) []string {
	t.Helper()
	folders, err := filepath.Glob(unpacked + "/lib/*-linux-*")
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(append(folders, os.Getenv("LD_LIBRARY_PATH")), ":"))
}

// library is where a shared library lies, and skips the test where there is none.
func library(t testing.TB, name string) string {
	t.Helper()
	for _, pattern := range []string{"/usr/lib/*-linux-*/", unpacked + "/lib/*-linux-*/"} {
		if found, err := filepath.Glob(pattern + name); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	t.Skipf("%s is not here: make setup brings it", name)
	return ""
}

// asNobodySpecial makes a program run as somebody without rights, and a folder theirs: a server
// that is started by root refuses, or would have rights that a test should not give away.
func asNobodySpecial(t testing.TB, folder, name string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	who, err := user.Lookup(name)
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(who.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(who.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		t.Fatal(uidErr, gidErr)
	}
	if err := os.Chown(folder, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
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
		cmd.Env = libraries(t)
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

// freePort is a port of this machine that nobody listened on a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
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
	install, server := program(t, "mariadb-install-db"), program(t, "mariadbd", "mysqld")
	folder := openFolder(t)
	who := asNobodySpecial(t, folder, "mysql")
	data := filepath.Join(folder, "data")
	// The server finds its own files beside its folder.
	base := "--basedir=" + filepath.Dir(filepath.Dir(server))
	create := exec.CommandContext(t.Context(), install, "--no-defaults", base, "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
	create.SysProcAttr, create.Dir, create.Env = who, folder, libraries(t)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("make the data: %v\n%s", err, out)
	}
	port := freePort(t)
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
