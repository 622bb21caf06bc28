package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestASecretPrintsAsNothingButItsKind(t *testing.T) {
	s := New("hunter2")
	type holder struct {
		Key  Secret
		Keys []Secret
	}
	h := holder{s, []Secret{s}}
	encoded, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	all := string(encoded) + string(text) + s.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%t", "%5.2s"} {
		all += fmt.Sprintf(verb, s) + fmt.Sprintf(verb, h) + fmt.Sprintf(verb, &h)
	}
	for _, leak := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), "104 117", "68756e74"} {
		if strings.Contains(strings.ToLower(all), leak) {
			t.Errorf("%q leaks through %s", leak, all)
		}
	}
	if string(encoded) != `{"Key":"[secret]","Keys":["[secret]"]}` {
		t.Errorf("JSON is %s", encoded)
	}
	if s.Reveal() != "hunter2" || s.IsZero() || !s.Equal(New("hunter2")) || s.Equal(New("hunter3")) {
		t.Error("the secret itself is wrong")
	}
	if none := (Secret{}); none.String() != "" || !none.IsZero() {
		t.Error("no secret prints as one")
	}
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, crlf := file("key", "s3cret\n\n"), file("crlf", "s3cret\r\n")
	large, empty := file("large", strings.Repeat("x", maxFile+1)), file("empty", "\n")
	env := map[string]string{"A": "one", "B_2": "$$ ${A}", "EMPTY": "", "CREDENTIALS_DIRECTORY": dir}
	look := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	tests := map[string]struct{ text, want string }{
		"no reference":                       {"plain", "plain"},
		"a variable":                         {"${A}", "one"},
		"between other text":                 {"x-${A}-${A}", "x-one-one"},
		"what is put in is not looked at":    {"${B_2}", "$$ ${A}"},
		"otherwise, for one not set":         {"${NO:-two}", "two"},
		"otherwise, for an empty one":        {"${EMPTY:-two}", "two"},
		"otherwise, empty":                   {"${NO:-}", ""},
		"otherwise is not used when set":     {"${A:-two}", "one"},
		"a dollar before anything else":      {"$5 a$ $A $", "$5 a$ $A $"},
		"two dollars are one":                {"$$5 $${A}", "$5 ${A}"},
		"a file without one line end":        {"${file:" + key + "}", "s3cret\n"},
		"a file with the line end of DOS":    {"${file:" + crlf + "}", "s3cret"},
		"a credential":                       {"${credential:crlf}", "s3cret"},
		"a credential that is not there":     {"${credential:none}", "${credential:none}: there is no such file; a relative path starts at the config's folder: create " + filepath.Join(dir, "none") + ", or correct the path"},
		"a credential outside its folder":    {"${credential:../key}", "${credential:../key} does not name a credential; a name has letters, digits, and _ - . / between them; write ${credential:NAME}"},
		"a command that nobody named":        {"${command:key}", "${command:key}: no command is named (NUDGEWIRE_SECRET_COMMAND is not set); set NUDGEWIRE_SECRET_COMMAND to a command that prints a secret when the secret's name is its last argument"},
		"a variable that is not set":         {"${NO}", "the environment variable NO is not set; set it for the daemon (export NO=…), or write ${NO:-otherwise} or ${file:/path}"},
		"a variable that is empty":           {"${EMPTY}", "the environment variable EMPTY is empty; give it a value, or write ${EMPTY:-} if empty is meant"},
		"a brace that is not closed":         {"a ${NO", "${ has no closing }; write ${NAME}, or $${ for the characters themselves"},
		"a name with a dash":                 {"${MY-KEY}", "${MY-KEY} does not name a variable; a name has letters, digits and _; write ${NAME}, ${NAME:-otherwise} or ${file:/path}"},
		"no name":                            {"${}", "${} does not name a variable; a name has letters, digits and _; write ${NAME}, ${NAME:-otherwise} or ${file:/path}"},
		"a file that does not exist":         {"${file:/no/such}", "${file:/no/such}: there is no such file; create it, or correct the path"},
		"a file without a name":              {"${file:}", "${file:}: names no file; write ${file:/path/to/it}"},
		"a directory":                        {"${file:" + dir + "}", "${file:" + dir + "}: is a directory; name the file in it"},
		"a file that is too large":           {"${file:" + large + "}", "${file:" + large + "}: is larger than 64 KiB; a secret is short; check the path"},
		"a file with nothing in it":          {"${file:" + empty + "}", "${file:" + empty + "}: is empty; put the value into it"},
		"the first that fails is told about": {"${A} ${NO} ${NOR}", "the environment variable NO is not set; set it for the daemon (export NO=…), or write ${NO:-otherwise} or ${file:/path}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Expand(tt.text, look, "")
			if err != nil {
				if got != tt.text {
					t.Errorf("with the error came %q", got)
				}
				if bad, ok := errors.AsType[*Error](err); ok {
					got = bad.Error() + "; " + bad.Hint()
				}
			}
			if got != tt.want {
				t.Errorf("Expand(%q) is %q, want %q", tt.text, got, tt.want)
			}
		})
	}
	if _, err := Expand("${A}", nil, ""); err == nil {
		t.Error("without an environment a variable was found")
	}
}

