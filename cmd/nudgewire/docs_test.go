package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/config"
)

// The pages that people read: the README and everything below docs/.
func docPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"../../README.md", "../../CHANGELOG.md", "../../SECURITY.md", "../../CONTRIBUTING.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// A docBlock is what stands between two fences, or behind four spaces, on a page.
type docBlock struct {
	line   int    // of its first line, from 1
	kind   string // behind the fence: yaml, json, text; "indented" for four spaces
	text   string
	closed bool
}

// docBlocks reads the blocks of a page.
func docBlocks(page string) []docBlock {
	var blocks []docBlock
	var now *docBlock
	empty := true // the line before: an indented block begins behind an empty line
	for i, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		indented, isIndented := strings.CutPrefix(line, "    ")
		switch {
		case now != nil && now.kind != "indented" && isFence:
			now.closed = true
			now = nil
		case now != nil && now.kind != "indented":
			now.text += line + "\n"
		case isFence:
			blocks = append(blocks, docBlock{line: i + 2, kind: fence})
			now = &blocks[len(blocks)-1]
		case now != nil && isIndented:
			now.text += indented + "\n"
		case now != nil && line == "":
			now.text += "\n"
		case isIndented && empty:
			blocks = append(blocks, docBlock{line: i + 1, kind: "indented", text: indented + "\n", closed: true})
			now = &blocks[len(blocks)-1]
		default:
			now = nil
		}
		empty = line == ""
	}
	return blocks
}

// aSection begins a block of config in its first line that is no comment.
var aSection = regexp.MustCompile(`^(#.*\n)*(include|api|accounts|defaults|connectors|triggers|templates|test_numbers|jobs|errors|limits|tracking|retention|metrics|tracing|backup|storage|server|console|alerts|mail|webhooks_out):`)

// What the blocks of pages leave out, because the page is about something else.
const (
	restOfConfig = `
api: {base_url: https://api.example.com/api/v1, key: "${KEY}"}
accounts: {brand-b: {key: "${KEY}"}}
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SECRET}"}
  shop-b: {preset: shopify, secret: "${SECRET}"}
  braze: {secret: "${SECRET}"}
  mailchimp: {secret: "${SECRET}"}
`
	restOfTrigger = `{on: shopify.cart.updated, send: {template: reminder}}`
	restOfJob     = `{cron: "0 10 * * MON", source: {csv: list.csv}, columns: {phone: phone}, campaign: {name: News, template_id: 1}}`
)

// Every block of YAML on a page is config that "check" has nothing against, once what the page leaves out is
// beside it.
func TestConfigOnPagesIsGood(t *testing.T) {
	blocks := 0
	for _, page := range docPages(t) {
		text := string(mustRead(t, page))
		for _, b := range docBlocks(text) {
			place := fmt.Sprintf("%s:%d", strings.TrimPrefix(page, "../../"), b.line)
			switch {
			case !b.closed:
				t.Errorf("%s: this block does not end", place)
			case b.kind != "yaml" && aSection.MatchString(b.text):
				t.Errorf("%s: this is config and is not checked: put it between ```yaml and ```", place)
			case b.kind != "yaml":
			case strings.HasPrefix(b.text, "- test:"):
				t.Run(place, func(t *testing.T) { playBlock(t, place, b.text) })
			case !aSection.MatchString(b.text):
				t.Errorf("%s: this block does not begin with a section of the config, such as triggers:", place)
			default:
				blocks++
				checkBlock(t, place, b.text)
			}
		}
	}
	if blocks < 60 {
		t.Errorf("only %d blocks of YAML were found: does this test still read the pages?", blocks)
	}
}

