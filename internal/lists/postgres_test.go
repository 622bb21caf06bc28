//go:build unix

package lists

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// postgreSQL starts a server of its own with a user crm, who may write and whose password is
// hush, and gives the host and port, and its owner's sessions.
func postgreSQL(t testing.TB) (host string, root *sql.DB) {
	t.Helper()
	initdb := found[string](t)(testserver.Program("initdb"))
	folder := openFolder(t)
	who := found[*syscall.SysProcAttr](t)(testserver.Nobody(folder, "postgres"))
	data := filepath.Join(folder, "data")
	create := exec.CommandContext(t.Context(), initdb, "--pgdata="+data, "--username=root", "--encoding=UTF8", "--locale=C", "--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256")
	create.SysProcAttr, create.Dir, create.Env = who, folder, testserver.Libraries()
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("make the data: %v\n%s", err, out)
	}
	port := found[int](t)(testserver.FreePort())
	run := exec.Command(filepath.Join(filepath.Dir(initdb), "postgres"), "-D", data, "-k", folder, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-F")
	run.SysProcAttr, run.Dir = who, folder
	serveUntil(t, run, syscall.SIGINT) // on SIGTERM it would wait for a session that a failed test left open
	root = ownerOf(t, "pgx", fmt.Sprintf("host=%s port=%d user=root database=postgres", folder, port),
		"create role crm login password 'hush'",
		"alter role crm set DateStyle = 'German'",
		"alter role crm set TimeZone = 'Asia/Kolkata'",
		"grant all on schema public to crm",
		`create table customers (id bigint primary key, phone text, name text, spent numeric(12,2), score float8, weight float4, vip boolean,
			born date, called timestamp, seen timestamptz, about jsonb, tags text[], note text)`,
		`insert into customers values
			(9007199254740993, '+447700900101', E'Zoë 🎈\nof "Leeds"', 12.50, 1e21, 0.1, true, '1990-02-03', '2026-03-01 10:20:30.5', '2026-02-28 18:30:00+00', '{"a": [1, null]}', '{VIP,"two words",NULL}', null),
			(9007199254740994, '07700 900102', 'O''Neil', 0.00, 447700900102, 1e-7, false, 'infinity', '2026-03-01', '2026-03-01 10:20:30.25+00', 'null', '{}', ''),
			(9007199254740995, null, null, 'NaN', 'Infinity', null, null, null, 'infinity', '-infinity', null, null, null)`,
		"alter table customers owner to crm",
		"create procedure welcome() language plpgsql as $$ begin commit; insert into customers (id) values (1); end $$",
	)
	return "127.0.0.1:" + strconv.Itoa(port), root
}

