package suite

import (
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// dataPage is the page whose questions are asked here.
const dataPage = "../../docs/data.md"

// question is a heading of the page, its SQL, and the answer that the page shows.
var question = regexp.MustCompile("(?s)\n### (\\d+\\. [^\n]+)\n\n```sql\n(.*?)```\n\n```text\n(.*?)```")

// openData asks the questions of the page about open data, each by the SQL and with the answer of the page itself.
func (s suite) openData(t *testing.T) {
	page, err := regular.ReadSmall(dataPage)
	if err != nil {
		t.Fatal(err)
	}
	l := s.open(t)
	l.smallShop()
	db := l.rawSQL()
	asked := question.FindAllStringSubmatch(string(page), -1)
	if len(asked) != 10 {
		t.Errorf("the page asks %d questions", len(asked))
	}
	for _, q := range asked {
		t.Run(q[1], func(t *testing.T) { same(t, q[2], q[3], table(t, db, q[2])) })
	}
	t.Run("by the program of the database, beside a store that is open", func(t *testing.T) {
		program, args := l.program(t)
		for _, q := range asked {
			ask := exec.CommandContext(t.Context(), program, append(args, q[2])...)
			ask.Env = testserver.Libraries()
			said, err := ask.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", q[1], err, said)
			}
			same(t, q[1], q[3], regexp.MustCompile(" +\n").ReplaceAllString(string(said), "\n"))
		}
	})
	t.Run("nothing personal", func(t *testing.T) {
		for _, view := range []string{"v_messages", "v_events", "v_contacts", "v_runs", "v_rows"} {
			if !strings.Contains(string(page), "\n| `"+view+"` |") {
				t.Errorf("the page does not describe %s", view)
			}
			text := table(t, db, "select * from "+view)
			for _, secret := range []string{"447700900123", "447700900145", "Ana", "River", "ana@", "cart-7", `{"`, "as the test says", "by hand"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s shows %q:\n%s", view, secret, text)
				}
			}
			columns, _, _ := strings.Cut(text, "\n")
			for _, name := range strings.Split(columns, " | ") {
				if !regexp.MustCompile("\n\\| `" + view + "` \\|[^\n]*`" + name + "`").Match(page) {
					t.Errorf("the page does not name column %s of %s", name, view)
				}
			}
		}
	})
	t.Run("what events said of a contact", func(t *testing.T) {
		same(t, "contacts", "phone | email | language | orders | last_event_at\n4477******23 | a***@example.com | pt | 1 | 2026-03-03T12:05:00.000Z\n"+
			"4477******45 |  |  | 1 | 2026-03-03T12:04:00.000Z\n4915*******78 |  |  | 1 | 2026-03-03T12:06:00.000Z\n",
			table(t, db, "select phone, email, language, orders, last_event_at from v_contacts order by phone"))
	})
	t.Run("phones are masked as the product masks them", func(t *testing.T) {
		l := s.open(t)
		db := l.rawSQL()
		want := map[string]bool{}
		for _, p := range []messaging.Phone{"44770", "44770090", "447700901", "4477009001", "447700900123", "123456789012345"} {
			l.enqueue(string(p), phone(p))
			want[p.Masked()] = true
		}
		for _, got := range strings.Split(strings.TrimSpace(table(t, db, "select phone from v_messages")), "\n")[1:] {
			if !want[got] {
				t.Errorf("a view shows %q, and the product %v", got, want)
			}
		}
	})
}