// playBlock plays tests of rules on a page by the config that init writes.
func playBlock(t *testing.T, place, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	said(t, "init")
	if err := os.WriteFile("page.yaml", []byte(strings.ReplaceAll(text, "\n  start:", "\n  mode: live\n  start:")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, words bytes.Buffer
	if code := execute(t.Context(), terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &words}, []string{"test", "page.yaml"}); code != 0 {
		t.Errorf("%s: %s%s", place, out.String(), words.String())
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func checkBlock(t *testing.T, place, block string) {
	t.Helper()
	whole := mapping(t, place, block)
	delete(whole, "include") // the files are blocks of their own
	fill(whole, mapping(t, place, restOfConfig))
	for section, rest := range map[string]string{"triggers": restOfTrigger, "jobs": restOfJob} {
		entries, _ := whole[section].(map[string]any)
		for _, e := range entries {
			entry, ok := e.(map[string]any)
			if !ok {
				continue
			}
			with := mapping(t, place, rest)
			if entry["steps"] != nil || entry["send"] != nil {
				delete(with, "send")
				delete(with, "campaign")
			}
			if entry["source"] != nil {
				delete(with, "source")
			}
			fill(entry, with)
		}
	}
	text, err := yaml.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"tls", "loyalty-ca"} {
		writePair(t, folder, name)
	}
	text = bytes.ReplaceAll(text, []byte("/etc/nudgewire/"), []byte(folder+"/"))
	file := filepath.Join(folder, "config.yaml")
	for name, text := range map[string]string{"config.yaml": string(text), "holidays.txt": "12-25\n", "list.csv": "phone\n447700900123\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, problems := config.LoadWithoutSecrets(file, func(string) (string, bool) { return "", false })
	for _, p := range problems {
		if !p.Warning {
			t.Errorf("%s: %s: %s", place, p.Path, p.Msg)
		}
	}
}

func mapping(t *testing.T, place, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Errorf("%s: %v", place, err)
		return map[string]any{}
	}
	return m
}

// fill gives a mapping what only the other one has, key by key.
func fill(m, rest map[string]any) {
	for key, value := range maps.All(rest) {
		have, isMap := m[key].(map[string]any)
		more, moreIsMap := value.(map[string]any)
		switch {
		case m[key] == nil:
			m[key] = value
		case isMap && moreIsMap:
			fill(have, more)
		}
	}
}

// aCommand is a line of a block that runs the program.
var aCommand = regexp.MustCompile(`^(?:\$ )?(?:sudo )?nudgewire (.*)$`)

// inProse is one that stands in a sentence, in backticks.
var inProse = regexp.MustCompile("`nudgewire ([^`]+)`")

// Every command that a page shows is one that the program has, with these flags and so many arguments.
func TestCommandsOnPagesExist(t *testing.T) {
	commands := 0
	for _, page := range docPages(t) {
		if strings.HasSuffix(page, "CHANGELOG.md") {
			continue // tells what was, too
		}
		text, name := string(mustRead(t, page)), strings.TrimPrefix(page, "../../")
		for _, b := range docBlocks(text) {
			if b.kind == "yaml" || b.kind == "json" {
				continue
			}
			for _, line := range strings.Split(b.text, "\n") {
				if m := aCommand.FindStringSubmatch(line); m != nil {
					commands++
					if err := parseCommand(m[1], false); err != nil {
						t.Errorf("%s: nudgewire %s: %v", name, m[1], err)
					}
				}
			}
		}
		for _, m := range inProse.FindAllStringSubmatch(text, -1) {
			commands++
			if err := parseCommand(m[1], true); err != nil {
				t.Errorf("%s: nudgewire %s: %v", name, m[1], err)
			}
		}
	}
	if commands < 30 {
		t.Errorf("only %d commands were found: does this test still read the pages?", commands)
	}
}

// shellWords are the words of a command line as a shell cuts it, without what a page says behind a #.
var shellWords = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s]+`)

func parseCommand(line string, inSentence bool) error {
	var args []string
	for _, w := range shellWords.FindAllString(line, -1) {
		if strings.HasPrefix(w, "#") || strings.ContainsAny(w[:1], "|>&;") {
			break
		}
		args = append(args, strings.Trim(w, `"'`))
	}
	cmd, rest, err := newRoot(&terminal.CLI{}).Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if cmd.HasSubCommands() || len(rest) == 0 && inSentence {
		return nil // a group prints its help; a sentence may only name a command
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

var (
	aLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// what is named as a file of the repository, in backticks
	aFile = regexp.MustCompile("`((?:docs|examples|deploy|apiclient|cmd|connectors|internal|scheduler|test|tools)/[\\w./-]+\\.\\w+)`")
	aHead = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notID = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// aMention is a page that is named and is no link: bare, or any page in back-quotes.
var aMention = regexp.MustCompile("(?:^|[^\\w/\\[(`])(docs/[\\w/-]+\\.md)(?:[^\\w\\])`]|$)|(?:^|[^\\[])`([\\w./-]+\\.md)`")

// Where a page names another one, it is a link.
func TestPagesThatAreNamedAreLinks(t *testing.T) {
	for _, page := range docPages(t) {
		text := string(mustRead(t, page))
		if strings.Contains(text, "Made by \"make generate\"") {
			continue // what a preset says stands on a terminal, too
		}
		for _, m := range aMention.FindAllStringSubmatch(text, -1) {
			t.Errorf("%s: it names %s without a link", strings.TrimPrefix(page, "../../"), m[1]+m[2])
		}
	}
}

// A glossary is read by looking up: its words stand in the order of the alphabet, each once.
func TestTheGlossaryIsSorted(t *testing.T) {
	last, plain := "", strings.NewReplacer("-", "", "_", " ")
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(string(mustRead(t, "../../docs/glossary.md")), -1) {
		word := plain.Replace(strings.ToLower(m[1]))
		if m[1] == "Word" {
			continue
		}
		if word <= last {
			t.Errorf("%q stands behind %q", m[1], last)
		}
		last = word
	}
	if last == "" {
		t.Error("no word was found: does this test still read the page?")
	}
}

// The README is read in some minutes: what it is, for whom, what they need, and where everything else is.
func TestTheREADMEIsShort(t *testing.T) {
	const most = 1300
	if n := len(regexp.MustCompile(`\w+`).FindAllString(string(mustRead(t, "../../README.md")), -1)); n > most {
		t.Errorf("it has %d words; the most is %d", n, most)
	}
}

// Who upgrades reads the changelog whole.
func TestTheChangelogHasTwentyLines(t *testing.T) {
	lines := strings.FieldsFunc(string(mustRead(t, "../../CHANGELOG.md")), func(r rune) bool { return r == '\n' })
	if len(lines) > 20 {
		t.Errorf("it has %d lines, blank ones not counted, and says itself that it has twenty", len(lines))
	}
}

// references are looked up and not read through: a page below docs/ that may be long, and begins with an index.
var references = []string{
	"alert-names.md", "api.md", "config.md", "connectors/own.md", "expressions.md", "glossary.md", "lists.md", "scale.md",
}

// A guide is read by somebody who has a task: at most 1,500 words, as wc -w counts them.
func TestGuidesAreShortAndReferencesHaveAnIndex(t *testing.T) {
	const most = 1500
	guides := 0
	for _, page := range docPages(t) {
		name, below := strings.CutPrefix(page, "../../docs/")
		if !below || strings.HasPrefix(name, "decisions/") || strings.HasPrefix(name, "internals/") {
			continue // of these the readers change the code
		}
		text := string(mustRead(t, page))
		switch n := len(strings.Fields(text)); {
		case slices.Contains(references, name):
			first, _, _ := strings.Cut(text, "\n## ")
			for _, m := range regexp.MustCompile(`(?m)^## +(.*)$`).FindAllStringSubmatch(text, -1) {
				if !strings.Contains(first, "](#"+headingID(m[1])+")") {
					t.Errorf("%s: the index at its beginning has no link to %q", name, m[1])
				}
			}
		case n > most:
			t.Errorf("%s has %d words; the most of a guide is %d", name, n, most)
		default:
			guides++
		}
	}
	if guides < 20 {
		t.Errorf("only %d guides were found: does this test still read the pages?", guides)
	}
}

// Links of pages lead to files, and to headings that are there; files that a page names are there, too.
func TestLinksOfPages(t *testing.T) {
	for _, page := range docPages(t) {
		text := string(mustRead(t, page))
		name := strings.TrimPrefix(page, "../../")
		for _, m := range aLink.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, m[1])
				continue
			}
			if anchor != "" && !hasHeading(string(mustRead(t, to)), anchor) {
				t.Errorf("%s: the link to %s: there is no such heading", name, m[1])
			}
		}
		if strings.Contains(page, "decisions") || strings.HasSuffix(page, "CHANGELOG.md") {
			continue // they tell what was, too
		}
		for _, m := range aFile.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
				t.Errorf("%s: it names %s, which is not there", name, m[1])
			}
		}
	}
}