// What holds of a real server: every type comes as a list would write it, nothing can be written
// though the user may, and what fails or takes too long ends in words.
func TestPostgresAgainstAServer(t *testing.T) {
	host, root := postgreSQL(t)
	from := func(query string) Origin {
		return Origin{Postgres: secret.New("postgres://crm:hush@" + host + "/postgres"), Query: query}
	}
	got := readAll(t, from("select * from customers order by id"))
	want := list{
		Header: []string{"id", "phone", "name", "spent", "score", "weight", "vip", "born", "called", "seen", "about", "tags", "note"},
		Rows: []string{
			"9007199254740993|+447700900101|Zoë 🎈\nof \"Leeds\"|12.50|1000000000000000000000|0.1|true|1990-02-03|2026-03-01 10:20:30.5|2026-03-01T00:00:00+05:30|{\"a\": [1, null]}|{VIP,\"two words\",NULL}|",
			"9007199254740994|07700 900102|O'Neil|0.00|447700900102|0.0000001|false|infinity|2026-03-01 00:00:00|2026-03-01T15:50:30.25+05:30|null|{}|",
			"9007199254740995|||NaN|Infinity||||infinity|-infinity|||",
		},
		Lines: []int64{1, 2, 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	moments := readAll(t, from("select z::timestamptz from unnest(array['0044-03-15 12:00:00 BC', '1850-01-01 00:00:00', '12026-01-01 00:00:00']) z"))
	if diff := cmp.Diff([]string{"0044-03-15 12:00:00+05:53:28 BC", "1850-01-01T00:00:00+05:53:28", "12026-01-01 00:00:00+05:30"}, moments.Rows); diff != "" {
		t.Errorf("moments that few lists have (-want +got):\n%s", diff)
	}
	if got := readAll(t, from("select phone, name from customers where false")); len(got.Header) != 2 || got.Rows != nil || got.End != "" {
		t.Errorf("a result without rows: %+v", got)
	}

	simple := func(query string) Origin {
		return Origin{Postgres: secret.New("postgres://crm:hush@" + host + "/postgres?default_query_exec_mode=simple_protocol&Default_Transaction_Read_Only=off&options=-c%20default_transaction_read_only%3Doff"), Query: query}
	}
	at := func(user, database string) Origin {
		return Origin{Postgres: secret.New("postgres://" + user + "@" + host + "/" + database), Query: "select 1"}
	}
	const several = "cannot insert multiple commands into a prepared statement"
	readOnly := func(what string) string { return "cannot execute " + what + " in a read-only transaction" }
	ends := map[string]struct {
		o   Origin
		end string // behind the name of the source
	}{
		"a row":                           {from("insert into customers (id) values (1)"), readOnly("INSERT")},
		"a change that gives rows":        {from("update customers set vip = false returning phone"), readOnly("UPDATE")},
		"a new table":                     {from("create table other (id int)"), readOnly("CREATE TABLE")},
		"a table out of a question":       {from("select * into other from customers"), readOnly("SELECT INTO")},
		"a table that goes":               {from("drop table customers"), readOnly("DROP TABLE")},
		"a row in a CTE":                  {from("with a as (insert into customers (id) values (1) returning id) select id from a"), readOnly("SELECT")},
		"locked rows":                     {from("select phone from customers for update"), readOnly("SELECT FOR UPDATE")},
		"a block that frees itself":       {from("do $$ begin perform set_config('transaction_read_only', 'off', false); insert into customers (id) values (1); end $$"), "transaction read-write mode must be set before any query"},
		"a procedure that frees itself":   {from("call welcome()"), "invalid transaction termination"},
		"a setting in a question":         {from("select set_config('transaction_read_only', 'off', false)"), "transaction read-write mode must be set before any query"},
		"a second statement":              {from("select phone from customers; delete from customers"), several},
		"a second statement, simply":      {simple("select phone from customers; delete from customers"), several},
		"an end and a second statement":   {simple("commit; set default_transaction_read_only = off; drop table customers"), several},
		"a row, simply":                   {simple("insert into customers (id) values (1)"), readOnly("INSERT")},
		"a misspelt column":               {from("select phone,\n  'é', nam from customers"), `column "nam" does not exist at line 2, character 8 of the query; Perhaps you meant to reference the column "customers.name".`},
		"a misspelt word":                 {from("selekt phone from customers"), `syntax error at or near "selekt" at line 1, character 1 of the query`},
		"no such table":                   {from("select phone from customer"), `relation "customer" does not exist at line 1, character 19 of the query`},
		"rows that may not be read":       {from("select rolpassword from pg_authid"), "permission denied for table pg_authid"},
		"a value that cannot be computed": {from("select 1 / (3 - i) from generate_series(1, 3) i"), "after 2 rows: division by zero"},
		"a wrong password":                {at("crm:wrong-hush", "postgres"), `password authentication failed for user "crm"; see to the user and the password in source.postgres`},
		"no such user":                    {at("other:hush", "postgres"), `password authentication failed for user "other"; see to the user and the password in source.postgres`},
		"no such database":                {at("crm:hush", "other"), `database "other" does not exist`},
	}
	for name, tt := range ends {
		t.Run(name, func(t *testing.T) {
			got := readAll(t, tt.o)
			database := "postgres"
			if name == "no such database" {
				database = "other"
			}
			if want := "postgres " + database + " on 127.0.0.1: " + tt.end; got.End != want {
				t.Errorf("it ended with %q, want %q", got.End, want)
			}
		})
	}
	var vips, tables, rows int
	if err := root.QueryRowContext(t.Context(), "select (select count(*) from customers where vip), (select count(*) from pg_tables where schemaname = 'public'), (select count(*) from customers)").Scan(&vips, &tables, &rows); err != nil || vips != 1 || tables != 1 || rows != 3 {
		t.Errorf("after all attempts to write there are %d vips in %d rows and %d tables, %v", vips, rows, tables, err)
	}

	t.Run("a query that fails after many rows is not read by half", func(t *testing.T) {
		got := readAll(t, from("select '+4479111' || lpad(i::text, 5, '0') as phone, 'Name ' || 1 / (20000 - i) as name from generate_series(1, 20000) i"))
		if got.End != "postgres postgres on 127.0.0.1: after 19,999 rows: division by zero" {
			t.Errorf("it ended with %q", got.End)
		}
	})
	t.Run("the session cannot write and is bounded by the server, too", func(t *testing.T) {
		o := from("select current_setting('transaction_read_only'), current_setting('default_transaction_read_only'), current_setting('statement_timeout')")
		o.Timeout = units.Duration(90 * time.Second)
		if diff := cmp.Diff([]string{"on|on|91s"}, readAll(t, o).Rows); diff != "" {
			t.Errorf("the session's settings (-want +got):\n%s", diff)
		}
	})
	// asleep counts the sessions of crm that are at work.
	asleep := func(t *testing.T) (n int) {
		t.Helper()
		if err := root.QueryRowContext(t.Context(), "select count(*) from pg_stat_activity where usename = 'crm' and state = 'active'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Run("a query that takes too long", func(t *testing.T) {
		for name, query := range map[string]string{"before its first row": "select pg_sleep(300)", "among its rows": "select pg_sleep(case when i > 2 then 300 else 0 end) from generate_series(1, 5) i"} {
			o := from(query)
			o.Timeout = units.Duration(time.Second)
			if got := readAll(t, o); got.End != "postgres postgres on 127.0.0.1: the query took longer than 1s" {
				t.Errorf("%s: it ended with %q", name, got.End)
			}
			if n := asleep(t); n != 0 {
				t.Errorf("%s: %d queries still run at the server", name, n)
			}
		}
	})
	t.Run("a query that is called off", func(t *testing.T) {
		s, err := newSource(from("select pg_sleep(300)"), "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := s.Open(ctx); ended <- err }()
		for n := 0; asleep(t) == 0 && n < 1500; n++ {
			time.Sleep(20 * time.Millisecond) // another process tells nobody when it has begun
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		if n := asleep(t); n != 0 {
			t.Errorf("%d queries still run at the server", n)
		}
	})
	t.Run("a result of many rows is streamed", func(t *testing.T) {
		const rows = 200_000
		streams(t, from(fmt.Sprintf("select i, '+4477' || lpad(i::text, 8, '0') as phone, repeat('x', 200) as text from generate_series(1, %d) i", rows)), rows)
	})
	t.Run("a reading that is given up ends the query", func(t *testing.T) {
		closesAtOnce(t, from("with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000000) select i from n"))
	})
}
