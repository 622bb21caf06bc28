// Package valid holds Go values that were never YAML against the rules in their validate tags:
// what leaves for the messaging service, and what reaches the admin API.
//
// The rules are those of go-playground/validator/v10. Two of them are traps here: "numeric" takes
// "+44" and "4.4", so digits are "number"; and "hostname_port" knows no IPv6 address in brackets.
// (internal/yamlpos asks the same library node by node, and says where in the file.)
package valid

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-playground/validator/v10"
)

// Engine is the library with its rules; it is safe for concurrent use.
var Engine = newEngine()

func newEngine() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	// People know a field by the name that it has on the wire.
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	return v
}

// A FieldError is the first rule that a value breaks. It never repeats the value, which may be a
// phone or a secret.
type FieldError struct {
	Field string // as on the wire: "phone", "send.header.url"
	Rule  string // the library's name of the rule: "required", "oneof"
	Param string // what the rule was given: "image video document"
}

func (e *FieldError) Error() string { return fmt.Sprintf("field %q %s", e.Field, e.words()) }

func (e *FieldError) words() string {
	switch e.Rule {
	case "required", "required_without_all", "required_with":
		return "is missing"
	case "number":
		return "must be digits, without plus sign and separators"
	case "min":
		return "must have at least " + e.Param + " characters"
	case "max":
		return "must have at most " + e.Param + " characters"
	case "oneof":
		return "must be one of " + strings.Join(strings.Fields(e.Param), ", ")
	case "http_url":
		return "must be an http or https address"
	case "excluded_unless":
		_, value, _ := strings.Cut(e.Param, " ")
		return "is only for " + value
	case "endswith":
		return "must end in " + e.Param
	case "gt":
		return "must be more than " + e.Param
	default:
		return fmt.Sprintf("does not pass the rule %s", strings.Trim(e.Rule+"="+e.Param, "="))
	}
}

// Struct holds the struct that v points to against its tags, and returns a *FieldError for the first
// rule that it breaks.
func Struct(v any) error {
	err := Engine.Struct(v)
	if err == nil {
		return nil
	}
	broken, ok := errors.AsType[validator.ValidationErrors](err)
	if !ok || len(broken) == 0 {
		return fmt.Errorf("validate %T: %w", v, err) // a tag that the library cannot read: a mistake in the program
	}
	first := broken[0]
	_, field, _ := strings.Cut(first.Namespace(), ".")
	return &FieldError{Field: field, Rule: first.Tag(), Param: first.Param()}
}
