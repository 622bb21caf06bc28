// Package secret keeps what must not be read over a shoulder: a Secret cannot be printed,
// logged or written as JSON by accident, and Expand puts secrets into config values from the
// environment or from files, after the file was parsed, so that no secret can be YAML.
//
// It does not encrypt and does not wipe memory: who can read the process's memory, or its
// environment, has the secret anyway.
package secret

import (
	"crypto/subtle"
	"fmt"
)

// shown is what a set secret prints as.
const shown = "[secret]"

// A Secret is a text that prints as "[secret]" under every verb and in every encoding. The
// zero value is no secret and prints as nothing.
type Secret struct{ text string }

// New makes a Secret of text.
func New(text string) Secret { return Secret{text} }

// Reveal is the text itself, for the one place that needs it.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == "" }

// Equal compares without telling by its duration where the texts differ.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.text), []byte(other.text)) == 1
}

// String is "[secret]", or "" for no secret.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return shown
}

// Format answers every verb of fmt with what String is: %d and %x would otherwise print the
// bytes inside.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText writes what String is, for JSON too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the text as the secret.
func (s *Secret) UnmarshalText(text []byte) error {
	s.text = string(text)
	return nil
}

// Hidden reports that the value must not be shown where it stands in a file.
func (Secret) Hidden() bool { return true }

// CheckWritten says what is wrong with how a secret stands in a file; raw is the text before
// Expand. It is advice, not an error: a secret for a trial on one's own machine may stay.
func (Secret) CheckWritten(raw string) (msg, hint string) {
	if raw == "" || refers(raw) {
		return "", ""
	}
	return "is a secret written into the file",
		"write ${NAME} and set the variable NAME for the daemon, or ${file:/path/to/it}"
}

// Schema describes the text to editors.
func (Secret) Schema() map[string]any {
	return map[string]any{"type": "string", "examples": []string{"${NAME}", "${file:/run/secrets/name}"}}
}
