package store

// Columns in the order in which scanRun and scanPart read them.
const (
	runColumns  = `id, job, slot, due_at, cause, source, config, state, reason, before, deliver, campaign, template_id, template, language, category, expires, folder, tally, approved, owner, lease_ends, created_at, started_at, ended_at, began, stopped, stopped_by, overruled, repeats, again_of, files_removed_at, account, send, waits, wait_until, canary, again_classes, again_wait, again_until, approvals, held, released`
	partColumns = `run_id, number, file, row_count, first_row, bytes, sha256, state, reason, attempt, retry_at, campaign_id, message_ids, answer, http_status, updated_at, excluded, resolved`
)

// runStatements are those of runs, their parts and rows, of blocks and halts, and of what a person does
// after a run. Where a run or part may go is decided by the transitions of package nudgewire on the row
// as it is read in the same transaction; the guards in WHERE are the second lock on that door.
var runStatements = map[stmt]statement{
	stInsertRun: {0, `INSERT INTO runs (id, job, slot, due_at, cause, source, config, state, reason, before, deliver, campaign, template_id, template, language,
			category, expires, folder, tally, kept, approved, owner, lease_ends, created_at, started_at, ended_at, began, stopped, stopped_by, overruled, repeats, send, waits, wait_until, canary, approvals, held, released, again_of, account, again_classes, again_wait, again_until)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43)
		ON CONFLICT (job, slot) DO NOTHING`},
	stRunOfSlot: {1, `SELECT id FROM runs WHERE job = ?1 AND slot = ?2`},
	stRun:       {43, `SELECT ` + runColumns + ` FROM runs WHERE id = ?1 {{for update}}`},
	stOpenRuns:  {43, `SELECT ` + runColumns + ` FROM runs WHERE ended_at = 0 ORDER BY id {{for update}}`},
	stUpdateRun: {0, `UPDATE runs SET source = ?2, config = ?3, state = ?4, reason = ?5, before = ?6, deliver = ?7, campaign = ?8, template_id = ?9, template = ?10,
			language = ?11, category = ?12, expires = ?13, folder = ?14, tally = ?15, kept = ?16, approved = ?17, owner = ?18, lease_ends = ?19,
			started_at = ?20, ended_at = ?21, began = ?22, stopped = ?23, stopped_by = ?24, overruled = ?25, repeats = ?26, send = ?27, waits = ?28, wait_until = ?29, canary = ?30, approvals = ?31, held = ?32
		WHERE id = ?1 AND ended_at = 0`},
	stReleaseRun: {0, `UPDATE runs SET released = ?2 WHERE id = ?1`},
	stLeaseRun:   {0, `UPDATE runs SET owner = ?2, lease_ends = ?3 WHERE id = ?1 AND ended_at = 0`},
	stSeeClock:   {0, `INSERT INTO job_clocks (job, line, since) VALUES (?1, ?2, ?3) ON CONFLICT (job, line) DO NOTHING`},

	stInsertPart: {0, `INSERT INTO parts (` + partColumns + `)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`},
	stDropParts:   {0, `DELETE FROM parts WHERE run_id = ?1`},
	stCancelParts: {0, `UPDATE parts SET state = 'cancelled', reason = ?2, retry_at = 0, updated_at = ?3 WHERE run_id = ?1 AND state = 'built'`},
	stPart:        {18, `SELECT ` + partColumns + ` FROM parts WHERE run_id = ?1 AND number = ?2 {{for update}}`},
	stClaimPart:   {0, `UPDATE parts SET state = 'uploading', attempt = ?3, updated_at = ?4, claimed_at = ?4 WHERE run_id = ?1 AND number = ?2 AND state = 'built'`},
	stPartContacts: {0, `INSERT INTO part_contacts (bucket, at, run_id, part, hashes) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (bucket, at, run_id, part) DO UPDATE SET hashes = excluded.hashes`},
	stOldContacts: {0, `DELETE FROM part_contacts WHERE bucket = ?1 AND at < ?2`},
	stFilesOf:     {4, `SELECT at, run_id, part, hashes FROM part_contacts WHERE bucket = ?1`},
	stAccountParts: {2, `SELECT c.at, c.hashes FROM part_contacts c
		JOIN parts p ON p.run_id = c.run_id AND p.number = c.part AND p.claimed_at = c.at JOIN runs r ON r.id = c.run_id
		WHERE c.bucket = ?1 AND c.at >= ?2 AND r.account = ?3 AND (p.state = 'uploading' OR p.state = 'accepted' OR p.state = 'in_doubt')`},
	stPastParts: {4, `SELECT c.at, r.category, r.job, c.hashes FROM part_contacts c
		JOIN parts p ON p.run_id = c.run_id AND p.number = c.part AND p.claimed_at = c.at JOIN runs r ON r.id = c.run_id
		WHERE c.bucket = ?1 AND c.at >= ?2 AND (p.state = 'uploading' OR p.state = 'accepted' OR p.state = 'in_doubt')`},
	stReplacePart: {0, `UPDATE parts SET file = ?3, row_count = ?4, bytes = ?5, sha256 = ?6, excluded = ?7, state = ?8, reason = ?9, updated_at = ?10
		WHERE run_id = ?1 AND number = ?2 AND state = 'built'`},
	stFinishPart: {0, `UPDATE parts SET state = ?4, reason = ?5, retry_at = ?6, campaign_id = ?7, message_ids = ?8, answer = ?9, http_status = ?10, updated_at = ?11
		WHERE run_id = ?1 AND number = ?2 AND attempt = ?3 AND (state = 'uploading' OR state = 'in_doubt')`},

	stRowsQueued: {3, `SELECT first_row, row_count, dispatch_id FROM run_rows WHERE run_id = ?1 AND first_row < ?2 ORDER BY first_row DESC LIMIT ?3 + 0`},
	stGrowRows: {0, `UPDATE run_rows SET row_count = row_count + 1
		WHERE run_id = ?1 AND first_row = (SELECT max(first_row) FROM run_rows WHERE run_id = ?1 AND first_row < ?2)
			AND first_row + row_count = ?2 AND dispatch_id + row_count = ?3`},
	stWindow:     {2, `SELECT since, used FROM job_windows WHERE job = ?1`},
	stSetWindow:  {0, `INSERT INTO job_windows (job, since, used) VALUES (?1, ?2, ?3) ON CONFLICT (job) DO UPDATE SET since = excluded.since, used = excluded.used`},
	stInsertRows: {0, `INSERT INTO run_rows (run_id, first_row, row_count, dispatch_id) VALUES (?1, ?2, ?3, ?4)`},
	stCancelRows: {0, `UPDATE dispatches SET state = 'cancelled', reason = ?3, updated_at = ?4, owner = ''
		WHERE id >= ?1 AND id < ?2 AND state = 'waiting'`},

	stBlock: {0, `INSERT INTO blocks (phone, reason, source, at) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (phone) DO UPDATE SET reason = excluded.reason, source = excluded.source, event_id = 0, by_service = 0`},
	// A person's block stays as it is.
	stOptOut: {0, `INSERT INTO blocks (phone, reason, source, at, event_id) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (phone) DO UPDATE SET reason = excluded.reason, source = excluded.source, at = excluded.at, event_id = excluded.event_id, by_service = 0
		WHERE blocks.event_id > 0 OR blocks.by_service = 1`},
	stOptIn: {0, `DELETE FROM blocks WHERE phone = ?1 AND (event_id > 0 OR (by_service = 1 AND at <= ?2))`},
	// Whoever blocked the contact before stays the one who did.
	stServiceBlock: {0, `INSERT INTO blocks (phone, reason, source, at, by_service) VALUES (?1, ?2, ?3, ?4, 1) ON CONFLICT (phone) DO NOTHING`},
	stOptedOut:     {3, `SELECT opted_out, event_at, event_id FROM opt_outs WHERE phone = ?1`},
	stProposal: {0, `INSERT INTO opt_outs (phone, opted_out, event_at, event_id) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (phone) DO UPDATE SET opted_out = excluded.opted_out, event_at = excluded.event_at, event_id = excluded.event_id`},
	stBlocked:       {1, `SELECT reason FROM blocks WHERE phone = ?1`},
	stDropAlerts:    {0, `DELETE FROM alerts`},
	stDropNotices:   {0, `DELETE FROM alert_notices`},
	stDropReceivers: {0, `DELETE FROM alert_receivers`},
	stKeepAlert: {0, `INSERT INTO alerts (receiver, condition, code, subject, severity, about, words, cure, began, told_at, ended_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`},
	stKeepNotice: {0, `INSERT INTO alert_notices (position, notice, receiver, condition, code, subject, severity, about, words, cure, began, ended_at, created_at, attempts, next_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`},
	stKeepReceiver: {0, `INSERT INTO alert_receivers (receiver, name, delivered_at, failed_at, failing_since, last_error) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`},
	stGoodToken:    {1, `SELECT id FROM api_tokens WHERE name = ?1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?2)`},
	stAddToken:     {0, `INSERT INTO api_tokens (id, name, hash, scopes, created_at, created_by, expires_at, revoked_at, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`},
	stRevokeToken:  {0, `UPDATE api_tokens SET revoked_at = ?1 WHERE id = ?2 AND revoked_at = 0`},
	stTokenUsed:    {0, `UPDATE api_tokens SET used_at = ?1 WHERE id = ?2 AND used_at < ?1`},
	stLastAudit:    {2, `SELECT id, hash FROM audit WHERE id = (SELECT max(id) FROM audit)`},
	stAddAudit:     {0, `INSERT INTO audit (id, at, who, via, action, subject, detail, outcome, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`},
	stKeepToken: {0, `INSERT INTO refresh_tokens (source, token, at) VALUES (?1, ?2, ?3)
		ON CONFLICT (source) DO UPDATE SET token = excluded.token, at = excluded.at`},
	stKeptToken: {1, `SELECT token FROM refresh_tokens WHERE source = ?1`},
	stAllow:     {0, `DELETE FROM blocks WHERE phone = ?1`},

	// Of the same word the first source stays, but a proof is added to none.
	stSaveConsent: {0, `INSERT INTO consents (phone, channel, category, consent, since, event_at, source, proof, event_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8)
		ON CONFLICT (phone, channel, category) DO UPDATE SET
			consent  = excluded.consent,
			since    = CASE WHEN consents.consent = excluded.consent THEN consents.since ELSE excluded.since END,
			event_at = excluded.event_at,
			source   = CASE WHEN consents.consent = excluded.consent AND (excluded.proof = '' OR consents.proof <> '') THEN consents.source ELSE excluded.source END,
			proof    = CASE WHEN consents.consent = excluded.consent AND (excluded.proof = '' OR consents.proof <> '') THEN consents.proof ELSE excluded.proof END,
			event_id = CASE WHEN consents.consent = excluded.consent AND (excluded.proof = '' OR consents.proof <> '') THEN consents.event_id ELSE excluded.event_id END
		WHERE excluded.event_at > consents.event_at OR (excluded.event_at = consents.event_at AND excluded.consent = 'withdrawn' AND consents.consent = 'given')`},
	stConsent: {1, `SELECT consent FROM consents WHERE phone = ?1 AND channel = 'phone' AND category = 'marketing'`},

	stLastWords: {2, `SELECT words, error_class FROM attempts WHERE dispatch_id = ?1 ORDER BY number DESC LIMIT 1`},
	stErrorText: {0, `INSERT INTO error_texts (text, sample, rejected, failed, first_at, last_at, dispatch_id) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)
		ON CONFLICT (text) DO UPDATE SET sample = excluded.sample, rejected = error_texts.rejected + excluded.rejected,
			failed = error_texts.failed + excluded.failed, last_at = excluded.last_at, dispatch_id = excluded.dispatch_id`},
	stTrimErrorTexts: {0, `DELETE FROM error_texts WHERE last_at < (SELECT last_at FROM error_texts ORDER BY last_at DESC LIMIT 1 OFFSET ?1 + 0)`},
	stSendPause:      {5, `SELECT since, pauses, refused, probe, lifted_at FROM send_pauses WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin = ?4`},
	stRename:         {0, `INSERT INTO renames (about, was, name, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (about, was, name) DO UPDATE SET at = excluded.at`},
	stRenameWaiting:  {0, `UPDATE dispatches SET trigger_name = ?2 WHERE state = 'waiting' AND event_id <> 0 AND trigger_name = ?1`},
	stRenameSending:  {0, `UPDATE dispatches SET trigger_name = ?2 WHERE state = 'sending' AND event_id <> 0 AND trigger_name = ?1`},
	stRenameDoubt:    {0, `UPDATE dispatches SET trigger_name = ?2 WHERE state = 'in_doubt' AND event_id <> 0 AND trigger_name = ?1`},
	stRenameHalts:    {0, `UPDATE halts SET name = ?2 WHERE name = ?1 AND (scope = 'trigger' OR scope = 'mode' OR scope = 'released') AND NOT EXISTS (SELECT 1 FROM halts n WHERE n.scope = halts.scope AND n.name = ?2)`},
	stEndOldHalts:    {0, `DELETE FROM halts WHERE name = ?1 AND (scope = 'trigger' OR scope = 'mode' OR scope = 'released')`},
	stRenameWindow: {0, `INSERT INTO trigger_windows (trigger_name, since, used) SELECT CAST(?2 AS TEXT), since, used FROM trigger_windows WHERE trigger_name = ?1
		ON CONFLICT (trigger_name) DO UPDATE SET used = trigger_windows.used + excluded.used`},
	stEndOldWindow: {0, `DELETE FROM trigger_windows WHERE trigger_name = ?1`},
	stRenameSendPauses: {0, `UPDATE send_pauses SET of_trigger = ?2, origin = 'trigger ' || ?2 WHERE of_trigger = ?1 AND NOT EXISTS (SELECT 1 FROM send_pauses n
		WHERE n.of_account = send_pauses.of_account AND n.kind = send_pauses.kind AND n.content = send_pauses.content AND n.of_trigger = ?2)`},
	stEndOldSendPauses:  {0, `DELETE FROM send_pauses WHERE of_trigger = ?1`},
	stRenameRows:        {0, `UPDATE dispatches SET trigger_name = ?2 WHERE state = 'waiting' AND event_id = 0 AND trigger_name = ?1`},
	stRenameRowsSending: {0, `UPDATE dispatches SET trigger_name = ?2 WHERE state = 'sending' AND event_id = 0 AND trigger_name = ?1`},
	stRenameRowsDoubt:   {0, `UPDATE dispatches SET trigger_name = ?2 WHERE state = 'in_doubt' AND event_id = 0 AND trigger_name = ?1`},
	stRenameJobHalts:    {0, `UPDATE halts SET name = ?2 WHERE name = ?1 AND (scope = 'job') AND NOT EXISTS (SELECT 1 FROM halts n WHERE n.scope = halts.scope AND n.name = ?2)`},
	stEndOldJobHalts:    {0, `DELETE FROM halts WHERE name = ?1 AND (scope = 'job')`},
	stRenameJobWindow: {0, `INSERT INTO job_windows (job, since, used) SELECT CAST(?2 AS TEXT), since, used FROM job_windows WHERE job = ?1
		ON CONFLICT (job) DO UPDATE SET used = job_windows.used + excluded.used`},
	stEndOldJobWindow: {0, `DELETE FROM job_windows WHERE job = ?1`},
	stRenameClocks: {0, `INSERT INTO job_clocks (job, line, since) SELECT CAST(?2 AS TEXT), line, since FROM job_clocks WHERE job = ?1
		ON CONFLICT (job, line) DO UPDATE SET since = CASE WHEN excluded.since < job_clocks.since THEN excluded.since ELSE job_clocks.since END`},
	stEndOldClocks: {0, `DELETE FROM job_clocks WHERE job = ?1`},
	stRenameRuns:   {0, `UPDATE runs SET job = ?2 WHERE job = ?1 AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.job = ?2 AND n.slot = runs.slot)`},
	stPauseSend: {0, `INSERT INTO send_pauses (of_account, kind, content, origin, of_trigger, run_mark, mark, words, since, ends_at, pauses, refused, told_by_status, probe, lifted_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, 0)
		ON CONFLICT (of_account, kind, content, origin) DO UPDATE SET words = excluded.words, since = excluded.since, ends_at = excluded.ends_at,
			pauses = excluded.pauses, refused = excluded.refused, told_by_status = excluded.told_by_status, probe = 0, lifted_at = 0`},
	stLiftPause:       {0, `UPDATE send_pauses SET lifted_at = ?5, probe = 0 WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin = ?4 AND lifted_at = 0`},
	stLiftOrigins:     {0, `UPDATE send_pauses SET lifted_at = ?4, probe = 0 WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin <> '' AND lifted_at = 0`},
	stProbePause:      {0, `UPDATE send_pauses SET probe = ?5 WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin = ?4 AND lifted_at = 0`},
	stFindProbe:       {1, findProbe + ` ORDER BY due_at, id LIMIT 1`},
	stFindNewestProbe: {1, findProbe + ` ORDER BY due_at DESC, id DESC LIMIT 1`},
	stBeginPause: {0, `INSERT INTO account_pauses (of_account, room, way, cause, words, since, ends_at, strikes, told_by_status, asked, node)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (of_account, room, way) DO NOTHING`},
	stChangePause: {0, `UPDATE account_pauses SET cause = ?4, words = ?5, since = ?6, ends_at = ?7, strikes = ?8, told_by_status = ?9, asked = ?10, node = ?11
		WHERE of_account = ?1 AND room = ?2 AND way = ?3 AND since = ?12 AND ends_at = ?13`},
	stEndPause:     {0, `DELETE FROM account_pauses WHERE of_account = ?1 AND room = ?2 AND way = ?3 AND since = ?4 AND ends_at = ?5`},
	stForgetPauses: {0, `DELETE FROM account_pauses WHERE of_account = ?1 AND room = ?2 AND ends_at < ?3`},
	stHalt: {0, `INSERT INTO halts (scope, name, mark, reason, at) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (scope, name) DO UPDATE SET reason = excluded.reason`},
	stUnhalt: {0, `DELETE FROM halts WHERE scope = ?1 AND name = ?2`},

	stInsertRetry: {0, `INSERT INTO retries (dispatch_id, again_id) VALUES (?1, ?2)`},
	stEnqueueRetry: {0, `INSERT INTO dispatches (id, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, state, reason,
			due_at, expires_at, created_at, updated_at, claimed_at, attempt, restarts, owner, lease_ends, config, ended_send, zone, step, account, tries, sent_as)
		SELECT ?2, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, 'waiting', '',
			?5, ?4, ?3, ?3, 0, 0, 0, '', 0, config, ended_send, zone, step, account, ?6, sent_as FROM dispatches WHERE id = ?1`},
	stResolution: {0, `INSERT INTO resolutions (dispatch_id, at, resolved, reason) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (dispatch_id, at) DO UPDATE SET resolved = excluded.resolved, reason = excluded.reason`},
	stEventAt: {1, `SELECT event_at FROM dispatches WHERE id = ?1`},
	stRetried: {1, `SELECT again_id FROM retries WHERE dispatch_id = ?1`},
	stDoubts:  {1, `SELECT number FROM attempts WHERE dispatch_id = ?1 AND state = 'in_doubt'`},

	stResolvePart: {0, `UPDATE parts SET state = ?3, reason = ?4, resolved = ?5, retry_at = 0, updated_at = ?6
		WHERE run_id = ?1 AND number = ?2 AND state{{checked}} = 'in_doubt'`},
	// The ways back from an end: from partial by a word on a part, and from wherever messages may
	// still wait by a pause.
	stReopenRun: {0, `UPDATE runs SET state = 'uploading', reason = ?2, owner = '', lease_ends = 0, ended_at = 0 WHERE id = ?1 AND state = 'partial'`},
	stPauseSent: {0, `UPDATE runs SET state = 'paused', before = 'uploading', reason = ?2, stopped = CASE WHEN ?4 = '' THEN 'person' ELSE 'config' END, stopped_by = ?3, held = ?4, owner = '', lease_ends = 0, ended_at = 0
		WHERE id = ?1 AND (state = 'done' OR state = 'partial' OR state = 'failed')`},
	stEndAnew: {0, `UPDATE runs SET state = ?2, reason = ?3 WHERE id = ?1 AND state = 'partial'`},

	// Messages that have no dispatch of their own: those that an upload's answer named. And the files of runs.
	stFollowed: {2, `SELECT CAST(coalesce(sum(id_count), 0) AS BIGINT), CAST(coalesce(sum(CASE WHEN part = ?2 THEN id_count ELSE 0 END), 0) AS BIGINT)
		FROM run_messages WHERE run_id = ?1`},
	stInsertFollowed: {0, `INSERT INTO run_messages (run_id, part, first_id, id_count, dispatch_id) VALUES (?1, ?2, ?3, ?4, ?5)`},
	stAllFollowed:    {0, `UPDATE parts SET message_ids = '' WHERE run_id = ?1 AND number = ?2`},
	stFilesRemoved:   {0, `UPDATE runs SET files_removed_at = ?2 WHERE folder = ?1 AND folder <> '' AND files_removed_at = 0 AND ended_at > 0`},
}

// findProbe looks for a dispatch that a pause of what is sent holds, and nothing else does.
const findProbe = `SELECT id FROM dispatches WHERE state = 'waiting' AND account = ?1 AND category = ?2 AND due_at <= ?3 AND (expires_at = 0 OR expires_at > ?3)
	AND replace(send, ?4, '') <> send AND (?5 = '' OR event_id <> 0 AND trigger_name = ?5)
	AND (?6 = '' OR event_id = 0 AND substr(correlation_key, 1, length(?6)) = ?6) AND tries <= ?7 AND phone <> ?8
	AND ` + unhaltedByPeople
