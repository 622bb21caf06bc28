package netguard

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

func TestWhichAddressesArePublic(t *testing.T) {
	tests := map[string]bool{
		// The internet.
		"1.1.1.1": true, "8.8.8.8": true, "93.184.216.34": true, "172.32.0.1": true, "100.63.255.255": true, "100.128.0.1": true,
		"168.63.129.15": true, "168.63.129.17": true, "192.0.1.1": true, "198.17.255.255": true, "198.20.0.1": true, "223.255.255.255": true,
		"2606:4700:4700::1111": true, "2001:4860:4860::8888": true, "2a00:1450:4001::1": true, "2001:200::1": true, "::ffff:8.8.8.8": true,

		// IPv4 that is none of it.
		"0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "100.64.0.1": false, "100.100.100.200": false, "127.0.0.1": false, "127.255.255.254": false,
		"168.63.129.16": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.1": false, "192.0.0.192": false,
		"192.0.2.1": false, "192.88.99.1": false, "192.168.1.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.7": false,
		"203.0.113.9": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,

		// IPv6 that is none of it.
		"::": false, "::1": false, "::127.0.0.1": false, "::8.8.8.8": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:0:127.0.0.1": false,
		"64:ff9b:1::808:808": false, "100::1": false, "100:0:0:1::1": false, "2001:1::1": false, "2001:10::1": false, "2001:20::1": false, "2001:1ff::1": false,
		"2001:db8::1": false, "3fff::1": false, "3fff:fff::1": false, "4000::1": false, "5f00::1": false, "fc00::1": false, "fd00:ec2::254": false,
		"fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "ff02::1": false, "::1%lo": false,

		// IPv6 around IPv4: what is inside counts.
		"64:ff9b::8.8.8.8": true, "64:ff9b::127.0.0.1": false, "64:ff9b::169.254.169.254": false,
		"2002:808:808::1": true, "2002:7f00:1::1": false, "2002:a00:1::1": false,
		"2001:0:808:808:0:0:f7f7:f7f7": true,  // client 8.8.8.8
		"2001:0:808:808:0:0:80ff:fffe": false, // client 127.0.0.1
		"2001:0:a00:1:0:0:f7f7:f7f7":   false, // server 10.0.0.1
	}
	for text, want := range tests {
		if got := Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("Public(%s) = %v", text, got)
		}
		if got := PublicHost(netip.MustParseAddr(text).WithZone("").String()); got != want {
			t.Errorf("PublicHost(%s) = %v", text, got)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address at all is public")
	}
}

func TestWhichHostsCanBePublic(t *testing.T) {
	for host, want := range map[string]bool{
		"shop.example": true, "cdn.example.com": true, "EXAMPLE.com.": true, "1.example.com": true, "xn--bcher-kva.example": true, "localhost.example.com": true, "a.fe": true,
		"localhost": false, "LOCALHOST": false, "localhost.": false, "app.localhost": false, "printer.local": false, "db.internal": false,
		"metadata.google.internal": false, "nas.lan": false, "router.home.arpa": false, "shop": false, "": false, "127.1": false, "2130706433": false,
		"0x7f.1": false, "0177.0.0.1": false, "127.0.0.0x1": false, "[::1]": false, "[2606:4700:4700::1111]": true, "fe80::1%25eth0": false,
	} {
		if got := PublicHost(host); got != want {
			t.Errorf("PublicHost(%q) = %v", host, got)
		}
	}
}

func TestADialerGoesToPublicAddressesOnly(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if _, err := Dialer(time.Second, false).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port)); !errors.Is(err, ErrPrivate) {
			t.Errorf("%s: %v", host, err)
		}
	}
	conn, err := Dialer(time.Second, true).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := publicOnly("tcp", "no address", nil); !errors.Is(err, ErrPrivate) {
		t.Errorf("no address: %v", err)
	}
}
