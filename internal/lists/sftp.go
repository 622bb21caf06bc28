package lists

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/regular"
)

// sftpFiles are files on a server reached by SSH. The server must be the one that
// known_hosts names: a list read from an impostor would be sent all the same.
type sftpFiles struct{ SFTP }

func openSFTP(o Origin, folder string) (Source, error) {
	s := *o.SFTP
	s.KnownHosts = inFolder(folder, s.KnownHosts)
	return &fileSource{kind: "sftp", where: s.Host + ":" + s.Path, finder: sftpFiles{s}, origin: o}, nil
}

func (s sftpFiles) find(ctx context.Context) (_ []file, done func() error, err error) {
	config, err := s.config()
	if err != nil {
		return nil, nil, err
	}
	address := s.Host
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, "22")
	}
	conn, err := netguard.Dialer(dialTimeout, s.AllowPrivate).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	config.HostKeyAlgorithms = knownAlgorithms(config.HostKeyCallback, address, conn.RemoteAddr())
	// The protocol below knows no context: closing the connection ends all of it.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		stop()
		_ = conn.Close() // the handshake has closed it already, most of the time
		return nil, nil, handshake(err, s.User)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	connection := ssh.NewClient(c, channels, requests)
	client, err := sftp.NewClient(connection, sftp.UseConcurrentReads(true))
	if err != nil {
		stop()
		return nil, nil, errors.Join(err, connection.Close())
	}
	done = func() error {
		stop()
		err := errors.Join(client.Close(), connection.Close())
		if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
			return nil // the other side, or the end of ctx, was faster
		}
		return err
	}
	names, err := expand(s.Path, client.Stat, func(folder string) ([]string, error) { return namesOf(client.ReadDir(folder)) })
	if err != nil {
		return nil, done, err
	}
	var files []file
	for _, name := range names {
		files = append(files, remoteFile{client, name})
	}
	return files, done, nil
}

func (s sftpFiles) config() (*ssh.ClientConfig, error) {
	known := s.KnownHosts
	if known == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, errors.New("known_hosts is not set and there is no home folder")
		}
		known = filepath.Join(home, ".ssh", "known_hosts")
	}
	if _, err := regular.ReadSmall(known); err != nil { // the library waits for a pipe
		return nil, fmt.Errorf("known_hosts: %w", err)
	}
	check, err := knownhosts.New(known)
	if err != nil {
		return nil, fmt.Errorf("known_hosts: %w", err)
	}
	config := &ssh.ClientConfig{User: s.User, HostKeyCallback: check, Timeout: 30 * time.Second}
	switch {
	case !s.Key.IsZero():
		key, err := ssh.ParsePrivateKey([]byte(s.Key.Reveal()))
		if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
			key, err = ssh.ParsePrivateKeyWithPassphrase([]byte(s.Key.Reveal()), []byte(s.Password.Reveal()))
		}
		if err != nil {
			return nil, errors.New("key is no private key that can be read, or its password is wrong") // never the text
		}
		config.Auth = []ssh.AuthMethod{ssh.PublicKeys(key)}
	case !s.Password.IsZero():
		password := s.Password.Reveal()
		config.Auth = []ssh.AuthMethod{ssh.Password(password), ssh.KeyboardInteractive(func(_, _ string, questions []string, echo []bool) ([]string, error) {
			// Many servers ask for a password in this way only. A question whose answer may be seen
			// is another one.
			if len(questions) == 1 && !echo[0] {
				return []string{password}, nil
			}
			return make([]string, len(questions)), nil
		})}
	}
	return config, nil
}

// knownAlgorithms are those of the server's keys that known_hosts holds. A server has keys of
// several kinds and shows the one that is asked for first, so a file that holds another of them
// would look like an impostor's trace. nil, for any, where the server is not known at all.
func knownAlgorithms(check ssh.HostKeyCallback, address string, remote net.Addr) (algorithms []string) {
	bad, ok := errors.AsType[*knownhosts.KeyError](check(address, remote, noKey{}))
	if !ok {
		return nil
	}
	for _, known := range bad.Want {
		kind := known.Key.Type()
		if kind == ssh.KeyAlgoRSA { // one kind of key, and three ways to sign with it
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		algorithms = append(algorithms, kind)
	}
	return algorithms
}

// noKey is a key that no server has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("this is no key") }

// handshake says what to do about a server that is not known, and about a user who is not let in.
func handshake(err error, user string) error {
	bad, ok := errors.AsType[*knownhosts.KeyError](err)
	switch {
	case !ok && refused(err):
		return &wordError{fmt.Sprintf("the server does not let %s in", user), "check user, password and key; the server's log knows more"}
	case !ok:
		return err
	case len(bad.Want) == 0:
		return &wordError{"the server is not in known_hosts", "add the line that ssh-keyscan prints, after comparing its key with the owner's word"}
	default:
		return &wordError{"the server has another key than known_hosts says", "somebody may stand in between: ask its owner before changing the file"}
	}
}

// refused reports a handshake that ended because no key or password was taken. The library has
// no type for it; its second wording is that of a server which offers questions and asks none.
func refused(err error) bool {
	text := err.Error()
	return strings.Contains(text, "unable to authenticate") || strings.Contains(text, "unexpected message type 51 (expected 60)")
}

// A remoteFile is one file on the server.
type remoteFile struct {
	client *sftp.Client
	path   string
}

func (f remoteFile) name() string { return f.path }

func (f remoteFile) open(context.Context) (io.ReadCloser, error) { return f.client.Open(f.path) }

func (f remoteFile) stamp(context.Context) (string, error) {
	info, err := f.client.Stat(f.path)
	if err != nil {
		return "", err
	}
	return stampOf(info), nil
}
