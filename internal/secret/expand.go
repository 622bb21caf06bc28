package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/regular"
)

// maxFile is how much of a file named by ${file:…} may be there, in bytes: keys and PEM
// blocks are far below it, a wrong path to a log file is far above.
const maxFile = 64 << 10

// A Lookup finds a variable by name; os.LookupEnv is one.
type Lookup func(name string) (value string, ok bool)

// An Error is a reference that could not be replaced. It names what was referred to and never
// what was found there.
type Error struct {
	Msg  string
	Next string
	Err  error // the cause, for a file that could not be read
}

// Error is the sentence without the hint.
func (e *Error) Error() string { return e.Msg }

// Hint is what to do about it.
func (e *Error) Hint() string { return e.Next }

// Unwrap is the cause, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// Expand replaces the references in text: ${NAME} by the variable, ${NAME:-x} by x where the
// variable is not set or empty, ${file:/path} by the file's content without one trailing line
// end; a relative path starts at folder. ${credential:NAME} is the file NAME of the folder that systemd
// gives a service (systemd.exec(5), CREDENTIALS_DIRECTORY), and ${command:NAME} what the command prints that the
// variable NUDGEWIRE_SECRET_COMMAND names. "$$" stands for one "$"; a "$" before anything else is itself.
//
// What it puts in is not looked at again. The error is an *Error about the first reference
// that could not be replaced, and text is then returned as it was.
func Expand(text string, look Lookup, folder string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(text, func(ref string) (value string) {
		inside, closed := strings.CutSuffix(ref[2:], "}")
		switch {
		case ref == "$$":
			return "$"
		case failed != nil:
		case !closed:
			failed = &Error{Msg: "${ has no closing }", Next: "write ${NAME}, or $${ for the characters themselves"}
		default:
			value, failed = resolve(inside, look, folder)
		}
		return value
	})
	if failed != nil {
		return text, failed
	}
	return out, nil
}

var (
	reference = regexp.MustCompile(`\$\$|\$\{[^}]*\}?`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9_]+([-./][A-Za-z0-9_]+)*$`) // never "..", and no option of a command
)

// refers reports whether text holds a reference.
func refers(text string) bool {
	return strings.Contains(strings.ReplaceAll(text, "$$", ""), "${")
}

// OfEnvironment reports whether a value, as it stands in the file, takes anything from the environment of the process or from
// the credentials that systemd gave it. Both are as they were when the process began: reading the file again changes neither.
// What ${file:…} and ${command:…} say is read anew.
func OfEnvironment(raw string) bool {
	for _, ref := range reference.FindAllString(raw, -1) {
		if ref != "$$" && !strings.HasPrefix(ref, "${file:") && !strings.HasPrefix(ref, "${command:") {
			return true
		}
	}
	return false
}

// resolve finds what stands for the inside of one ${…}.
func resolve(inside string, look Lookup, folder string) (string, error) {
	ref := "${" + inside + "}"
	if path, ok := strings.CutPrefix(inside, "file:"); ok {
		return fromFile(ref, folder, path)
	}
	if name, ok := strings.CutPrefix(inside, "credential:"); ok {
		return fromCredential(ref, name, look)
	}
	if name, ok := strings.CutPrefix(inside, "command:"); ok {
		return fromCommand(ref, name, look)
	}
	name, other, hasOther := strings.Cut(inside, ":-")
	if !variable.MatchString(name) {
		return "", &Error{
			Msg:  fmt.Sprintf("%s does not name a variable", ref),
			Next: "a name has letters, digits and _; write ${NAME}, ${NAME:-otherwise} or ${file:/path}",
		}
	}
	value, ok := find(look, name)
	switch {
	case value != "":
		return value, nil
	case hasOther:
		return other, nil
	case ok:
		return "", &Error{
			Msg:  fmt.Sprintf("the environment variable %s is empty", name),
			Next: fmt.Sprintf("give it a value, or write ${%s:-} if empty is meant", name),
		}
	default:
		return "", &Error{
			Msg:  fmt.Sprintf("the environment variable %s is not set", name),
			Next: fmt.Sprintf("set it for the daemon (export %s=…), or write ${%s:-otherwise} or ${file:/path}", name, name),
		}
	}
}

func find(look Lookup, name string) (string, bool) {
	if look == nil {
		return "", false
	}
	return look(name)
}

// credentials is the variable in which systemd names the folder of a service's credentials.
const credentials = "CREDENTIALS_DIRECTORY"

func fromCredential(ref, name string, look Lookup) (string, error) {
	if !plainName.MatchString(name) {
		return "", badName(ref, "credential")
	}
	folder, _ := find(look, credentials)
	if folder == "" {
		return "", &Error{
			Msg:  fmt.Sprintf("%s: this process was given no credentials (%s is not set)", ref, credentials),
			Next: fmt.Sprintf("let systemd start the daemon with LoadCredential=%s:/path/to/it, or write ${NAME} or ${file:/path}", name),
		}
	}
	return fromFile(ref, folder, name)
}

func badName(ref, kind string) error {
	return &Error{
		Msg:  fmt.Sprintf("%s does not name a %s", ref, kind),
		Next: "a name has letters, digits, and _ - . / between them; write ${" + kind + ":NAME}",
	}
}

func fromFile(ref, folder, path string) (string, error) {
	fail := func(msg, hint string, err error) (string, error) {
		return "", &Error{Msg: fmt.Sprintf("%s: %s", ref, msg), Next: hint, Err: err}
	}
	if path == "" {
		return fail("names no file", "write ${file:/path/to/it}", nil)
	}
	given := path
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	ctx, done := regular.Bounded()
	defer done()
	content, err := regular.Read(ctx, path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("there is no such file", missingHint(given, path), err)
	case errors.Is(err, fs.ErrPermission):
		return fail("may not be read by this user", "let the daemon's user read it", err)
	case errors.Is(err, regular.ErrFolder):
		return fail("is a directory", "name the file in it", nil)
	case errors.Is(err, regular.ErrNoFile):
		return fail("is no regular file, but a pipe, a device or something of the system's", "write the value into a file and name that", nil)
	case errors.Is(err, regular.ErrTooLarge):
		return fail("is larger than 64 KiB", "a secret is short; check the path", nil)
	case errors.Is(err, regular.ErrHangs):
		return fail("cannot be read: "+regular.ErrHangs.Error(), "see whether the disk or share that holds it answers", err)
	case err != nil:
		return fail("cannot be read", "check the file", err)
	}
	value := withoutLineEnd(content)
	if value == "" {
		return fail("is empty", "put the value into it", nil)
	}
	return value, nil
}

// withoutLineEnd is what a file or a command says, without the one line end that editors and echo put there.
func withoutLineEnd(content []byte) string {
	return string(bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r")))
}

// missingHint says where a relative path led.
func missingHint(given, path string) string {
	if given == path {
		return "create it, or correct the path"
	}
	return fmt.Sprintf("a relative path starts at the config's folder: create %s, or correct the path", path)
}
