package apiclient

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAServiceBehindACompanysOwnAuthority(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"success": true, "data": {"status": "sent"}}`)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake that fails
	s.StartTLS()
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, s.URL+"/api/v1").MessageStatus(t.Context(), "1"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an authority that nobody named was believed: %v", err)
	}
	if _, err := open(t, s.URL+"/api/v1", func(o *Options) { o.CAFile = file }).MessageStatus(t.Context(), "1"); err != nil {
		t.Errorf("with its authority: %v", err)
	}
}

func TestRootsSayWhatIsWrongWithTheFile(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("not a certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"/no/such": "certificates of authorities: open /no/such: no such file or directory",
		empty:      "certificates of authorities: " + empty + " holds none",
	} {
		if _, err := New(Options{BaseURL: "https://api.example.com/api/v1", Key: testKey, CAFile: file}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
