package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// makers are the functions that may make a Phone of a text: the one that knows which spelling stands for a number, the
// copy of a Phone, and the one by which the store reads what it wrote.
var makers = map[string]string{
	"internal/messaging/contact.go": "PhoneOf Clone",
	"internal/store/engine/row.go":  "Phone",
}

// silent may make a Message or a Contact of a Phone and not say how it is spelled: nothing is sent by it, or the next line says it.
var silent = map[string]string{
	"internal/store/stored/messages.go": "ScanMessage ScanFollowed",
	"internal/sandbox/status.go":        "message",   // of the sandbox itself
	"internal/store/read_events.go":     "ScanEvent", // what it was spelled like is among the facts
	"internal/duerules/maygo.go":        "MayGo",
	"internal/server/admin.go":          "canLeave shadows", // it is only asked about, or shown
}

// A Phone made of a text in another way could be another spelling of somebody who is known already: a block, a limit or a
// forgetting would pass by. So nobody converts.
func TestPhonesAreMadeInOneWay(t *testing.T) {
	const root = "../.."
	found, lost := 0, 0
	err := filepath.WalkDir(root, func(path string, one fs.DirEntry, err error) error {
		if err != nil || one.IsDir() && (one.Name() == "testdata" || strings.HasPrefix(one.Name(), ".") && path != root) {
			return skip(err)
		}
		if one.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		slashed := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			where := nameOf(d)
			may := func(list string) bool { return strings.Contains(" "+list+" ", " "+where+" ") }
			n := conversions(d)
			if found += n; n > 0 && !may(makers[slashed]) {
				t.Errorf("%s: %s makes a Phone of a text; messaging.PhoneOf knows which spelling stands for it", path, where)
			}
			n = unspelled(d)
			if lost += n; n > 0 && !may(silent[slashed]) {
				t.Errorf("%s: %s makes a Message or a Contact with a Phone and without SentAs: it would go to another spelling than the shop's", path, where)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 || lost == 0 {
		t.Error("not even what is allowed was seen")
	}
}

func skip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

func nameOf(d ast.Decl) string {
	if f, ok := d.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	return "a declaration"
}

// conversions counts the texts in a declaration that are made a Phone.
func conversions(d ast.Decl) (n int) {
	ast.Inspect(d, func(at ast.Node) bool {
		if call, ok := at.(*ast.CallExpr); ok && isPhone(call.Fun) && len(call.Args) == 1 {
			n++
		}
		return true
	})
	return n
}

// unspelled counts the literals in a declaration that name a Phone and not how it is spelled.
func unspelled(d ast.Decl) (n int) {
	ast.Inspect(d, func(at ast.Node) bool {
		literal, ok := at.(*ast.CompositeLit)
		if !ok || !isOurs(literal.Type, "Message") && !isOurs(literal.Type, "Contact") {
			return true
		}
		says := map[string]bool{}
		for _, e := range literal.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok {
					says[key.Name] = true
				}
			}
		}
		if says["Phone"] && !says["SentAs"] {
			n++
		}
		return true
	})
	return n
}

// isPhone reports whether an expression is the type Phone.
func isPhone(e ast.Expr) bool {
	if inner, ok := e.(*ast.ParenExpr); ok {
		return isPhone(inner.X)
	}
	return isOurs(e, "Phone")
}

// isOurs reports whether an expression is a type of package messaging by that name. A field or a function of that name is none.
func isOurs(e ast.Expr, name string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == name
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		return ok && of.Name == "messaging" && e.Sel.Name == name
	default:
		return false
	}
}

func TestTheTestOfPhonesSees(t *testing.T) {
	for text, want := range map[string][2]int{
		"messaging.Phone(row[0])": {1, 0}, "f(messaging.Phone(a), messaging.Phone(b))": {2, 0}, "(messaging.Phone)(a)": {1, 0},
		"string(p)": {}, "x.Phone(a)": {}, "messaging.PhoneOf(a)": {},
		"messaging.Message{Phone: p}": {0, 1}, "f(messaging.Contact{ID: a, Phone: p})": {0, 1},
		"messaging.Message{Phone: p, SentAs: s}": {}, "messaging.Message{}": {}, "other.Contact{Phone: p}": {},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar _ = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]int{conversions(file.Decls[0]), unspelled(file.Decls[0])}; got != want {
			t.Errorf("%s: %d conversions and %d without a spelling, want %v", text, got[0], got[1], want)
		}
	}
}

func TestAMessageGoesToItsOwnPhoneAlone(t *testing.T) {
	for name, tt := range map[string]struct{ phone, sentAs, want string }{
		"one spelling":            {"447700900123", "", "447700900123"},
		"the shop's":              {"525512345678", "5215512345678", "5215512345678"},
		"the phone's own":         {"525512345678", "525512345678", "525512345678"},
		"somebody else's":         {"525512345678", "5215512345679", "525512345678"},
		"of another country":      {"525512345678", "447700900123", "525512345678"},
		"no phone, and a remnant": {"", "5215512345678", ""},
		"masked, and a remnant":   {"5255******78", "5215512345678", "5255******78"},
	} {
		t.Run(name, func(t *testing.T) {
			d := messaging.Message{SentAs: tt.sentAs}
			if d.Phone, _ = messaging.PhoneOf(tt.phone); d.To() != tt.want {
				t.Errorf("goes to %q, want %q", d.To(), tt.want)
			}
		})
	}
}
