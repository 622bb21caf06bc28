package main

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A daemon whose database does not answer ends by SIGTERM all the same, by itself or by its bound: the database hangs until after its end. What
// was answered before is there then, and goes once.
func TestAStopMeetsADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]func(t *testing.T, c *crash) (address string, hang, answer func()){
		"PostgreSQL": func(t *testing.T, c *crash) (string, func(), func()) {
			server := testserver.ForTest(t, "fsync=off")
			address, err := server.NewDatabase(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wire, by := testserver.NewWire(t, address)
			return by + "\nnode: {folder: " + c.folder + "}", func() { wire.Hang(true) }, func() { wire.Hang(false) }
		},
		"SQLite that another process holds": func(t *testing.T, c *crash) (string, func(), func()) {
			var other *sql.DB
			return "sqlite:" + c.folder + "/nudgewire.db", func() {
					var err error
					if other, err = sql.Open("sqlite3", "file:"+c.folder+"/nudgewire.db"); err == nil {
						other.SetMaxOpenConns(1)
						_, err = other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
					}
					if err != nil {
						t.Fatal(err)
					}
				}, func() {
					if err := other.Close(); err != nil {
						t.Fatal(err)
					}
				}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := sandbox.New(sandbox.Options{Keys: []string{"key"}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}}})
			api := httptest.NewServer(service.Handler())
			defer func() { service.Close(); api.Close() }()
			c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
			address, hang, answer := storage(t, c)
			const posts = 20
			c.put("config.yaml", fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key, rate: 500/s}
defaults: {country: GB, language: en, category: utility}
connectors: {shopify: {secret: secret-of-the-crash}}
triggers:
  thanks: {on: shopify.order.created, wait: 3s, send: {template: order_update, variables: ['{{ order.id }}']}}
storage: %s
server: {listen: "%s"}
`, api.URL, address, c.address))
			daemon := c.start()
			for i := range posts {
				if !c.post(i) {
					t.Fatalf("webhook %d was refused", i)
				}
			}
			hang()
			late := make(chan bool, 1)
			go func() { late <- c.post(posts) }() // waits for the database
			if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- daemon.Wait() }()
			select {
			case err := <-ended:
				exit, is := errors.AsType[*exec.ExitError](err)
				t.Logf("it ended: %v", err)
				if err != nil && (!is || exit.ExitCode() != 1) {
					t.Errorf("its end: %v", err)
				}
			case <-time.After(5 * time.Minute):
				_ = daemon.Process.Kill()
				t.Fatal("it did not end")
			}
			answer()
			want := posts
			if <-late {
				want++ // it was stored before the database hung
			}
			daemon = c.start()
			for end := time.Now().Add(2 * time.Minute); service.Stats().Messages < want; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d messages of %d", service.Stats().Messages, want)
				}
			}
			if err := daemon.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := daemon.Wait(); err != nil {
				t.Errorf("its second end: %v", err)
			}
			for i := range posts {
				if n := service.Accepted(crashPhone(i)[1:]); n != 1 {
					t.Errorf("webhook %d was sent %d times", i, n)
				}
			}
		})
	}
}
