package privacy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Texts in which a phone may stand although their row is about something else: the service's words, a reason, a key that a
// person chose, the sample of a webhook that was rejected. Only the number goes from them.

// An erasedText is one such column, with the columns that find its row. first is the one that a walk goes along.
type erasedText struct {
	table, column string
	keys          []string // all that are needed, whole numbers first
}

var erasedTexts = [...]erasedText{
	{"events", "phone_problem", []string{"id"}},
	{"events", "dedupe_key", []string{"id"}},
	{"events", "topic", []string{"id"}},
	{"contacts", "name", []string{"phone", "connector"}},
	{"contacts", "email", []string{"phone", "connector"}},
	{"contacts", "language", []string{"phone", "connector"}},
	{"contacts", "country", []string{"phone", "connector"}},
	{"contacts", "timezone", []string{"phone", "connector"}},
	{"contacts", "tags", []string{"phone", "connector"}},
	{"contacts", "order_name", []string{"phone", "connector"}},
	{"contacts", "spent", []string{"phone", "connector"}},
	{"decisions", "reason", []string{"event_id", "number"}},
	{"decisions", "key", []string{"event_id", "number"}},
	{"decisions", "clauses", []string{"event_id", "number"}},
	{"messages", "correlation_key", []string{"id"}},
	{"messages", "other_keys", []string{"id"}},
	{"messages", "send", []string{"id"}},
	{"messages", "ended_send", []string{"id"}},
	{"messages", "reason", []string{"id"}},
	{"messages", "called_off", []string{"id"}},
	{"messages", "error", []string{"id"}},
	{"attempts", "reason", []string{"message", "number", "state"}},
	{"attempts", "answer", []string{"message", "number", "state"}},
	{"attempts", "words", []string{"message", "number", "state"}},
	{"error_texts", "sample", []string{"text"}},
	{"resolutions", "reason", []string{"message", "at"}},
	{"verdicts", "reason", []string{"message", "number"}},
	{"rejected_requests", "reason", []string{"id"}},
	{"rejected_requests", "sample", []string{"id"}},
	{"lookups", "reason", []string{"event_id"}},
	{"webhooks_out", "body", []string{"id"}},
	{"webhooks_out", "reason", []string{"id"}},
	{"webhook_receivers", "last_error", []string{"receiver"}},
	{"runs", "reason", []string{"id"}},
	{"runs", "source", []string{"id"}},
	{"runs", "campaign", []string{"id"}},
	{"runs", "tally", []string{"id"}},
	{"runs", "stopped_by", []string{"id"}},
	{"runs", "overruled", []string{"id"}},
	{"runs", "approved", []string{"id"}},
	{"runs", "released", []string{"id"}},
	{"runs", "approvals", []string{"id"}},
	{"runs", "send", []string{"id"}},
	{"list_rows", "given", []string{"run_id", "number"}},
	{"list_rows", "cells", []string{"run_id", "number"}},
	{"list_rows", "reason", []string{"run_id", "number"}},
	{"parts", "reason", []string{"run_id", "number"}},
	{"parts", "answer", []string{"run_id", "number"}},
	{"configs", "text", []string{"version"}},
	{"config_files", "text", []string{"version", "number"}},
	{"holds", "reason", []string{"scope", "name", "kind", "of_account", "part", "way"}},
	{"blocks", "reason", []string{"phone"}},
	{"blocks", "source", []string{"phone"}},
	{"consents", "proof", []string{"phone", "channel", "category"}},
	{"consents", "source", []string{"phone", "channel", "category"}},
}

// sql changes the text where it is still the one that was read: ?1 the new text, ?2 the old one, then the keys.
func (x *erasedText) sql() string {
	where := make([]string, len(x.keys))
	for i, k := range x.keys {
		where[i] = fmt.Sprintf("%s = ?%d", k, i+3)
	}
	return fmt.Sprintf("UPDATE %s SET %s = ?1 WHERE %s AND %s = ?2", x.table, x.column, strings.Join(where, " AND "), x.column)
}

// eraseTextSQL are the changes of erasedTexts, in their order.
var eraseTextSQL = func() (all []*engine.Statement) {
	for i := range erasedTexts {
		all = append(all, engine.SQL(erasedTexts[i].sql()))
	}
	return all
}()

// texts goes through all of erasedTexts, table by table.
func (e *eraser) texts(ctx context.Context) error {
	for from := 0; from < len(erasedTexts); {
		to := from + 1
		for to < len(erasedTexts) && erasedTexts[to].table == erasedTexts[from].table {
			to++
		}
		if err := e.textsOf(ctx, from, to); err != nil {
			return fmt.Errorf("%s: %w", erasedTexts[from].table, err)
		}
		from = to
	}
	return nil
}

// A textChange is one text to be changed in one row.
type textChange struct {
	by   *engine.Statement
	args []any
}

func (e *eraser) textsOf(ctx context.Context, from, to int) error {
	x := &erasedTexts[from]
	order := strings.Join(x.keys, ", ")
	names := slices.Clone(x.keys)
	for _, t := range erasedTexts[from:to] {
		names = append(names, t.column)
	}
	columns := strings.Join(names, ", ")
	var last []any // the keys of the row that was read last
	for {
		var q engine.Select
		if last != nil {
			after(&q, x.keys, last)
		}
		var due []textChange
		n := 0
		err := e.Rows(ctx, q.SQL(columns, x.table, order, perErase), q.Args, func(r *engine.Row) error {
			n++
			last = nil
			for range x.keys {
				switch v := r.Value().(type) {
				case []byte:
					last = append(last, string(v))
				default:
					last = append(last, v)
				}
			}
			for i := from; i < to; i++ {
				old := r.Text()
				if now, found := e.find.BlotString(old); found {
					due = append(due, textChange{eraseTextSQL[i], append([]any{now, old}, last...)})
				}
			}
			return nil
		})
		if err == nil {
			err = e.changeTexts(ctx, due)
		}
		if err != nil || n < perErase {
			return err
		}
	}
}

// after adds the condition that a row comes behind those keys.
func after(q *engine.Select, keys []string, last []any) {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(keys)), ", ")
	q.And("("+strings.Join(keys, ", ")+") > ("+marks+")", last...)
}

func (e *eraser) changeTexts(ctx context.Context, due []textChange) error {
	return inCommits(ctx, e, due, func(t *store.Tx, c textChange) error {
		n, err := t.Exec(c.by, c.args...)
		e.missed = e.missed || err == nil && n == 0
		return err
	})
}
