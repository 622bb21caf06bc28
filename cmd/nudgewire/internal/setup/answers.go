package setup

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Answers are what the pages asked, and what the config is made of.
type answers struct {
	BaseURL, Key            string // of the messaging service
	Pretended               bool   // the service is a pretended one of this machine
	Country, Zone, Language string

	Sender string            // name of a preset
	Values map[string]string // of the connector, by variable
	Public string            // address that the internet knows, "" for none yet

	Rules string // the section triggers
	Mine  string // a phone of whoever sets it up, "" for none

	Hooks, Console string // addresses to listen on
}

// keyVariable is the variable of the service's key.
const keyVariable = "MESSAGING_API_KEY"

// secretsFolder lies beside the config and has a file for each secret.
const secretsFolder = "secrets"

// A question is a value that a connector needs from its owner.
type question struct {
	Variable string // "" for the account's address at the sender
	Is       string // what it is, in words
	Optional bool
	Own      bool // a word of one's own: left empty, one is made
}

var (
	variableOf = regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`)
	// ownWord is how a preset says that nobody but the owner chooses a value; see connectors.Need.
	ownWord = regexp.MustCompile(`\bof your own\b`)
)

// accountAddress is in a connector's entry where the address of an account at the sender belongs.
const accountAddress = "https://YOUR-ACCOUNT.example.com"

// addressVariable stands for it among the values. It is no name of a variable.
const addressVariable = "address"

// questionsOf are what an entry of config.yaml asks of its owner.
func questionsOf(info *connectors.Info) (out []question) {
	for line := range strings.Lines(info.Entry()) {
		left, is, _ := strings.Cut(line, "   # ")
		q := question{Is: strings.TrimSpace(is), Optional: strings.HasPrefix(strings.TrimSpace(left), "#"), Own: ownWord.MatchString(is)}
		if strings.Contains(left, accountAddress) {
			q.Variable = addressVariable
			out = append(out, q)
		}
		for _, m := range variableOf.FindAllStringSubmatch(left, -1) {
			q.Variable = m[1]
			out = append(out, q)
		}
	}
	return out
}

// fillOwn makes the words that nobody but the owner chooses, where they were left empty.
func (a *answers) fillOwn(all []question) {
	for _, q := range all {
		if q.Own && a.Values[q.Variable] == "" {
			a.Values[q.Variable] = rand.Text()
		}
	}
}

// info is what there is to say of the sender; false before one was chosen.
func (a *answers) info() (connectors.Info, bool) { return connectors.PresetInfo(a.Sender) }

// entry is the connector's part of the config. Lines that may be left out, and were, are left out.
func (a *answers) entry() string {
	info, ok := a.info()
	if !ok {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(info.Entry()) {
		body := strings.TrimSpace(line)
		if strings.HasPrefix(body, "#") {
			if m := variableOf.FindStringSubmatch(body); m == nil || a.Values[m[1]] == "" {
				continue
			}
			line = "    " + strings.TrimSpace(strings.TrimPrefix(body, "#")) + "\n"
		}
		b.WriteString(strings.ReplaceAll(line, accountAddress, quoted(a.Values[addressVariable])))
	}
	if text := b.String(); strings.Count(text, "\n") > 2 {
		return text
	}
	return "connectors:\n  " + info.Name + ": {}\n"
}

// text is the config. Of secrets it has what ref makes of the names of their variables.
func (a *answers) text(ref func(variable string) string) string {
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=./config.schema.json\n#\n# \"nudgewire setup\" began this config. Its secrets are the files in " + secretsFolder +
		"/.\n# It is yours now: docs/config.md says what else it can hold, \"nudgewire check\" whether it is right.\n\napi:\n")
	if a.Pretended {
		b.WriteString("  base_url: " + quoted(a.BaseURL) + "   # the pretended service: nudgewire sandbox; later your account's base address\n")
	} else {
		b.WriteString("  base_url: " + quoted(a.BaseURL) + "\n")
	}
	b.WriteString("  key: ${" + keyVariable + "}\n\n")
	b.WriteString("defaults:\n  country: " + quoted(a.Country) + "             # for phone numbers without a country code\n")
	b.WriteString("  timezone: " + quoted(a.Zone) + "\n  language: " + quoted(a.Language) + "\n")
	b.WriteString("  quiet_hours: 21:00-09:00  # on the contact's own clock: what falls due at night is sent in the morning\n")
	b.WriteString("  limit: [1 per day, 3 per 7d]\n")
	b.WriteString("  mode: shadow              # decides and sends nothing; take it out when \"nudgewire why\" reads right\n")
	if entry := a.entry(); entry != "" {
		b.WriteString("\n" + entry)
	}
	if a.Rules != "" {
		b.WriteString("\n" + strings.TrimRight(a.Rules, "\n") + "\n")
	}
	b.WriteString("\nserver:\n  listen: " + quoted(a.Hooks) + "\n")
	if a.Public != "" {
		b.WriteString("  public_url: " + quoted(a.Public) + "\n")
	}
	b.WriteString("console:\n  listen: " + quoted(a.Console) + "\n")
	if a.Mine != "" {
		b.WriteString("\ntest_numbers:\n  me: " + quoted(a.Mine) + "   # nudgewire send-test TRIGGER --to me\n")
	}
	all := a.secrets()
	return variableOf.ReplaceAllStringFunc(b.String(), func(mark string) string {
		name := mark[2 : len(mark)-1]
		if _, ours := all[name]; !ours {
			return mark // somebody wrote it into a rule
		}
		return ref(name)
	})
}

// keep leaves a variable of the config as it is.
func keep(name string) string { return "${" + name + "}" }

// fromFile has the config read a secret from its file.
func fromFile(name string) string { return "${file:" + secretsFolder + "/" + name + "}" }

// quoted is a value in YAML, whatever is in it.
func quoted(value string) string {
	plain := strings.ReplaceAll(value, "$", "$$")
	text, err := json.Marshal(plain)
	if err != nil {
		return `""` // a string always has JSON
	}
	return string(text)
}

// secrets are the values of all variables that the config names.
func (a *answers) secrets() map[string]string {
	all := map[string]string{keyVariable: a.Key}
	for name, value := range a.Values {
		if name != addressVariable && value != "" {
			all[name] = value
		}
	}
	return all
}

// check reads the config as the daemon will. What is asked later may be missing yet.
func (a *answers) check() (*config.Config, yamlpos.Problems) {
	all := a.secrets()
	return config.Parse(terminal.OwnConfig, []byte(a.text(keep)), func(name string) (string, bool) {
		value, ok := all[name]
		return value, ok
	})
}

// files are what is written, beside the config at path. The config is the last: whoever is killed before it has none that names secrets which
// are not there.
func (a *answers) files(path string) []terminal.NewFile {
	folder := filepath.Dir(path)
	out := []terminal.NewFile{{Path: filepath.Join(folder, "config.schema.json"), Text: config.Schema(), Mode: 0o644, Ours: true}}
	all := a.secrets()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, terminal.NewFile{Path: filepath.Join(folder, secretsFolder, name), Text: []byte(all[name]), Mode: 0o600})
	}
	return append(out, terminal.NewFile{Path: path, Mode: 0o600, Text: []byte(a.text(fromFile))})
}

// hookURL is what is pasted at the sender, with the token in it where it travels there; base is where the internet reaches the daemon.
func hookURL(info *connectors.Info, base, secret string) string {
	return strings.ReplaceAll(info.URL(base), connectors.TokenPlaceholder, url.QueryEscape(secret))
}
