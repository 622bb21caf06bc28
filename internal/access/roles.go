package access

import (
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// A Role is what a person may do: a set of scopes.
type Role string

const (
	RoleViewer   Role = "viewer"   // looks, without whole phones
	RoleOperator Role = "operator" // runs messaging, and sees phones
	RoleAdmin    Role = "admin"    // everything
)

// Roles are all of them, each with no less than the one before.
var Roles = []Role{RoleViewer, RoleOperator, RoleAdmin}

// Scopes are what the role may do; none where there is no such role.
func (r Role) Scopes() []Scope {
	switch r {
	case RoleViewer:
		return []Scope{Read}
	case RoleOperator:
		return []Scope{Read, Phones, Sending, Operate, Contacts}
	case RoleAdmin:
		return slices.Clone(Scopes)
	default:
		return nil
	}
}

// CheckRole says what is wrong with a role.
func CheckRole(r Role) error {
	if slices.Contains(Roles, r) {
		return nil
	}
	words := make([]string, len(Roles))
	for i, one := range Roles {
		words[i] = string(one)
	}
	hint := "one of: " + strings.Join(words, ", ")
	if near := nearest.Of(string(r), words); near != "" {
		hint = "did you mean " + near + "?"
	}
	return refusal.Fieldf("role", hint, "%q is no role", string(r))
}
