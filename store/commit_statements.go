package store

import (
	"fmt"
	"strconv"
	"strings"
)

// A stmt names one of the writer's prepared statements.
type stmt int

const (
	stBegin stmt = iota
	stCommit
	stRollback
	stCount
	stHour
	stParty
	stOldHours
	stUnused
	stUsedAgain
	stEndUnused
	stLastSeen

	stSetCount
	stTrimCounts
	stEventKey
	stFindKey
	stFindKeys
	stInsertEvent
	stInsertPayloads
	stInsertDecisions
	stInsertLater

	stInsertKey
	stInsertKeys
	stCorrelated
	stAttemptInDoubt
	stTombstone
	stRecordTombstone
	stExpiredTombstones
	stDeleteTombstone
	stInsertDispatch
	stRestart
	stReplan
	stCancel

	stDue
	stDueProbe
	stClaim
	stExpire
	stDefer
	stReview
	stVerdict
	stInsertVerdict
	stRepeatVerdict
	stTriggerNames
	stTriggerWindow
	stSetTriggerWindow
	stNameTrigger
	stRename
	stRenameWaiting
	stRenameSending
	stRenameDoubt
	stRenameHalts
	stEndOldHalts
	stRenameWindow
	stEndOldWindow
	stRenameSendPauses
	stEndOldSendPauses
	stRenameRows
	stRenameRowsSending
	stRenameRowsDoubt
	stRenameJobHalts
	stEndOldJobHalts
	stRenameJobWindow
	stEndOldJobWindow
	stRenameClocks
	stEndOldClocks
	stRenameRuns
	stPastSends
	stPastRows
	stPastParts
	stAccountParts
	stAccountMessages
	stCreatedAfter
	stAccountSending
	stAccountDoubt
	stAccountLetBe
	stPartContacts
	stOldContacts
	stFilesOf
	stFinish
	stPutBack
	stCallOff
	stCalledOff
	stFinishLate
	stInsertMessage
	stInsertAttempt
	stRecipient
	stDispatch

	stSending
	stLapse
	stResolve

	stDuePolls
	stClaimPoll
	stMessage
	stUpdateMessage

	stInsertRejected
	stOldRejected
	stTrimConnector
	stTrimRejected
	stSaveConfig

	stInsertLookup
	stDueLookups
	stClaimLookup
	stRetryLookup
	stEndLookup
	stFreeLookups
	stEnrichEvent
	stEnrichPayload
	stDecisions
	stLater

	stInsertRun
	stRunOfSlot
	stRun
	stOpenRuns
	stUpdateRun
	stLeaseRun
	stSeeClock
	stInsertPart
	stDropParts
	stCancelParts
	stPart
	stClaimPart
	stReplacePart
	stFinishPart
	stRowsQueued
	stInsertRows
	stCancelRows
	stGrowRows
	stWindow
	stSetWindow
	stInsertRetry
	stEnqueueRetry
	stResolution
	stEventAt
	stRetried
	stDoubts
	stResolvePart
	stReopenRun
	stPauseSent
	stReleaseRun
	stEndAnew
	stFollowed
	stInsertFollowed
	stAllFollowed
	stFilesRemoved
	stBlock
	stBlocked
	stAllow
	stOptOut
	stOptIn
	stServiceBlock
	stLastWords
	stErrorText
	stTrimErrorTexts
	stSendPause
	stPauseSend
	stLiftPause
	stLiftOrigins
	stProbePause
	stFindProbe
	stFindNewestProbe
	stBeginPause
	stChangePause
	stEndPause
	stForgetPauses
	stOptedOut
	stProposal
	stKeepToken
	stKeptToken
	stDropAlerts
	stDropNotices
	stDropReceivers
	stKeepAlert
	stKeepNotice
	stKeepReceiver
	stGoodToken
	stAddToken
	stRevokeToken
	stTokenUsed
	stUser
	stUsers
	stAddUser
	stSetUser
	stDropUser
	stAddSession
	stSessionsOf
	stSessionSeen
	stEndSession
	stEndSessionsOf
	stOldSessions
	stEndSessions
	stAddLink
	stLinks
	stLink
	stDropLink
	stOldLinks
	stDropLinks
	stDropSetups
	stUserBySetup
	stUserSignedIn
	stLastAudit
	stAddAudit
	stSaveConsent
	stConsent
	stDropConsents
	stDropConsentsOf
	stDropOptOut
	stDropOptOutOf
	stBlockOf
	stMark
	stUnmark
	stForgotten
	stForget
	stForgetMore
	stErased
	stAskRedaction
	stRecordRedaction
	stRecordErasure
	stDecideRedaction
	stDropRedaction
	stDropLookup
	stEraseEvent
	stErasePayloads
	stEraseDecisions
	stPayloads
	stDecisionsAt
	stEraseDispatch
	stEraseMessage
	stEraseAnswers
	stEraseFiles
	stHalt
	stUnhalt

	stInsertStep
	stRetryStep
	stPassStep
	stSequence
	stNewestLater

	stOldRejections
	stAllExpired
	stDropPayloads
	stDropDecisions
	stInsertDecided
	stDropDecided
	stLedNowhere
	stDropEvents
	stStillOld
	stStillOldFollowed
	stDropDispatches
	stDropMessages
	stDropAttempts
	stDropVerdicts
	stDropResolutions
	stDropSteps
	stDropCalledOff
	stDropRetries
	stRowGone
	stFollowedGone
	stSentOnce
	stWasSentOnce
	stOldAttempts
	stOldVerdicts
	stDropKey
	stStillOldRuns
	stDropSomeRows
	stDropSomeFollowed
	stDropSomeParts
	stDropRun
	stEndedLong
	stMaskDispatch
	stMaskMessage
	stDropUnmasked
	stUnmasked
	stMaskable
	stMaskEvent
	stMaskFollowed
	stRangeMasked
	stInsertRestoration
	stEndRestorations
	stReviewed
	stSettleReview
	stCountDoubts
	stUndoAttempt
	stUndoClaim
	stDueWithEvent
	stDoubtRestored

	stInsertOutgoing
	stChangeOf
	stRunOfMessage
	stRowsWaiting
	stDueOutgoing
	stOutgoingBefore
	stHoldOutgoing
	stClaimOutgoing
	stRetryOutgoing
	stEndOutgoing
	stOutgoing
	stNextOutgoing
	stReceiverWell
	stReceiverFails
	stReplayOutgoing
	stDropOutgoing
	stOldOutgoing
	stUnwantedOutgoing

	stBeginFile
	stGrowFile
	stAddPiece
	stHideFile
	stHideFiles
	stHideNamed
	stNameFile
	stDropPieces
	stDropFile

	stAlive
	stNextEvents
	stNextDispatches
	stNextRejected
	stNextRuns
	stNextChanges
	stNoticeDue

	stEraseText // and those after it: one for each text of erasedTexts

	stmtCount = stEraseText + stmt(len(erasedTexts))
)

