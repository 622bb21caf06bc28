package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	{"dispatches", "correlation_key", []string{"id"}},
	{"dispatches", "other_keys", []string{"id"}},
	{"dispatches", "send", []string{"id"}},
	{"dispatches", "ended_send", []string{"id"}},
	{"dispatches", "reason", []string{"id"}},
	{"attempts", "reason", []string{"dispatch_id", "number", "state"}},
	{"attempts", "answer", []string{"dispatch_id", "number", "state"}},
	{"attempts", "words", []string{"dispatch_id", "number", "state"}},
	{"messages", "error", []string{"dispatch_id"}},
	{"error_texts", "sample", []string{"text"}},
	{"send_pauses", "words", []string{"of_account", "kind", "content", "origin"}},
	{"account_pauses", "words", []string{"of_account", "room", "way"}},
	{"called_off", "reason", []string{"dispatch_id"}},
	{"resolutions", "reason", []string{"dispatch_id", "at"}},
	{"verdicts", "reason", []string{"dispatch_id", "number"}},
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
	{"parts", "reason", []string{"run_id", "number"}},
	{"parts", "answer", []string{"run_id", "number"}},
	{"configs", "text", []string{"version"}},
	{"halts", "reason", []string{"scope", "name"}},
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

// eraseStatements are those of forgetting.
var eraseStatements = func() map[stmt]statement {
	all := map[stmt]statement{
		stDropConsents:   {0, `DELETE FROM consents WHERE phone = ?1`},
		stDropConsentsOf: {0, `DELETE FROM consents WHERE phone = ?1 AND event_id = ?2`},
		stDropOptOut:     {0, `DELETE FROM opt_outs WHERE phone = ?1`},
		stDropOptOutOf:   {0, `DELETE FROM opt_outs WHERE phone = ?1 AND event_id = ?2`},
		stBlockOf:        {1, `SELECT event_id FROM blocks WHERE phone = ?1`},
		stMark: {0, `INSERT INTO forgotten (mark, at, by_hand) VALUES (?1, ?2, ?3)
			ON CONFLICT (mark) DO UPDATE SET at = CASE WHEN excluded.at > forgotten.at THEN excluded.at ELSE forgotten.at END,
				by_hand = CASE WHEN excluded.by_hand = 1 THEN 1 ELSE CASE WHEN forgotten.allowed = 1 THEN 0 ELSE forgotten.by_hand END END, allowed = 0`},
		stUnmark:    {0, `UPDATE forgotten SET allowed = 1 WHERE mark = ?1`},
		stForgotten: {3, `SELECT at, by_hand, allowed FROM forgotten WHERE mark = ?1`},
		stForget: {0, `INSERT INTO forgetting (phone, connector, source, at, waits, recorded) VALUES (?1, ?2, ?3, ?4, '', ?5)
			ON CONFLICT (phone, connector) DO UPDATE SET source = excluded.source, at = excluded.at, waits = '',
				recorded = CASE WHEN forgetting.recorded = 0 THEN 0 ELSE excluded.recorded END`},
		stForgetMore:     {0, `UPDATE forgetting SET waits = ?3 WHERE phone = ?1 AND connector = ?2`},
		stErased:         {0, `DELETE FROM forgetting WHERE phone = ?1 AND connector = ?2 AND at = ?3`},
		stDropLookup:     {0, `DELETE FROM lookups WHERE event_id = ?1`},
		stEraseEvent:     {0, `UPDATE events SET phone = '', phone_problem = ?2, dedupe_key = ?3 WHERE id = ?1`},
		stPayloads:       {1, `SELECT bundle FROM payloads WHERE event_id = ?1`},
		stErasePayloads:  {0, `UPDATE payloads SET bundle = ?2 WHERE event_id = ?1`},
		stDecisionsAt:    {1, `SELECT bundle FROM decisions WHERE event_id = ?1 AND seq = ?2`},
		stEraseDecisions: {0, `UPDATE decisions SET bundle = ?3 WHERE event_id = ?1 AND seq = ?2`},
		stEraseDispatch: {0, `UPDATE dispatches SET phone = '', sent_as = '', zone = '', correlation_key = ?2, other_keys = '', send = ?3, ended_send = '', reason = CASE WHEN reason = '' THEN '' ELSE ?4 END
			WHERE id = ?1 AND state <> 'waiting' AND state <> 'sending'`},
		stEraseMessage: {0, `UPDATE messages SET phone = '', error = CASE WHEN error = '' THEN '' ELSE ?2 END WHERE dispatch_id = ?1`},
		stEraseAnswers: {0, `UPDATE attempts SET answer = '', reason = CASE WHEN reason = '' THEN '' ELSE ?2 END WHERE dispatch_id = ?1`},
		stEraseFiles: {0, `UPDATE parts SET bytes = ?3, sha256 = ?4
			WHERE file = ?2 AND state <> 'uploading' AND run_id IN (SELECT id FROM runs WHERE folder = ?1 AND folder <> '')`},
	}
	for i := range erasedTexts {
		all[stEraseText+stmt(i)] = statement{0, erasedTexts[i].sql()}
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
	by   stmt
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
		var q select_
		if last != nil {
			after(&q, x.keys, last)
		}
		var due []textChange
		n := 0
		err := e.rows(ctx, q.sql(columns, x.table, order, perErase), q.args, func(r *row) error {
			n++
			last = nil
			for range x.keys {
				switch v := r.value().(type) {
				case []byte:
					last = append(last, string(v))
				default:
					last = append(last, v)
				}
			}
			for i := from; i < to; i++ {
				old := r.text()
				if now, found := e.find.BlotString(old); found {
					due = append(due, textChange{stEraseText + stmt(i), append([]any{now, old}, last...)})
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
func after(q *select_, keys []string, last []any) {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(keys)), ", ")
	q.and("("+strings.Join(keys, ", ")+") > ("+marks+")", last...)
}

func (e *eraser) changeTexts(ctx context.Context, due []textChange) error {
	for some := range slices.Chunk(due, perErase) {
		missed := false
		err := e.write(ctx, laneWork, func(t *tx) error {
			missed = false
			for _, c := range some {
				n, err := t.exec(c.by, c.args...)
				if err != nil {
					return err
				}
				missed = missed || n == 0
			}
			return nil
		})
		if err != nil {
			return err
		}
		e.missed = e.missed || missed
	}
	return nil
}
