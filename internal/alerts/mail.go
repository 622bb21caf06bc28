package alerts

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/receiver"
)

// mail sends a message by the server of the config. Subject and body hold words of strangers: go-mail encodes what is no
// plain text of a head, and the addresses were read by net/mail.
func (n *network) mail(ctx context.Context, r *Receiver, m *Mail, message Message) error {
	if m == nil {
		return errors.New("no section mail says by which server")
	}
	host, port, err := net.SplitHostPort(m.SMTP)
	if err != nil {
		return errors.New("mail.smtp is no server with its port")
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return errors.New("mail.smtp is no server with its port")
	}
	msg, err := letter(r, m, message)
	if err != nil {
		return err
	}
	o := []gomail.Option{gomail.WithPort(number), gomail.WithTimeout(oneCall), gomail.WithoutNoop()}
	switch m.TLS {
	case Implicit:
		o = append(o, gomail.WithSSL())
	case Off:
		o = append(o, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		o = append(o, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if m.Username != "" {
		// Each of them refuses a connection in the clear by itself.
		o = append(o, gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin), gomail.WithUsername(m.Username), gomail.WithPassword(m.Password.Reveal()))
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: n.roots}
	o = append(o, gomail.WithTLSConfig(config), gomail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := netguard.Dialer(receiver.DialTimeout, m.AllowPrivate).DialContext(dialing, network, address)
		if err != nil {
			return nil, err
		}
		conn = &bounded{Conn: conn, left: maxTalk}
		context.AfterFunc(ctx, func() { _ = conn.Close() }) // the library waits for its own time alone
		if m.TLS != Implicit {
			return conn, nil
		}
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(dialing); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secured, nil
	}))
	client, err := gomail.NewClient(host, o...)
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, msg)
	if err != nil && msg.IsDelivered() {
		return nil // the server has it; only the goodbye failed, and another try would tell it again
	}
	return err
}

// maxTalk is the most that a mail server may say while it takes one e-mail, in bytes with those of TLS.
const maxTalk = 256 << 10

// A bounded connection ends when the other side says too much: the library keeps all of an answer, however long it is.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the mail server says too much")
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// letter is the message as an e-mail in plain text.
func letter(r *Receiver, m *Mail, message Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := msg.From(m.From); err != nil {
		return nil, err
	}
	if err := msg.To(r.To...); err != nil {
		return nil, err
	}
	msg.Subject("[nudgewire] " + strings.Join(strings.Fields(message.subject()), " "))
	msg.SetMessageIDWithValue(message.ID + "@" + domainOf(m.From))
	msg.SetDateWithValue(message.At)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // so that nobody's absence answers
	text := message.Text + "\n\n" + message.From + "\n"
	if !message.Test {
		text += `"nudgewire alerts" lists what is wrong at present, and docs/alert-names.md says more.` + "\n"
	}
	msg.SetBodyString(gomail.TypeTextPlain, text)
	return msg, nil
}

// domainOf is what stands behind the @ of an address.
func domainOf(address string) string {
	_, domain, _ := strings.Cut(strings.TrimSuffix(address, ">"), "@")
	if domain == "" {
		return "nudgewire"
	}
	return domain
}
