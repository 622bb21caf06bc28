package browser

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/test/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// buttonOf finds the name of the action that a template has a button for.
var buttonOf = regexp.MustCompile(`\.Act "([^"]+)"`)

// A report is what the walk found.
type report struct {
	Looks, Actions int // pages that were looked at, each theme and width for itself; actions that were done
	Wrong          []string
}

// The console is walked by a real browser: every page in light and dark, at the width of a desktop and of a phone, and without
// scripts; then every action. SCREENSHOTS=FOLDER also writes a picture of each page,
// IMAGES=FOLDER beside it those that documents show,
// WALK=NAME walks only what is called so.
func TestTheConsoleInABrowser(t *testing.T) {
	chromium, node := needs(t)
	s := openShop(t)
	s.links()
	s.Facts.Setup = setup(t)
	told, err := json.Marshal(struct {
		facts
		Chromium    string            `json:"chromium"`
		Env         map[string]string `json:"env"` // of the browser, beside our own
		Screenshots string            `json:"screenshots"`
		Images      string            `json:"images"` // the folder of those that documents show, "" to leave them
		Only        string            `json:"only"`   // what the names of pages and actions match; "" for all
		Orders      []string          `json:"orders"` // what buttons of pages ask for, all of them
	}{s.Facts, chromium, environment(t, chromium), pictures(t), os.Getenv("IMAGES"), os.Getenv("WALK"), orders(t)})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "walk.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(told), &strings.Builder{}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the walk did not end well: %v\n%s", err, cmd.Stderr)
	}
	var found report
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("read the report: %v\n%s", err, out)
	}
	for _, w := range found.Wrong {
		t.Error(w)
	}
	t.Logf("looked at %d pages, did %d actions", found.Looks, found.Actions)
	if found.Looks+found.Actions == 0 {
		t.Error("nothing was looked at")
	}
}

// needs are the programs of the walk. Where one is missing it says what to do; CI fails then.
func needs(t *testing.T) (chromium, node string) {
	t.Helper()
	chromium, err := testserver.Program("chromium-headless-shell", "chromium", "google-chrome")
	if errors.Is(err, testserver.ErrMissing) {
		t.Skip("no browser: \"make setup\" brings Debian's chromium; elsewhere install chromium")
	} else if err != nil {
		t.Fatal(err)
	}
	if node, err = exec.LookPath("node"); err != nil {
		t.Skip("no node: install Node 20 or later with npm, then \"make setup\"")
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		t.Skip("playwright-core is not here: \"make setup\" brings it, where there are Node 20 and npm")
	}
	// What Debian puts on the path is a script that names where it was installed; what was unpacked lies beside it.
	if program := filepath.Join(filepath.Dir(chromium), "..", "lib", "chromium", filepath.Base(chromium)); executable(program) {
		chromium = program
	}
	return chromium, node
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// environment is what a browser needs that was unpacked: the libraries and the letters beside it.
func environment(t *testing.T, chromium string) map[string]string {
	t.Helper()
	usr := filepath.Dir(filepath.Dir(filepath.Dir(chromium)))
	if usr == "/usr" {
		return nil
	}
	fonts := filepath.Join(usr, "share", "fonts") // not there where the machine has letters of its own
	folder := t.TempDir()
	conf := filepath.Join(folder, "fonts.conf")
	if err := os.WriteFile(conf, []byte(`<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>`+fonts+
		`</dir><dir>/usr/share/fonts</dir><cachedir>`+folder+`</cachedir></fontconfig>`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"FONTCONFIG_FILE": conf}
	for _, v := range testserver.Libraries() {
		if name, value, _ := strings.Cut(v, "="); name == "LD_LIBRARY_PATH" {
			out[name] = value
		}
	}
	return out
}

// orders are the actions that templates have buttons for, by name.
func orders(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../../internal/console/templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range buttonOf.FindAllSubmatch(text, -1) {
			out = append(out, string(found[1]))
		}
	}
	if slices.Sort(out); len(out) == 0 {
		t.Fatal("no template has a button")
	}
	return slices.Compact(out)
}

// pictures is the folder that screenshots are asked for in, "" for none.
func pictures(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return ""
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