// Columns in the order in which row_scan.go reads them.
const (
	dispatchColumns = `id, event_id, trigger_name, correlation_key, phone, category, send, state, reason, due_at, expires_at, created_at, updated_at, attempt, restarts, owner, lease_ends, config, zone, step, account, sent_as, tries`
	messageColumns  = `dispatch_id, message_id, phone, category, status, error, accepted_at, status_at, told_at, next_poll_at, polls, final, sent_at, delivered_at, read_at, failed_at, account, error_class`
)

// endSend is what every statement does to what was to be sent when nobody will send it any more.
const endSend = `send = CASE WHEN ended_send = '' THEN send ELSE ended_send END`

// wasSent is the condition on a dispatch that its message was sent since ?2, is being sent, or may have been, also where
// it was let be or cancelled then: one that is known to have failed did not reach the phone.
var wasSent = `claimed_at >= ?2 AND (state = 'sending' OR state = 'accepted' OR state = 'in_doubt' OR ` + wasLetBe("dispatches") + `)
	AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.dispatch_id = dispatches.id AND m.status = 'failed')`

// wasLetBe is the condition on a dispatch that nobody will send it any more although it may have reached the phone.
func wasLetBe(dispatch string) string {
	return `((` + dispatch + `.state = 'dropped' OR ` + dispatch + `.state = 'cancelled') AND ` + hadDoubt(dispatch) + `)`
}

