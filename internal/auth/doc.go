// Package auth keeps who may come in: users of the console with their sessions, links by which somebody signs in once, and tokens
// of programs. Of passwords, links, sessions and tokens the data has hashes alone. Whether somebody may do what is asked, and how a
// password is hashed, is said in package server.
package auth

import (
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// Records are the users, sessions, links and tokens of a store.
type Records struct{ *store.Store }

// only is the one row that was asked for; messaging.ErrNotFound where there is none.
func only[T any](all []T, err error) (one T, _ error) {
	switch {
	case err != nil:
		return one, err
	case len(all) == 0:
		return one, messaging.ErrNotFound
	}
	return all[0], nil
}
