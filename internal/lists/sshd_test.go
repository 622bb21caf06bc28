//go:build unix

package lists

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// sshd starts OpenSSH's server over a folder, and lets in whoever has the key under the name that
// it runs as: that of whoever runs the test, or of nobody in root's place. A server of root's wants a
// user and a folder that only its installation makes, and one of nobody's a nobody who may log in.
func sshd(t testing.TB, folder string, hostKeys [2]string, guest ssh.PublicKey) (address, name string) {
	t.Helper()
	server := found[string](t)(testserver.Program("sshd"))
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if name = me.Username; me.Uid == "0" {
		name = "nobody"
	}
	for name, text := range map[string]string{"host": hostKeys[0], "host2": hostKeys[1], "guests": string(ssh.MarshalAuthorizedKey(guest))} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := found[int](t)(testserver.FreePort())
	address = net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	config := fmt.Sprintf("ListenAddress %s\nHostKey %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n",
		address, filepath.Join(folder, "host2"), filepath.Join(folder, "host"), filepath.Join(folder, "guests"))
	file := filepath.Join(folder, "config")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(server, "-D", "-e", "-f", file)
	if me.Uid == "0" {
		run.SysProcAttr = found[*syscall.SysProcAttr](t)(testserver.Nobody(folder, name))
		users := filepath.Join(folder, "users")
		line := fmt.Sprintf("nobody:*:%d:%d::/:/bin/sh\n", run.SysProcAttr.Credential.Uid, run.SysProcAttr.Credential.Gid)
		if err := os.WriteFile(users, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, kept := range []string{"config", "host", "host2", "guests", "users"} {
			_ = found[*syscall.SysProcAttr](t)(testserver.Nobody(filepath.Join(folder, kept), name))
		}
		run.Env = append(testserver.Libraries(), "LD_PRELOAD="+found[string](t)(testserver.Library("libnss_wrapper.so")), "NSS_WRAPPER_PASSWD="+users, "NSS_WRAPPER_GROUP=/etc/group")
	}
	serve(t, run)
	for range 100 {
		c, err := net.Dial("tcp", address)
		if err == nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			return address, name
		}
		time.Sleep(50 * time.Millisecond) // another process tells nobody when it listens
	}
	t.Fatal("sshd does not answer")
	return "", ""
}

func newECDSAKey(t testing.TB) (ssh.Signer, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return asSSH(t, key)
}

// The source against OpenSSH itself: the lists come in their order, a wrong key and a server with
// another key than known_hosts says end in words.
func TestSFTPAgainstOpenSSH(t *testing.T) {
	host, hostKey := newKey(t)
	guest, guestKey := newKey(t)
	folder := openFolder(t)
	second, secondKey := newECDSAKey(t)
	address, name := sshd(t, folder, [2]string{hostKey, secondKey}, guest.PublicKey())
	known := func(name string, key ssh.PublicKey) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(knownhosts.Line([]string{address}, key)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	big := strings.Repeat("+447700900103,"+strings.Repeat("x", 1000)+"\n", 2000)
	for name, text := range map[string]string{"a.csv": "phone,name\n+447700900101,Ana\n", "b.csv": "phone,name\n" + big} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := SFTP{
		Host: address, User: name, Key: secret.New(guestKey), KnownHosts: known("known", host.PublicKey()),
		Path: folder + "/*.csv", AllowPrivate: true,
	}
	got := readAll(t, Origin{SFTP: &at})
	if got.End != "" || len(got.Rows) != 2001 || got.Rows[0] != "+447700900101|Ana" || !strings.HasPrefix(got.Rows[2000], "+447700900103|xxx") {
		t.Errorf("%d rows came, it ended with %q", len(got.Rows), got.End)
	}
	// A server has keys of several kinds, and known_hosts often only one of them.
	one := at
	one.KnownHosts = known("known2", second.PublicKey())
	if got := readAll(t, Origin{SFTP: &one}); got.End != "" || len(got.Rows) != 2001 {
		t.Errorf("by its other key %d rows came, it ended with %q", len(got.Rows), got.End)
	}
	_, strange := newKey(t)
	other, _ := newKey(t)
	for name, tt := range map[string]struct {
		edit func(*SFTP)
		end  string
	}{
		"a server with another key": {func(s *SFTP) { s.KnownHosts = known("other", other.PublicKey()) }, "the server has another key than known_hosts says"},
		"a key that is not let in":  {func(s *SFTP) { s.Key = secret.New(strange) }, "the server does not let " + name + " in"},
		"a password where none is":  {func(s *SFTP) { s.Key, s.Password = secret.Secret{}, secret.New("hush") }, "the server does not let " + name + " in"},
		"no such folder":            {func(s *SFTP) { s.Path = folder + "/none/*.csv" }, "no file has such a name"},
	} {
		t.Run(name, func(t *testing.T) {
			one := at
			tt.edit(&one)
			if got := readAll(t, Origin{SFTP: &one}); !strings.HasSuffix(got.End, tt.end) || strings.Contains(got.End, "hush") {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
		})
	}
}