// hadDoubt is the condition on a dispatch that one of its attempts may have been taken.
func hadDoubt(dispatch string) string {
	return `EXISTS (SELECT 1 FROM attempts a WHERE a.dispatch_id = ` + dispatch + `.id AND a.state = 'in_doubt')`
}

// letBe are columns of the dispatches d that nobody will send any more although they may have reached the phone, so far as
// and says: each state by itself, because only so the index of what was not sent leads there.
func letBe(columns, and string) string {
	of := func(state string) string {
		return `SELECT ` + columns + ` FROM dispatches d WHERE d.state = '` + state + `' AND ` + and + ` AND ` + hadDoubt("d")
	}
	return of("dropped") + ` UNION ALL ` + of("cancelled")
}

// onlyDeferred is the condition on a dispatch that it waits for nothing but what a rule said.
const onlyDeferred = `state = 'waiting' AND first_due_at > 0
	AND due_at IN (SELECT until_at FROM verdicts WHERE dispatch_id = dispatches.id AND action = 'deferred')`

// insertKeys takes n keys at once.
func insertKeys(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("(?%d, ?%d, ?%d)", 3*i+1, 3*i+2, 3*i+3)
	}
	return `INSERT INTO keys (part, hash, id) VALUES ` + strings.Join(rows, ", ") + ` ON CONFLICT DO NOTHING`
}

// marks is rowsAtOnce marks from the given one on: ?4, ?5, ?6.
func marks(from int) string {
	all := make([]string, rowsAtOnce)
	for i := range all {
		all[i] = "?" + strconv.Itoa(from+i)
	}
	return strings.Join(all, ", ")
}

// A statement is SQL as it is written for both engines; sqlite_dialect.go fills the marks.
type statement struct {
	columns int // that a row has; 0 where there are no rows
	sql     string
}

// statements is every statement that changes data, and every read inside a change.
var statements = []map[stmt]statement{messageStatements, runStatements, eraseStatements, redactionStatements, sequenceStatements, retentionStatements, retentionRunStatements, maskStatements, restorationStatements, outgoingStatements, fileStatements, userStatements}

