package lists

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nudgewire/nudgewire/internal/secret"
)

func newKey(t testing.TB) (ssh.Signer, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return asSSH(t, key)
}

// asSSH is a private key as a signer and as the text of a key file.
func asSSH(t testing.TB, key crypto.PrivateKey) (ssh.Signer, string) {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(block))
}

// sshServer serves this machine's files to whoever has the key.
func sshServer(t testing.TB, host ssh.Signer, guest ssh.PublicKey, edits ...func(*ssh.ServerConfig)) string {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(guest.Marshal()) {
			return nil, os.ErrPermission
		}
		return &ssh.Permissions{}, nil
	}}
	config.AddHostKey(host)
	for _, edit := range edits {
		edit(config)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	serve := func(c net.Conn) {
		defer c.Close()
		conn, channels, requests, err := ssh.NewServerConn(c, config)
		if err != nil {
			return
		}
		defer conn.Close()
		all.Go(func() { ssh.DiscardRequests(requests) })
		for one := range channels {
			channel, requests, err := one.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				for r := range requests {
					_ = r.Reply(r.Type == "subsystem", nil)
				}
			})
			all.Go(func() {
				s, err := sftp.NewServer(channel, sftp.ReadOnly())
				if err == nil {
					_ = s.Serve()
					_ = s.Close()
				}
				_ = channel.Close()
			})
		}
	}
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().String()
}

func TestSFTP(t *testing.T) {
	host, _ := newKey(t)
	guest, key := newKey(t)
	address := sshServer(t, host, guest.PublicKey())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "list.csv"), []byte("phone\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	known := put(t, "known_hosts", []byte(knownhosts.Line([]string{address}, host.PublicKey())+"\n"))
	at := SFTP{Host: address, User: "ann", Key: secret.New(key), KnownHosts: known, Path: filepath.Join(dir, "*.csv"), AllowPrivate: true}
	if diff := cmp.Diff(list{Header: []string{"phone"}, Rows: []string{"1"}, Lines: []int64{2}}, readAll(t, Origin{SFTP: &at})); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	other, _ := newKey(t)
	tests := map[string]struct {
		edit func(*SFTP)
		end  string
	}{
		"a server that is not known": {func(s *SFTP) { s.KnownHosts = put(t, "k", nil) }, "the server is not in known_hosts"},
		"another key than known": {func(s *SFTP) {
			s.KnownHosts = put(t, "k", []byte(knownhosts.Line([]string{address}, other.PublicKey())+"\n"))
		}, "the server has another key than known_hosts says"},
		"no known_hosts":    {func(s *SFTP) { s.KnownHosts = "/nowhere" }, "known_hosts: open /nowhere: no such file or directory"},
		"no key":            {func(s *SFTP) { s.Key = secret.New("hush") }, "key is no private key that can be read, or its password is wrong"},
		"no such file":      {func(s *SFTP) { s.Path = "/nowhere/*.csv" }, "no file has such a name"},
		"a private address": {func(s *SFTP) { s.AllowPrivate = false }, "leads into a private network; set allow_private: true if that is meant"},
		"a key not let in":  {func(s *SFTP) { _, k := newKey(t); s.Key = secret.New(k) }, "the server does not let ann in"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			one := at
			tt.edit(&one)
			if got := readAll(t, Origin{SFTP: &one}); !strings.HasPrefix(got.End, "sftp "+address) || !strings.HasSuffix(got.End, tt.end) {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
		})
	}
}

// A server may want a password, and may ask for it as a question.
func TestSFTPWithAPassword(t *testing.T) {
	host, _ := newKey(t)
	right := func(text string) (*ssh.Permissions, error) {
		if text != "hush" {
			return nil, os.ErrPermission
		}
		return &ssh.Permissions{}, nil
	}
	for name, edit := range map[string]func(*ssh.ServerConfig){
		"as a password": func(c *ssh.ServerConfig) {
			c.PasswordCallback = func(_ ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) { return right(string(password)) }
		},
		"as a question": func(c *ssh.ServerConfig) {
			c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				answers, err := ask("", "", []string{"Password: "}, []bool{false})
				if err != nil || len(answers) != 1 {
					return nil, os.ErrPermission
				}
				return right(answers[0])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := sshServer(t, host, host.PublicKey(), edit)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "list.csv"), []byte("phone\n1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			at := SFTP{
				Host: address, User: "ann", Password: secret.New("hush"), Path: filepath.Join(dir, "*.csv"), AllowPrivate: true,
				KnownHosts: put(t, "known_hosts", []byte(knownhosts.Line([]string{address}, host.PublicKey())+"\n")),
			}
			if got := readAll(t, Origin{SFTP: &at}); got.End != "" || len(got.Rows) != 1 {
				t.Errorf("with the right password: %+v", got)
			}
			at.Password = secret.New("wrong")
			if got := readAll(t, Origin{SFTP: &at}); !strings.HasSuffix(got.End, "the server does not let ann in") || strings.Contains(got.End, "wrong") {
				t.Errorf("with a wrong one it ended with %q", got.End)
			}
		})
	}
}