// Each threat of SECURITY.md names tests that there are.
func TestThreatsNameTheirTests(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, "_test.go") {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(mustRead(t, path)), -1) {
				tests[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	threats := 0
	_, table, _ := strings.Cut(string(mustRead(t, "../../SECURITY.md")), "| Threat |")
	for row := range strings.SplitSeq(table, "\n") {
		if !strings.HasPrefix(row, "| ") {
			continue
		}
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(row, -1)
		threats++
		if len(named) == 0 {
			t.Errorf("no test holds: %s", row)
		}
		for _, m := range named {
			if !tests[m[1]] {
				t.Errorf("there is no %s: %s", m[1], row)
			}
		}
	}
	if threats < 10 {
		t.Errorf("only %d threats were found: does this test still read the page?", threats)
	}
}

func hasHeading(page, anchor string) bool {
	for _, m := range aHead.FindAllStringSubmatch(page, -1) {
		if headingID(m[1]) == anchor {
			return true
		}
	}
	return false
}

// headingID is what a link calls a heading.
func headingID(heading string) string {
	return strings.ReplaceAll(notID.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// A cart's reminder that people begin with ends by an order of this cart and by any order of the same person.
func TestRecipesEndACartByItsPersonToo(t *testing.T) {
	texts := map[string]string{}
	add := func(place, text string) {
		if strings.Contains(text, "triggers:") {
			texts[place] = text
		}
	}
	for _, page := range docPages(t) {
		for _, b := range docBlocks(string(mustRead(t, page))) {
			if b.kind == "yaml" && !strings.Contains(page, "/decisions/") {
				add(fmt.Sprintf("%s:%d", strings.TrimPrefix(page, "../../"), b.line), b.text)
			}
		}
	}
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../../internal/config/starter.yaml", "../../config.yaml", "internal/demo/demo.yaml") {
		add(file, string(mustRead(t, file)))
	}
	carts := 0
	for place, text := range texts {
		all, _ := mapping(t, place, text)["triggers"].(map[string]any)
		for name, one := range all {
			rule, _ := one.(map[string]any)
			ends := fmt.Sprint(rule["cancel_on"])
			if !strings.Contains(fmt.Sprint(rule["on"]), ".cart.") || !strings.Contains(ends, ".order.") && !strings.Contains(ends, ".cart.converted") {
				continue
			}
			if carts++; rule["stop_on"] == nil {
				t.Errorf("%s: %s ends by cancel_on alone: who buys another cart is reminded all the same; add stop_on", place, name)
			}
		}
	}
	if carts < 10 {
		t.Errorf("only %d reminders of carts were found", carts)
	}
}
