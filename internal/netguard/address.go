package netguard

import "net/url"

// A Fault is what is wrong with an address in a config. It does not hold the address, which may be a secret.
type Fault struct{ Msg, Hint string }

// Check says what is wrong with the address of somebody who is to be told things; nil for a good one. One in a private network, and
// http://, need allowPrivate.
func Check(address string, allowPrivate bool) *Fault {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return &Fault{"is not an address that begins with https://", "copy it whole from where it was made, or write it like https://crm.example.com/hooks"}
	case u.User != nil:
		return &Fault{"has a user name or password in it", "take them out; a secret may stand in the path or behind ?"}
	case u.Scheme == "http" && !allowPrivate:
		return &Fault{"begins with http://, so that everybody on the way can read and change what is told", "write https://, or allow_private: true for a receiver in your own network"}
	case !allowPrivate && !PublicHost(u.Hostname()): // delivery refuses it
		return &Fault{"leads into a private network", "set allow_private: true if that is meant"}
	default:
		return nil
	}
}