func TestASecretWrittenIntoTheFileIsAdvisedAgainst(t *testing.T) {
	for raw, want := range map[string]bool{
		"": false, "${A}": false, "Bearer ${A}": false, "hunter2": true, "$${A}": true, "pa$$word": true,
	} {
		msg, hint := Secret{}.CheckWritten(raw)
		if (msg != "") != want || (hint != "") != want {
			t.Errorf("CheckWritten(%q) is %q, %q", raw, msg, hint)
		}
	}
}

func TestTheCommandThatKnowsSecrets(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tells, fails, mute := script("tells", `echo "$1 of $2"`), script("fails", `printf 'sealed\033[2J\n' >&2; exit 3`), script("mute", "")
	large := script("large", "head -c 70000 /dev/zero")
	for name, tt := range map[string]struct{ command, text, want string }{
		"its words and the name":     {tells + " field", "a-${command:shop/key.1}", "a-field of shop/key.1"},
		"its words hold a token":     {fails + " --token=hunter2", "${command:key}", "${command:key}: " + fails + ": exit status 3: sealed [2J; call it in a shell with key as its last argument"},
		"it fails":                   {fails, "${command:key}", "${command:key}: " + fails + ": exit status 3: sealed [2J; call it in a shell with key as its last argument"},
		"it says nothing":            {mute, "${command:key}", "${command:key}: " + mute + ": prints nothing; call it in a shell with key as its last argument"},
		"it says too much":           {large, "${command:key}", "${command:key}: " + large + ": prints more than 64 KiB; a secret is short; check the command"},
		"it is not there":            {"no-such-command", "${command:key}", "${command:key}: no-such-command: there is no such command; correct NUDGEWIRE_SECRET_COMMAND"},
		"a name that is an option":   {tells, "${command:--help}", "${command:--help} does not name a command; a name has letters, digits, and _ - . / between them; write ${command:NAME}"},
		"a name with a shell's sign": {tells, "${command:a;b}", "${command:a;b} does not name a command; a name has letters, digits, and _ - . / between them; write ${command:NAME}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Expand(tt.text, func(string) (string, bool) { return tt.command, true }, "")
			if bad, ok := errors.AsType[*Error](err); ok {
				got = bad.Error() + "; " + bad.Hint()
			}
			if got != tt.want {
				t.Errorf("Expand(%q) is %.300q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// A secret is a regular file: what could wait, or has no end, is refused at once.
func TestASecretIsARegularFile(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := []string{"pipe", "/dev/zero", "/dev/null"}
	if runtime.GOOS == "linux" {
		refused = append(refused, "/proc/kmsg", "/proc/self/environ")
	}
	for _, name := range refused {
		_, err := Expand("${file:"+name+"}", nil, folder)
		if bad, ok := errors.AsType[*Error](err); !ok || bad.Next == "" || !strings.Contains(bad.Msg, "is no regular file") && !strings.Contains(bad.Msg, "may not be read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