// smallShop is two days of a shop: messages of each state, events that came to nothing, consents and a campaign.
func (l *ledger) smallShop() {
	thanks := func(p *messaging.Plan) {
		w := &p.Proposals[0]
		p.Event.Kind, p.Event.Order.ID = "order.created", p.Event.DedupeKey
		w.Decision.Trigger, w.Correlation.Trigger, w.Message.Trigger = "thanks", "thanks", "thanks"
		w.Message.Category, w.Message.Send.Template, w.Message.DueAt = messaging.Utility, "order_update", p.Event.ReceivedAt
	}
	at := func(when time.Time) change {
		return func(p *messaging.Plan) {
			p.Event.ReceivedAt, p.Event.OccurredAt = when, when
			p.Proposals[0].Decision.At, p.Proposals[0].EventAt, p.Proposals[0].Message.DueAt = when, when, when.Add(time.Hour)
			l.at(when)
		}
	}
	poll := func(id messaging.MessageID, status messaging.Status, class messaging.ErrorClass, when time.Time) {
		l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: id, Status: status, Class: class, At: when, NextPollAt: when.Add(time.Hour)}))
	}
	const ana, ben, cyd = messaging.Phone("447700900123"), messaging.Phone("447700900145"), messaging.Phone("4915112345678")
	noonNext := noon.Add(24 * time.Hour)

	named := func(p *messaging.Plan) {
		p.Event.Contact.Name, p.Event.Contact.Email, p.Event.Contact.Language = "Ana River", "ana@example.com", "pt"
	}
	a := l.mustFinish(l.claimedAt(noon.Add(time.Hour), "cart-7", at(noon), phone(ana), named), messaging.StateAccepted)
	poll(a.MessageID, messaging.StatusDelivered, "", a.At.Add(5*time.Second))
	b := l.mustFinish(l.claimedAt(noon.Add(2*time.Hour), "1001", at(noon.Add(2*time.Hour)), phone(ben), thanks), messaging.StateAccepted)
	poll(b.MessageID, messaging.StatusFailed, messaging.ErrorPermanent, b.At.Add(time.Minute))
	l.mustFinish(l.claimedAt(noonNext, "1002", at(noonNext), phone(cyd), thanks), messaging.StateInDoubt)
	c := l.mustFinish(l.claimedAt(noonNext.Add(time.Minute), "1003", at(noonNext.Add(time.Minute)), phone(ana), thanks), messaging.StateAccepted)
	poll(c.MessageID, messaging.StatusRead, "", c.At.Add(time.Minute))
	l.enqueue("cart-8", at(noonNext.Add(2*time.Minute)), phone(cyd))
	l.enqueue("cart-9", at(noonNext.Add(3*time.Minute)), phone(ben))
	l.mustAccept(order("cart-9", at(noonNext.Add(4*time.Minute)), phone(ben)))

	skipped := cart("cart-10", at(noonNext.Add(5*time.Minute)), phone(ana))
	skipped.Proposals[0].Decision.Outcome, skipped.Proposals[0].Message = messaging.Skipped, messaging.Message{}
	l.settleBy(func(w messaging.Proposal, _ messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: w.Decision.Outcome}
	})
	l.mustAccept(skipped)
	unheard := cart("lead-1", at(noonNext.Add(6*time.Minute)), phone(cyd))
	unheard.Event.Connector, unheard.Event.Kind, unheard.Proposals = "crm", "form.submitted", nil
	l.mustAccept(unheard)
	l.readAll()

	l.must(l.SaveConsents(l.ctx, []messaging.ConsentRecord{
		{Phone: ana, Consent: messaging.ConsentGiven, At: noon, Source: "by hand"}, {Phone: ben, Consent: messaging.ConsentWithdrawn, At: noonNext, Source: "by hand"},
	}))
	if _, err := l.Block(l.ctx, []store.Block{{Phone: ben, Reason: "as the test says", Source: "by hand"}}); err != nil {
		l.t.Fatal(err)
	}
	l.ended("2026-03-02 10:00", messaging.PartAccepted, messaging.PartInDoubt)
}

// rawSQL is the data as another program opens it.
func (l *ledger) rawSQL() *sql.DB {
	driver, address, _ := strings.Cut(l.dsn, ":")
	switch driver {
	case "sqlite":
		driver, address = "sqlite3", "file:"+address+"?mode=ro"
	default:
		driver, address, _ = strings.Cut("pgx "+l.dsn, " ")
		address, _, _ = strings.Cut(address, "#")
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = db.Close() })
	return db
}

// program is what the page has people type, and how it shows rows as the page does; the test is skipped where the machine has no such program.
func (l *ledger) program(t *testing.T) (path string, args []string) {
	t.Helper()
	driver, address, _ := strings.Cut(l.dsn, ":")
	name := "psql"
	args = []string{"--no-psqlrc", "--no-align", "--field-separator= | ", "--pset=footer=off", strings.Split(l.dsn, "#")[0], "--command"}
	if driver == "sqlite" {
		name, args = "sqlite3", []string{"-readonly", "-header", "-separator", " | ", address}
	}
	path, err := testserver.Program(name)
	if errors.Is(err, testserver.ErrMissing) {
		t.Skip(err)
	}
	l.must(err)
	return path, args
}

// table is the answer to a question, a line for each row.
func table(t testing.TB, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{strings.Join(names, " | ")}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(names))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
			case []byte:
				cells[i] = string(v)
			default:
				cells[i] = fmt.Sprint(v)
			}
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, " | "), " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n"
}
