package connectors_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

func TestTheAddressOfTheConfigIsTheOneThatIsSigned(t *testing.T) {
	c := decodeConfig(t, "preset: square\naddress: https://shop.example.com/in/square")
	c.Secret = secret.New(ownSecret)
	con := mustCompile(t, "square", c, connectors.Options{})
	r := connectors.Request{
		Method: http.MethodPost, URL: "https://hooks.example.com/hooks/square", Path: "/hooks/square",
		Header: http.Header{"Content-Type": {"application/json"}}, Body: con.SamplesAt(time.Now(), 1)[0].Body, Now: time.Now(),
	}
	signed, err := con.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	if signed.URL != "https://shop.example.com/in/square" {
		t.Errorf("signed for %s", signed.URL)
	}
	r.Header = signed.Header
	if _, err := con.Receive(r); err != nil {
		t.Errorf("behind the proxy: %v", err)
	}
	plain := decodeConfig(t, "preset: square")
	plain.Secret = c.Secret
	if _, err := mustCompile(t, "square", plain, connectors.Options{}).Receive(r); err == nil {
		t.Error("without the address the signature is over another URL and must be rejected")
	}
}

func TestAnAddressThatIsNoURLIsRefused(t *testing.T) {
	for _, address := range []string{"shop.example.com/in", "ftp://shop.example.com/in", "https://shop.example.com/in?a=b"} {
		c := decodeConfig(t, "preset: square\naddress: "+address)
		c.Secret = secret.New(ownSecret)
		_, problems := connectors.Compile("square", c, connectors.Options{})
		found := false
		for _, p := range problems {
			found = found || p.Path == "address" && p.Msg == "is no whole URL without a query"
		}
		if !found {
			t.Errorf("address %s: problems %v", address, problems)
		}
	}
}
