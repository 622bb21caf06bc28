package server_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A new field of an answer says what it is before anybody sees it.
func TestEveryFieldHasAKind(t *testing.T) {
	said := map[string]bool{}
	for _, one := range append(server.Routes(), server.Route{Path: "an error", Out: refusal.Error{}}) {
		for _, field := range mask.Kindless(reflect.TypeOf(one.Out)) {
			if !said[field] {
				t.Errorf("%s: %s: tag it kind:\"ours\", \"text\", \"phone\", \"email\" or \"carried\" (internal/mask/kinds.go)", one.Path, field)
			}
			said[field] = true
		}
	}
}

// What is ours stands whole in answers to who may see no phones, though its digits may look like one.
func TestWhatIsOursStandsWhole(t *testing.T) {
	const digits, note = "2026112715300012", "ring 07700,900,123 or ٠٧٧٠٠٩٠٠١٢٣"
	at := time.Date(2026, 11, 27, 15, 30, 0, 123456789, time.UTC)
	blind := access.WithWho(t.Context(), access.Who{Name: "boss", Scopes: []access.Scope{access.Manage, access.Read}, From: access.FromSocket})
	for name, v := range map[string]any{
		"a token":    signin.TokenView{ID: digits, Token: "nw_ab_" + digits, Name: "crm"},
		"a user":     signin.UserView{Name: "ann", SetupURL: "https://example.com/setup#" + digits},
		"a link":     signin.LinkView{URL: "https://example.com/in#" + digits},
		"the audit":  server.AuditView{ID: 12345678, At: at, Who: "ann (" + digits + ")", Subject: "/runs/12345678/approve", Hash: strings.Repeat(digits, 4)},
		"a decision": messaging.Decision{Config: digits, At: at, Trigger: "spring-" + digits, MessageID: 12345678, Reason: note},
		"a message":  server.MessageView{MessageStory: store.MessageStory{Message: messaging.Message{ID: 12345678, ServiceID: digits, Trigger: "news-" + digits, Phone: "447700900123", SentAs: "447700900123", CreatedAt: at, Error: note}}, Request: digits},
		"a part":     messaging.Part{SHA256: strings.Repeat(digits, 4), CampaignID: digits, Answer: note},
		"a run":      server.RunView{Run: messaging.Run{Slot: "2026-11-27T15:30", Config: digits, CampaignName: "news-" + digits, Reason: note}, Messages: map[string]int64{"read": 12345678}},
		"a backup":   server.BackupView{File: "nudgewire-" + digits + ".nwb", At: at},
		"a trouble":  messaging.Trouble{Subject: "run 12345678", Hint: "nudgewire jobs show 12345678", Words: note, Since: at},
		"a problem":  yamlpos.Problem{File: "list-" + digits + ".yaml", Hint: "write it with its country code: +447700900123", Msg: note},
	} {
		text, err := json.Marshal(server.Seen(blind, v))
		whole, err2 := json.Marshal(v)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		want := strings.NewReplacer(note, mask.Text(note), `"447700900123"`, `"4477******23"`).Replace(string(whole))
		if string(text) != want {
			t.Errorf("%s is shown as\n%s, want\n%s", name, text, want)
		}
	}
}

// What strangers wrote is masked where it is put into an error; the words around it, and the hint, are ours.
func TestErrorsMaskWhatTheyInsert(t *testing.T) {
	all, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	refusing := 0
	for _, name := range all {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		refuses := func(i *ast.ImportSpec) bool { return strings.HasSuffix(i.Path.Value, `/refusal"`) }
		if strings.HasSuffix(name, "_test.go") || !slices.ContainsFunc(file.Imports, refuses) {
			continue
		}
		refusing++
		ast.Inspect(file, func(n ast.Node) bool {
			one, is := n.(*ast.KeyValueExpr)
			if !is {
				return true
			}
			if key, is := one.Key.(*ast.Ident); !is || key.Name != "Words" && key.Name != "Hint" {
				return true
			}
			ast.Inspect(one.Value, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is {
					return true
				}
				switch made := fmt.Sprint(call.Fun); {
				case strings.HasPrefix(made, "&{mask "):
					return false
				case strings.HasSuffix(made, " Error}") && len(call.Args) == 0:
					t.Errorf("%s: the words of an error are inserted whole: mask.Text", set.Position(call.Pos()))
				}
				return true
			})
			return true
		})
	}
	if refusing < 30 {
		t.Errorf("only %d files refuse anything", refusing)
	}
}