// messageStatements are those of events, dispatches and their messages.
//
// A limit is written ?3 + 0 and not ?3 where it runs for every claim or poll: SQLite plans a statement
// anew each time the bare parameter of a LIMIT is bound, which took half the time of a claim.
var messageStatements = map[stmt]statement{
	stBegin:    {0, `{{begin}}`},
	stCommit:   {0, `COMMIT`},
	stRollback: {0, `ROLLBACK`},
	stCount: {0, `INSERT INTO counters (name, value) VALUES (?1, ?2)
		ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value`},

	stHour: {0, `INSERT INTO hourly_counts (hour, about, what, name, detail, country, class, writer, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)
		ON CONFLICT (hour, about, what, name, detail, country, class, writer) DO UPDATE SET value = hourly_counts.value + excluded.value`},
	stParty: {4, `SELECT ` + partyColumns + ` FROM dispatches WHERE id = ?1`},
	stUnused: {0, `INSERT INTO unused (connector, why, kind, writer, n, first_at, last_at, used_at, event_id)
		VALUES (?1, ?2, ?3, 0, ?4, ?5, ?5, 0, ?6)
		ON CONFLICT (connector, why, kind, writer) DO UPDATE SET
			n = CASE WHEN unused.last_at > ?7 AND ` + notUsedSince + ` THEN unused.n ELSE 0 END + excluded.n,
			first_at = CASE WHEN unused.n > 0 AND unused.last_at > ?7 AND ` + notUsedSince + ` THEN unused.first_at ELSE excluded.first_at END,
			last_at = excluded.last_at, event_id = excluded.event_id`},
	stUsedAgain: {0, `INSERT INTO unused (connector, why, kind, writer, n, first_at, last_at, used_at, event_id)
		VALUES (?1, ?2, ?3, 0, 0, 0, 0, ?4, 0)
		ON CONFLICT (connector, why, kind, writer) DO UPDATE SET n = 0, used_at = excluded.used_at`},
	stEndUnused: {0, `DELETE FROM unused WHERE ?1 = '' OR connector = ?1`},
	stOldHours:  {0, `DELETE FROM hourly_counts WHERE hour = (SELECT min(hour) FROM hourly_counts WHERE hour < ?1)`},

	stLastSeen: {0, `INSERT INTO counters (name, value) VALUES (?1, ?2)
		ON CONFLICT (name) DO UPDATE SET value = CASE WHEN excluded.value > counters.value THEN excluded.value ELSE counters.value END`},

	stSetCount: {0, `INSERT INTO counters (name, value) VALUES (?1, ?2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`},

	stTrimCounts: {0, `DELETE FROM counters WHERE name >= ?1 AND name < ?2`},

	stEventKey: {5, `SELECT id, connector, dedupe_key, content_key, received_at FROM events WHERE id = ?1`},
	stFindKey:  {1, `SELECT id FROM keys WHERE part = ?1 AND hash = ?2`},
	stFindKeys: {1, `SELECT id FROM keys WHERE part IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) AND hash = ?10`},
	stInsertEvent: {0, `INSERT INTO events (id, bucket, day, hash, connector, kind, topic, dedupe_key, content_key, phone, phone_problem, occurred_at, received_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`},
	stInsertPayloads:  {0, `INSERT INTO payloads (event_id, bundle) VALUES (?1, ?2)`},
	stInsertDecisions: {0, `INSERT INTO decisions (event_id, seq, bundle) VALUES (?1, 0, ?2)`},
	stInsertLater:     {0, `INSERT INTO decisions (event_id, seq, bundle) VALUES (?1, ?2, ?3)`},

	// A key that was flushed once already may be flushed again after a crash.
	stInsertKey:      {0, insertKeys(1)},
	stInsertKeys:     {0, insertKeys(keysAtOnce)},
	stCorrelated:     {12, `SELECT id, state, trigger_name, correlation_key, other_keys, phone, due_at, created_at, claimed_at, event_at, restarts, step FROM dispatches WHERE id = ?1 {{for update}}`},
	stAttemptInDoubt: {1, `SELECT 1 FROM attempts WHERE dispatch_id = ?1 AND state = 'in_doubt' LIMIT 1`},
	stTombstone: {5, `SELECT event_id, ref, event_at, expires_at, correlation_key FROM tombstones WHERE correlation = ?1 AND trigger_name = ?2
		AND correlation_key = ?3 AND phone = ?4 AND expires_at > ?5`},
	// The newest fact is kept, and the longest memory.
	stRecordTombstone: {0, `INSERT INTO tombstones (correlation, trigger_name, correlation_key, phone, event_id, ref, event_at, expires_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT (correlation, trigger_name, correlation_key, phone) DO UPDATE SET
			event_id   = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.event_id ELSE tombstones.event_id END,
			ref        = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.ref ELSE tombstones.ref END,
			event_at   = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.event_at ELSE tombstones.event_at END,
			expires_at = CASE WHEN excluded.expires_at >= tombstones.expires_at THEN excluded.expires_at ELSE tombstones.expires_at END`},
	stExpiredTombstones: {4, `SELECT correlation, trigger_name, correlation_key, phone FROM tombstones WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 2`},
	stDeleteTombstone:   {0, `DELETE FROM tombstones WHERE correlation = ?1 AND trigger_name = ?2 AND correlation_key = ?3 AND phone = ?4`},
	stInsertDispatch: {0, `INSERT INTO dispatches (id, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, state, reason,
			due_at, expires_at, created_at, updated_at, claimed_at, attempt, restarts, owner, lease_ends, config, ended_send, zone, step, account, tries, sent_as, other_keys)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'waiting', ?10, ?11, ?12, ?13, ?13, 0, 0, 0, '', 0, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)`},
	stRestart: {0, `UPDATE dispatches SET event_id = ?2, phone = ?3, category = ?4, send = ?5, reason = ?6, tries = 0,
			due_at = ?7, expires_at = ?8, config = ?9, updated_at = ?10, event_at = ?11, ended_send = ?12, first_due_at = 0, zone = ?13, account = ?14, step = ?15, sent_as = ?16, other_keys = ?17, owner = '', restarts = restarts + 1
		WHERE id = ?1 AND state{{checked}} = 'waiting'`},
	stReplan: {0, `UPDATE dispatches SET category = ?2, send = ?3, reason = ?4, due_at = ?5, expires_at = ?6, tries = 0,
			config = ?7, updated_at = ?8, ended_send = ?9, zone = ?10, account = ?11, first_due_at = 0, owner = ''
		WHERE id = ?1 AND state{{checked}} = 'waiting'`},
	stCancel: {4, `UPDATE dispatches SET state = 'cancelled', reason = ?2, updated_at = ?3, owner = '', ` + endSend + `
		WHERE id = ?1 AND state{{checked}} = 'waiting' RETURNING ` + partyColumns},

	// What is past its expiry is found though it is halted, to be dropped. A block without a reason is "=".
	stDue: {26, `SELECT ` + dispatchColumns + `, first_due_at, coalesce((SELECT '=' || b.reason FROM blocks b WHERE b.phone = dispatches.phone), ''), ` + redactionOf + ` FROM dispatches
		WHERE state = 'waiting' AND account = ?5 AND category = ?1 AND due_at <= ?2 AND due_at >= ?4 AND ((expires_at > 0 AND expires_at <= ?2) OR (` + unhalted + `))
		ORDER BY due_at, id LIMIT ?3 + 0 {{skip locked}}`},
	stDueProbe: {26, `SELECT ` + dispatchColumns + `, first_due_at, coalesce((SELECT '=' || b.reason FROM blocks b WHERE b.phone = dispatches.phone), ''), ` + redactionOf + ` FROM dispatches
		WHERE state = 'waiting' AND account = ?3 AND category = ?1 AND due_at <= ?2 AND ((expires_at > 0 AND expires_at <= ?2) OR (` + unhalted + `))
			AND (?9 = 0 OR tries = 0) AND (?4 = '' OR replace(?4, ',' || phone || ',', '') = ?4) AND (?5 = '' OR replace(send, ?5, '') = send) AND (?6 = '' OR replace(send, ?6, '') = send)
			AND (?7 = '' OR replace(send, ?7, '') = send) AND (?8 = '' OR replace(send, ?8, '') = send)
		ORDER BY due_at, id LIMIT 1 {{skip locked}}`},
	stClaim: {0, `UPDATE dispatches SET state = 'sending', reason = '', owner = ?1, attempt = attempt + 1, lease_ends = ?2, claimed_at = ?3, updated_at = ?3
		WHERE id IN (` + marks(4) + `)`},
	stExpire: {0, `UPDATE dispatches SET state = 'dropped', reason = ?2, updated_at = ?3, owner = '', ` + endSend + `
		WHERE id = ?1 AND state{{checked}} = 'waiting'`},
	// An owner stays, so that the late answer of an earlier attempt is known.
	stDefer: {0, `UPDATE dispatches SET reason = ?2, due_at = ?3, expires_at = ?4, updated_at = ?5,
			first_due_at = CASE WHEN first_due_at = 0 THEN due_at ELSE first_due_at END
		WHERE id = ?1 AND state{{checked}} = 'waiting'`},
	stReview: {0, `UPDATE dispatches SET due_at = ?2, expires_at = CASE WHEN expires_at = 0 THEN 0 ELSE expires_at - due_at + ?2 END
		WHERE id = ?1 AND due_at > ?2 AND ` + onlyDeferred},
	stVerdict: {4, `SELECT number, rule, action, until_at FROM verdicts WHERE dispatch_id = ?1 ORDER BY number DESC LIMIT 1`},
	stInsertVerdict: {0, `INSERT INTO verdicts (dispatch_id, number, rule, action, reason, until_at, at, last_at, times)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1)`},
	stRepeatVerdict: {0, `UPDATE verdicts SET rule = ?3, action = ?4, reason = ?5, until_at = ?6, last_at = ?7, times = times + 1
		WHERE dispatch_id = ?1 AND number = ?2`},
	stTriggerWindow:    {2, `SELECT since, used FROM trigger_windows WHERE trigger_name = ?1`},
	stSetTriggerWindow: {0, `INSERT INTO trigger_windows (trigger_name, since, used) VALUES (?1, ?2, ?3) ON CONFLICT (trigger_name) DO UPDATE SET since = excluded.since, used = excluded.used`},
	stTriggerNames:     {1, `SELECT name FROM trigger_names WHERE name > ''`},
	stNameTrigger:      {0, `INSERT INTO trigger_names (name) VALUES (?1) ON CONFLICT (name) DO NOTHING`},
	stPastSends: {3, `SELECT claimed_at, category, trigger_name FROM dispatches
		WHERE id IN (` + marks(3) + `) AND phone = ?1 AND ` + wasSent},
	stCreatedAfter:    {1, `SELECT created_at FROM dispatches WHERE id >= ?1 ORDER BY id LIMIT 1`},
	stAccountMessages: {2, `SELECT phone, accepted_at FROM messages WHERE dispatch_id >= ?3 AND account = ?1 AND accepted_at >= ?2 AND phone <> ''`},
	stAccountSending:  {1, `SELECT phone FROM dispatches WHERE state = 'sending' AND account = ?1 AND claimed_at >= ?2`},
	stAccountDoubt:    {1, `SELECT phone FROM dispatches WHERE state = 'in_doubt' AND account = ?1 AND claimed_at >= ?2`},
	stAccountLetBe:    {2, letBe("d.phone, d.claimed_at", "d.id >= ?3 AND d.account = ?1 AND d.claimed_at >= ?2")},
	stPastRows: {3, `SELECT claimed_at, category, trigger_name FROM dispatches
		WHERE id IN (SELECT id FROM dispatches WHERE event_id = 0 AND phone = ?1 ORDER BY id DESC LIMIT ?3 + 0) AND ` + wasSent},
	// An owner stays on a dispatch in doubt, so that the late answer of the same attempt is known.
	stFinish: {4, `UPDATE dispatches SET state = ?4, reason = ?5, updated_at = ?6, lease_ends = 0, ` + endSend + `
		WHERE id = ?1 AND state{{checked}} = 'sending' AND owner = ?2 AND attempt = ?3 RETURNING ` + partyColumns},
	// Nobody comes back to wait but by this. A message that a rule put off may be put off for its life in all, counted from when it first
	// fell due. Its life is what lies between due_at and expires_at; a retry moves the one alone, and would shorten it.
	stPutBack: {0, `UPDATE dispatches SET state = ?2, reason = ?3, due_at = ?4, expires_at = ?5, updated_at = ?6, lease_ends = 0, owner = CASE WHEN ?7 = 1 THEN owner ELSE '' END,
			send = CASE WHEN ended_send = '' OR ?2 = 'waiting' THEN send ELSE ended_send END,
			first_due_at = CASE WHEN ?10 = 1 THEN 0 WHEN first_due_at > 0 THEN first_due_at + (?4 - due_at) ELSE 0 END, tries = tries + ?11
		WHERE id = ?1 AND state{{checked}} = ?8 AND attempt = ?9`},
	// The first event that calls it off is the one that is told.
	stCallOff:   {0, `INSERT INTO called_off (dispatch_id, reason) VALUES (?1, ?2) ON CONFLICT (dispatch_id) DO NOTHING`},
	stCalledOff: {1, `SELECT reason FROM called_off WHERE dispatch_id = ?1`},
	stFinishLate: {4, `UPDATE dispatches SET state = ?4, reason = ?5, updated_at = ?6, ` + endSend + `
		WHERE id = ?1 AND state{{checked}} IN ('in_doubt', 'waiting') AND owner = ?2 AND attempt = ?3 RETURNING ` + partyColumns},
	stInsertMessage: {0, `INSERT INTO messages (` + messageColumns + `)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`},
	stInsertAttempt: {0, `INSERT INTO attempts (dispatch_id, number, state, owner, reason, answer, retry_at, at, words, error_class)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`},
	stRecipient: {3, `SELECT phone, category, account FROM dispatches WHERE id = ?1`},
	stDispatch:  {23, `SELECT ` + dispatchColumns + ` FROM dispatches WHERE id = ?1 {{for update}}`},

	stSending: {23, `SELECT ` + dispatchColumns + ` FROM dispatches
		WHERE state = 'sending' AND (owner <> ?1 OR lease_ends <= ?2) ORDER BY lease_ends LIMIT 200 {{skip locked}}`},
	stLapse: {0, `UPDATE dispatches SET state = ?4, reason = ?2, updated_at = ?3, lease_ends = 0, ` + endSend + `
		WHERE id = ?1 AND state{{checked}} = 'sending'`},
	stResolve: {0, `UPDATE dispatches SET state = ?2, reason = ?3, updated_at = ?4 WHERE id = ?1 AND state{{checked}} = 'in_doubt'`},

	stDuePolls: {18, `SELECT ` + messageColumns + ` FROM messages
		WHERE final = 0 AND account = ?3 AND next_poll_at <= ?1 ORDER BY next_poll_at, dispatch_id LIMIT ?2 + 0 {{skip locked}}`},
	stClaimPoll: {0, `UPDATE messages SET next_poll_at = ?1 WHERE dispatch_id IN (` + marks(2) + `)`},
	stMessage:   {18, `SELECT ` + messageColumns + ` FROM messages WHERE dispatch_id = ?1 {{for update}}`},
	stUpdateMessage: {0, `UPDATE messages SET status = ?2, error = ?3, status_at = ?4, told_at = ?5, next_poll_at = ?6, polls = ?7, final = ?8,
			sent_at = ?9, delivered_at = ?10, read_at = ?11, failed_at = ?12, error_class = ?13
		WHERE dispatch_id = ?1`},

	stInsertRejected: {0, `INSERT INTO rejected_requests (id, connector, status, stage, reason, method, bytes, sample, at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`},
	stOldRejected:   {1, `SELECT id FROM rejected_requests WHERE connector = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2 + 0`},
	stTrimConnector: {0, `DELETE FROM rejected_requests WHERE id IN (SELECT id FROM rejected_requests WHERE connector = ?1 AND id <= ?2 ORDER BY id LIMIT 200)`},
	stTrimRejected:  {0, `DELETE FROM rejected_requests WHERE id IN (SELECT id FROM rejected_requests WHERE id <= ?1 ORDER BY id LIMIT 200)`},
	stSaveConfig: {0, `INSERT INTO configs (version, text, at) VALUES (?1, ?2, ?3)
		ON CONFLICT (version) DO UPDATE SET text = excluded.text, at = excluded.at`},

	// The attempt's number guards a claim: a late caller finds another one, or no row.
	stInsertLookup: {0, `INSERT INTO lookups (event_id, connector, attempts, due_at, lease_ends, received_at, reason)
		VALUES (?1, ?2, 0, ?3, 0, ?3, '')`},
	stDueLookups:    {7, `SELECT ` + lookupColumns + ` FROM lookups WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2 + 0 {{skip locked}}`},
	stClaimLookup:   {0, `UPDATE lookups SET attempts = ?2, due_at = ?3, lease_ends = ?3, owner = ?4 WHERE event_id = ?1`},
	stRetryLookup:   {0, `UPDATE lookups SET attempts = ?3, due_at = ?4, lease_ends = 0, owner = '', reason = ?5 WHERE event_id = ?1 AND attempts = ?2 AND lease_ends > 0`},
	stFreeLookups:   {0, `UPDATE lookups SET due_at = ?1, lease_ends = 0, owner = '' WHERE lease_ends > 0 AND owner <> ?2`},
	stEndLookup:     {0, `DELETE FROM lookups WHERE event_id = ?1 AND attempts = ?2 AND lease_ends > 0`},
	stEnrichEvent:   {0, `UPDATE events SET phone = ?2, phone_problem = ?3 WHERE id = ?1`},
	stEnrichPayload: {0, `UPDATE payloads SET bundle = ?2 WHERE event_id = ?1`},
	stDecisions:     {2, `SELECT event_id, bundle FROM decisions WHERE event_id <= ?1 AND seq = 0 ORDER BY event_id DESC LIMIT 1`},
	stLater:         {2, `SELECT event_id, bundle FROM decisions WHERE event_id = ?1 AND seq > 0 ORDER BY seq`},
}
