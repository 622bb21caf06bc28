// Command provider is the example server of zitadel/oidc on 127.0.0.1 alone: a real provider of identities with the client "web" and
// the user test-user@localhost, for test/oidc/try.
package main

import (
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	port, back := os.Args[1], os.Args[2]
	issuer := "http://localhost:" + port + "/"
	storage.RegisterClients(storage.WebClient("web", "secret", back))
	s := &http.Server{
		Addr: "127.0.0.1:" + port, ReadHeaderTimeout: 10 * time.Second,
		Handler: exampleop.SetupServer(issuer, storage.NewStorage(storage.NewUserStore(issuer)), slog.New(slog.NewTextHandler(os.Stderr, nil)), false),
	}
	log.Fatal(s.ListenAndServe())
}
