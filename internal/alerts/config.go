package alerts

import (
	"github.com/nudgewire/nudgewire/internal/secret"
)

// An Entry of alerts: says what is told to whom.
type Entry struct {
	Name         string        `yaml:"name" example:"night shift" doc:"What lists of alerts call its receiver. Unless set: what it is and where."`
	When         []Condition   `yaml:"when" validate:"required" example:"[halt, key, points]" doc:"What is told: all, or one or more of those that docs/alerts.md lists, such as points; with a time, halt for 4h; with a number, in_doubt > 10; or failed_rate > 10% over 15m."`
	Webhook      secret.Secret `yaml:"webhook" example:"${OPS_URL}" doc:"Address that gets a POST with JSON; docs/alerts.md has its shape."`
	Slack        secret.Secret `yaml:"slack" example:"${SLACK_URL}" doc:"Address of an incoming webhook of Slack, or of what takes the same, such as Mattermost."`
	Email        []string      `yaml:"email" example:"[ops@example.com]" doc:"Addresses that get an e-mail by the server of mail."`
	AllowPrivate bool          `yaml:"allow_private" doc:"Let webhook and slack lead into this machine or its private network, and by http://."`
}

// Mail is the server that sends e-mails.
type Mail struct {
	SMTP         string        `yaml:"smtp" validate:"required" example:"smtp.example.com:587" doc:"The server and its port."`
	TLS          TLS           `yaml:"tls" validate:"oneof=starttls tls off" default:"starttls" doc:"starttls begins in the clear and goes on only encrypted, as on port 587; tls is encrypted from the first byte, as on 465; off is for a server of this machine, and takes no password."`
	From         string        `yaml:"from" validate:"required" example:"nudgewire@example.com" doc:"The sender's address."`
	Username     string        `yaml:"username" example:"nudgewire" doc:"Not set: the server wants none."`
	Password     secret.Secret `yaml:"password" example:"${SMTP_PASSWORD}" doc:"Of that user."`
	AllowPrivate bool          `yaml:"allow_private" doc:"Let smtp lead into this machine or its private network."`
}

// TLS says how the way to a mail server is protected.
type TLS string

// The values of TLS.
const (
	StartTLS TLS = "starttls"
	Implicit TLS = "tls"
	Off      TLS = "off"
)
