-- The tables of nudgewire, on both engines. Marks in double braces are what differs: see engine/dialect.go and engine/postgres_dialect.go.
--
-- Times are microseconds since 1970 UTC; 0 is "never" or "not told". Numbers of rows are given out in Go.
--
-- The CHECKs spell out a = 'x' OR a = 'y' with the usual value first: for a longer IN list SQLite builds a table each time it runs a
-- statement, which doubled the cost of an insert. They are the law of docs/internals/states.md as far as one row can show it; the WHERE of every
-- UPDATE holds the rest.

-- ==== Events: what senders posted, and what was decided ====

-- One fact from a connector. content is what mapping read of it (facts, JSON), a line feed, and what the sender posted (payload), compressed
-- together; see event_content.go. hash is of connector and
-- dedupe key; the table keys leads from it, and from the phone, to the event (see event_dedupe.go).
CREATE TABLE events (
	id            {{id}},
	hash          BIGINT NOT NULL,
	connector     TEXT   NOT NULL,
	kind          TEXT   NOT NULL,
	topic         TEXT   NOT NULL,
	dedupe_key    TEXT   NOT NULL CHECK (dedupe_key <> ''),
	content_key   TEXT   NOT NULL DEFAULT '',
	phone         TEXT   NOT NULL,
	phone_problem TEXT   NOT NULL,
	occurred_at   BIGINT NOT NULL,
	received_at   BIGINT NOT NULL CHECK (received_at > 0),
	-- What of the content is gone: '' for nothing, the payload by its age, the facts with it by theirs, or all, as the contact is forgotten.
	cleared       TEXT   NOT NULL DEFAULT '' CHECK (cleared = '' OR cleared = 'payload' OR cleared = 'facts' OR cleared = 'forgotten'),
	content_type  TEXT   NOT NULL,
	content       {{blob}} NOT NULL
);
-- The few that ask for what is stored about their contact.
CREATE INDEX events_data_requests ON events (id) WHERE kind = 'contact.data_requested';

-- What leads from the hash of a text to rows: events by connector and dedupe key (part is their day), by their phone (part is 2)
-- and by words that people search and orders (part is 3, see package contacts), messages by their correlation key and by their phone (part is 0). Its rows are written many neighbours at once (see keyindex). Up
-- to which rows every key is here stands among the counters; the keys of the others are read from
-- their rows.
CREATE TABLE keys (
	part BIGINT NOT NULL,
	hash BIGINT NOT NULL,
	id   BIGINT NOT NULL,
	PRIMARY KEY ({{sqlite only}}part, hash{{end}}{{postgres only}}hash, part{{end}}, id)
) {{clustered}};

-- What a trigger that listens said to an event, in the order in which it did. kept is 0 once reason, key, values and config are cleared by
-- age; which messages the event led to stays as long as the event. later are the messages of a sequence's other steps, as a JSON list.
CREATE TABLE decisions (
	event_id     BIGINT NOT NULL,
	number       BIGINT NOT NULL CHECK (number > 0),
	trigger_name TEXT   NOT NULL,
	outcome      TEXT   NOT NULL CHECK (outcome <> ''),
	reason       TEXT   NOT NULL,
	key          TEXT   NOT NULL,
	message  BIGINT NOT NULL,
	later        TEXT   NOT NULL,
	clauses      TEXT   NOT NULL,
	config       TEXT   NOT NULL,
	at           BIGINT NOT NULL CHECK (at > 0),
	kept         BIGINT NOT NULL DEFAULT 1 CHECK (kept = 0 OR kept = 1),
	PRIMARY KEY (event_id, number)
) {{clustered}};
-- What triggers in mode shadow would have sent: few, where nobody tries one out.
CREATE INDEX decisions_shadowed ON decisions (event_id) WHERE outcome = 'shadowed';

-- Events of which it is not read yet what they say of contacts; see package contacts. again is 1 where that was read once already, and a part of it
-- was forgotten since.
CREATE TABLE unread_events (
	event_id {{id}},
	again    BIGINT NOT NULL DEFAULT 0 CHECK (again = 0 OR again = 1)
);

-- What each connector's events said of a contact, for people to read and search: of each field the newest word. It is written after the
-- commit of the events; no rule asks it, and audiences do. tags and spent (what was paid, by currency) are JSON lists, '' for none; order_at and
-- order_name are those of the newest order.
CREATE TABLE contacts (
	phone      TEXT   NOT NULL CHECK (phone <> ''),
	connector  TEXT   NOT NULL,
	name       TEXT   NOT NULL,
	email      TEXT   NOT NULL,
	language   TEXT   NOT NULL,
	country    TEXT   NOT NULL,
	timezone   TEXT   NOT NULL,
	tags       TEXT   NOT NULL,
	first_at   BIGINT NOT NULL CHECK (first_at > 0),
	last_at    BIGINT NOT NULL CHECK (last_at >= first_at),
	orders     BIGINT NOT NULL CHECK (orders >= 0),
	order_at   BIGINT NOT NULL,
	order_name TEXT   NOT NULL,
	spent      TEXT   NOT NULL,
	PRIMARY KEY (phone, connector)
) {{clustered}};

-- Events that wait for what their webhook left out. A row goes away in the commit that plans
-- its event, so the table holds only what is alive. A claim puts due_at to the end of its
-- lease: after a crash the look-up is due again by itself, or once its owner is known to be dead, and made twice it does no harm.
CREATE TABLE lookups (
	event_id    {{id}},
	connector   TEXT   NOT NULL,
	attempts    BIGINT NOT NULL CHECK (attempts >= 0),
	due_at      BIGINT NOT NULL CHECK (due_at > 0),
	lease_ends  BIGINT NOT NULL,
	owner       TEXT   NOT NULL DEFAULT '' CHECK (owner = '' OR lease_ends > 0),
	received_at BIGINT NOT NULL CHECK (received_at > 0),
	reason      TEXT   NOT NULL,
	CHECK (lease_ends = 0 OR (lease_ends = due_at AND attempts > 0))
);
CREATE INDEX lookups_due ON lookups (due_at);
CREATE INDEX lookups_under_way ON lookups (owner) WHERE lease_ends > 0;

-- Requests to a hook that were not taken.
CREATE TABLE rejected_requests (
	id        {{id}},
	connector TEXT   NOT NULL,
	status    BIGINT NOT NULL,
	stage     TEXT   NOT NULL,
	reason    TEXT   NOT NULL,
	method    TEXT   NOT NULL,
	bytes     BIGINT NOT NULL,
	sample    TEXT   NOT NULL,
	at        BIGINT NOT NULL
);
CREATE INDEX rejected_requests_connector ON rejected_requests (connector{{postgres only}}, id{{end}});

-- Events that came to nothing, counted by connector, reason and kind; see event_unused.go. first_at is when the counting of n began, and
-- used_at when the last event came that came to something, of reasons that end by one. event_id is the newest. writer keeps those who
-- write at the same time apart: a reader adds them up.
CREATE TABLE unused (
	connector TEXT   NOT NULL,
	why       TEXT   NOT NULL CHECK (why <> ''),
	kind      TEXT   NOT NULL,
	writer    BIGINT NOT NULL,
	n         BIGINT NOT NULL CHECK (n >= 0),
	first_at  BIGINT NOT NULL,
	last_at   BIGINT NOT NULL,
	used_at   BIGINT NOT NULL,
	event_id  BIGINT NOT NULL,
	PRIMARY KEY (connector, why, kind, writer)
) {{clustered}};

-- ==== Messages, from planned to read ====

-- One message for one phone, from planned to read: because of one event (event_id), or of one row of a run (run_id). state is ours; status
-- is the service's word, '' until it took the message (state accepted, which is final). One that ended and is sent again is a row of its
-- own, which names the one whose place it takes (replaces).
--
-- The answer to an upload may name messages of its part (part > 0): those begin as accepted, with the phone that the answer says, else
-- with none.
--
-- To add a column: here and in v_messages; messaging.Message, with the name that people see; messageColumns and ScanMessage (row_scan.go);
-- the statements that insert or renew a row (event_accept.go, run_enqueue.go, which fills the same statement by position, message_retry.go,
-- message_follow.go, message_replan.go); storyColumns (read_messages.go) where people alone see it; the columns of the view in docs/data.md. Exports
-- as CSV have it by lists_export.go in internal/server; what tells of a person is erased in internal/privacy (erasure.go, retention_phones.go).
-- Copies to another engine follow by themselves.
CREATE TABLE messages (
	id              {{id}},
	event_id        BIGINT NOT NULL DEFAULT 0,
	run_id          BIGINT NOT NULL DEFAULT 0,
	part            BIGINT NOT NULL DEFAULT 0,
	replaces        BIGINT NOT NULL DEFAULT 0 CHECK (replaces >= 0 AND replaces < id),
	event_at        BIGINT NOT NULL DEFAULT 0,
	trigger_name    TEXT   NOT NULL,
	correlation_key TEXT   NOT NULL DEFAULT '',
	correlation     BIGINT NOT NULL DEFAULT 0,
	phone           TEXT   NOT NULL,
	category        TEXT   NOT NULL CHECK (category = 'marketing' OR category = 'utility' OR category = 'authentication'),
	state           TEXT   NOT NULL CHECK (
		state = 'waiting' OR state = 'sending' OR state = 'accepted' OR state = 'rejected' OR state = 'in_doubt' OR state = 'cancelled' OR state = 'dropped'),
	reason          TEXT   NOT NULL DEFAULT '',
	due_at          BIGINT NOT NULL CHECK (due_at > 0),
	expires_at      BIGINT NOT NULL DEFAULT 0,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	claimed_at      BIGINT NOT NULL DEFAULT 0,
	attempt         BIGINT NOT NULL DEFAULT 0 CHECK (attempt >= 0),
	restarts        BIGINT NOT NULL DEFAULT 0 CHECK (restarts >= 0),
	owner           TEXT   NOT NULL DEFAULT '',
	lease_ends      BIGINT NOT NULL DEFAULT 0,
	config          TEXT   NOT NULL,
	-- The contact's own time zone where the event names one (IANA), which step of its trigger the message is,
	-- from 1, 0 for a trigger without steps, and the account of the service that it is sent by, '' where there is only one.
	zone            TEXT   NOT NULL DEFAULT '',
	step            BIGINT NOT NULL DEFAULT 0,
	account         TEXT   NOT NULL DEFAULT '',
	-- Of a test of its trigger, to whom: a name under test_numbers; '' for no test. Its correlation key is one of its own. It is no part of what
	-- was sent to the phone (limits, cooldowns) and is met by no event.
	test            TEXT   NOT NULL DEFAULT '',
	-- When it was due before a rule put it off for the first time; 0 where none did.
	first_due_at    BIGINT NOT NULL DEFAULT 0,
	-- The phone is the one spelling by which the contact is known. This is the spelling that the shop gave, which
	-- is sent, where it is another one; '' where it is the same, and where the phone is masked or gone.
	sent_as         TEXT   NOT NULL DEFAULT '',
	-- Calls for it that reached the service: pauses before the next one grow by it. attempt counts claims, of which some end before their call.
	tries           BIGINT NOT NULL DEFAULT 0 CHECK (tries >= 0),
	-- The event that cancelled it when it did not wait, in words: it is cancelled should it come back to wait. '' for none.
	called_off      TEXT   NOT NULL DEFAULT '',
	-- It had not ended long enough when the phones of those around it were masked, and is looked at again.
	unmasked        BIGINT NOT NULL DEFAULT 0 CHECK (unmasked = 0 OR unmasked = 1),
	-- What the service says: its id ('' for none: it cannot be asked about), its newest word and reason, when each was first seen, and when
	-- it told that it arrived. next_poll_at is 0 before it took the message, and once it is not asked any more.
	message_id      TEXT   NOT NULL DEFAULT '',
	status          TEXT   NOT NULL DEFAULT '',
	error           TEXT   NOT NULL DEFAULT '',
	error_class     TEXT   NOT NULL DEFAULT '',
	accepted_at     BIGINT NOT NULL DEFAULT 0,
	status_at       BIGINT NOT NULL DEFAULT 0,
	told_at         BIGINT NOT NULL DEFAULT 0,
	next_poll_at    BIGINT NOT NULL DEFAULT 0,
	polls           BIGINT NOT NULL DEFAULT 0 CHECK (polls >= 0),
	sent_at         BIGINT NOT NULL DEFAULT 0,
	delivered_at    BIGINT NOT NULL DEFAULT 0,
	read_at         BIGINT NOT NULL DEFAULT 0,
	failed_at       BIGINT NOT NULL DEFAULT 0,
	-- The other identifiers of its matter, on lines of their own. A cancelling event finds it by any of them: a shop that
	-- deletes a checkout names it by another number than the order that comes of it.
	other_keys      TEXT   NOT NULL DEFAULT '',
	-- What is sent (JSON), and what takes its place once the message has ended, or is in doubt and not sent again by
	-- itself: where variables are not kept. '' where send stays as it is.
	send            TEXT   NOT NULL,
	ended_send      TEXT   NOT NULL DEFAULT '',
	CHECK ((state = 'sending') = (lease_ends > 0)),
	CHECK (state <> 'sending' OR owner <> ''),
	CHECK ((attempt > 0 AND claimed_at > 0) OR state = 'waiting' OR state = 'cancelled' OR state = 'dropped'),
	CHECK (reason <> '' OR state = 'waiting' OR state = 'sending' OR state = 'accepted'),
	CHECK ((state = 'accepted') = (status <> '')),
	CHECK ((state = 'accepted') = (accepted_at > 0)),
	CHECK (state = 'accepted' OR (next_poll_at = 0 AND message_id = '')),
	CHECK (next_poll_at = 0 OR (message_id <> '' AND status <> 'read' AND status <> 'failed' AND status <> 'expired' AND status <> 'untracked')),
	CHECK (part = 0 OR (run_id > 0 AND state = 'accepted'))
);
CREATE INDEX messages_lease ON messages (lease_ends) WHERE state = 'sending';
CREATE INDEX messages_doubt ON messages (id) WHERE state = 'in_doubt';
CREATE INDEX messages_unsent ON messages (state{{postgres only}}, id{{end}}) WHERE state = 'rejected' OR state = 'cancelled' OR state = 'dropped';
CREATE INDEX messages_deferred ON messages (id) WHERE state = 'waiting' AND first_due_at > 0;
CREATE INDEX messages_due ON messages (account, category, due_at{{postgres only}}, id{{end}}) WHERE state = 'waiting';
CREATE INDEX messages_poll ON messages (account, next_poll_at{{postgres only}}, id{{end}}) WHERE next_poll_at > 0;
CREATE INDEX messages_final ON messages (status, id) WHERE state = 'accepted' AND next_poll_at = 0;
CREATE INDEX messages_message_id ON messages (message_id) WHERE message_id <> '';
CREATE UNIQUE INDEX messages_replaces ON messages (replaces) WHERE replaces > 0;
CREATE INDEX messages_unmasked ON messages (id) WHERE unmasked = 1;
-- From a phone to the rows of runs. What an event caused is found through the event and pays nothing for it.
CREATE INDEX messages_of_rows ON messages (phone{{postgres only}}, id{{end}}) WHERE event_id = 0 AND phone <> '';

-- The memory of cancelling events, one row a correlation key.
CREATE TABLE tombstones (
	correlation     BIGINT NOT NULL,
	trigger_name    TEXT   NOT NULL,
	correlation_key TEXT   NOT NULL,
	phone           TEXT   NOT NULL,
	event_id        BIGINT NOT NULL,
	ref             TEXT   NOT NULL,
	event_at        BIGINT NOT NULL,
	expires_at      BIGINT NOT NULL,
	PRIMARY KEY (correlation, trigger_name, correlation_key, phone)
) {{clustered}};
CREATE INDEX tombstones_expiry ON tombstones (expires_at);

-- What is asked of a message that is a step of a sequence when it falls due, as its trigger said it when it
-- was planned. sequence is the message of the first step that was stored, conditions a JSON list of texts;
-- passed says that they did not hold, so that the steps after it look past it.
CREATE TABLE steps (
	message {{id}},
	sequence    BIGINT NOT NULL CHECK (sequence > 0),
	steps       BIGINT NOT NULL CHECK (steps > 0),
	conditions  TEXT   NOT NULL,
	wait        TEXT   NOT NULL,
	passed      BIGINT NOT NULL CHECK (passed = 0 OR passed = 1)
);
CREATE INDEX steps_sequence ON steps (sequence{{postgres only}}, message{{end}});

-- What the rules said to a message when it was due, where they did not let it go. Saying the same again, until the
-- same time, is one row: at is the first time, last_at the last.
CREATE TABLE verdicts (
	message BIGINT NOT NULL,
	number      BIGINT NOT NULL CHECK (number > 0),
	rule        TEXT   NOT NULL CHECK (rule <> ''),
	action      TEXT   NOT NULL CHECK (action = 'deferred' OR action = 'dropped'),
	reason      TEXT   NOT NULL CHECK (reason <> ''),
	until_at    BIGINT NOT NULL,
	at          BIGINT NOT NULL CHECK (at > 0),
	last_at     BIGINT NOT NULL,
	times       BIGINT NOT NULL CHECK (times > 0),
	CHECK ((action = 'deferred') = (until_at > 0)),
	PRIMARY KEY (message, number)
) {{clustered}};

-- Each attempt to send that did not end in plain acceptance.
CREATE TABLE attempts (
	message BIGINT NOT NULL,
	number      BIGINT NOT NULL CHECK (number > 0),
	state       TEXT   NOT NULL CHECK (
		state = 'waiting' OR state = 'in_doubt' OR state = 'accepted' OR state = 'rejected' OR state = 'dropped'),
	owner       TEXT   NOT NULL,
	reason      TEXT   NOT NULL,
	answer      TEXT   NOT NULL,
	retry_at    BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	-- The service's own words about the message, and the class that the rules of that day gave them; '' is unknown.
	words       TEXT   NOT NULL DEFAULT '',
	error_class TEXT   NOT NULL DEFAULT '',
	PRIMARY KEY (message, number, state)
) {{clustered}};

-- What people said of messages in doubt, each time.
CREATE TABLE resolutions (
	message BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	resolved    TEXT   NOT NULL CHECK (resolved = 'accepted' OR resolved = 'resend' OR resolved = 'drop'),
	reason      TEXT   NOT NULL,
	PRIMARY KEY (message, at)
) {{clustered}};

-- Correlation keys that got their message, of triggers that send once: the message, which is not kept any more, and when
-- it was sent. correlation is the hash under which the key is found.
CREATE TABLE sent_once (
	correlation BIGINT NOT NULL PRIMARY KEY,
	message BIGINT NOT NULL,
	at          BIGINT NOT NULL CHECK (at > 0),
	-- What became of the message: it was accepted, or it may have arrived and was let be.
	state       TEXT   NOT NULL DEFAULT 'accepted' CHECK (state = 'accepted' OR state = 'dropped')
) {{clustered}};

-- Every trigger by which something was ever queued. With a phone, its name leads to the messages of that phone by
-- keys that are there for other reasons.
CREATE TABLE trigger_names (
	name TEXT   NOT NULL PRIMARY KEY
) {{clustered}};

-- How much of its rate a trigger or a job has used: since when its window runs, and how many claims there were in it, or rows that were
-- handed over. What has no rate has no row, or one that nobody reads.
CREATE TABLE windows (
	about TEXT   NOT NULL CHECK (about IN ('trigger', 'job')),
	name  TEXT   NOT NULL CHECK (name <> ''),
	since BIGINT NOT NULL CHECK (since > 0),
	used  BIGINT NOT NULL CHECK (used >= 0),
	PRIMARY KEY (about, name)
) {{clustered}};

-- What the service said about messages that it did not send. text is without what differs from message to
-- message, sample the newest as it came, message whose it was. Only the newest texts are kept.
CREATE TABLE error_texts (
	text        TEXT   NOT NULL PRIMARY KEY CHECK (text <> ''),
	sample      TEXT   NOT NULL,
	rejected    BIGINT NOT NULL CHECK (rejected >= 0),
	failed      BIGINT NOT NULL CHECK (failed >= 0),
	first_at    BIGINT NOT NULL CHECK (first_at > 0),
	last_at     BIGINT NOT NULL CHECK (last_at > 0),
	message BIGINT NOT NULL
) {{clustered}};
CREATE INDEX error_texts_last ON error_texts (last_at);

-- ==== Lists: runs of jobs, their files and rows ====

-- One firing of a job. A run's identity is its job and the local time on the wall: who gets
-- the row stored runs it. tally is JSON; kept is its number of rows to send, for the search of
-- the last run that was sent.
CREATE TABLE runs (
	id               {{id}},
	job              TEXT   NOT NULL CHECK (job <> ''),
	slot             TEXT   NOT NULL CHECK (slot <> ''),
	due_at           BIGINT NOT NULL CHECK (due_at > 0),
	cause            TEXT   NOT NULL CHECK (cause = 'cron' OR cause = 'missed' OR cause = 'hand'),
	source           TEXT   NOT NULL,
	config           TEXT   NOT NULL,
	state            TEXT   NOT NULL CHECK (
		state = 'done' OR state = 'skipped' OR state = 'planned' OR state = 'building' OR state = 'awaiting_approval' OR state = 'uploading'
		OR state = 'paused' OR state = 'partial' OR state = 'failed' OR state = 'cancelled'),
	reason           TEXT   NOT NULL,
	before           TEXT   NOT NULL CHECK (before = '' OR before = 'planned' OR before = 'building' OR before = 'awaiting_approval' OR before = 'uploading'),
	deliver          TEXT   NOT NULL,
	campaign         TEXT   NOT NULL,
	template_id      BIGINT NOT NULL,
	template         TEXT   NOT NULL,
	language         TEXT   NOT NULL,
	category         TEXT   NOT NULL,
	expires          BIGINT NOT NULL,
	-- What its rows have beside a phone (JSON), as its files name them: var_1, language; '' before it was built.
	columns          TEXT   NOT NULL,
	tally            TEXT   NOT NULL,
	kept             BIGINT NOT NULL CHECK (kept >= 0),
	approved         TEXT   NOT NULL,
	owner            TEXT   NOT NULL,
	lease_ends       BIGINT NOT NULL,
	created_at       BIGINT NOT NULL CHECK (created_at > 0),
	started_at       BIGINT NOT NULL,
	ended_at         BIGINT NOT NULL,
	began            TEXT   NOT NULL DEFAULT '',
	stopped          TEXT   NOT NULL DEFAULT '' CHECK (stopped = '' OR stopped = 'person' OR stopped = 'newer' OR stopped = 'canary' OR stopped = 'key'
		OR stopped = 'doubt' OR stopped = 'rejection' OR stopped = 'size' OR stopped = 'config' OR stopped = 'restored'),
	stopped_by       TEXT   NOT NULL DEFAULT '' CHECK (stopped_by = '' OR stopped = 'person'),
	overruled        TEXT   NOT NULL DEFAULT '',
	repeats          BIGINT NOT NULL DEFAULT 0 CHECK (repeats >= 0),
	-- The run whose parts or rows this one sends again; 0 for none.
	again_of         BIGINT NOT NULL DEFAULT 0 CHECK (again_of >= 0),
	-- When the values of its rows were removed; 0 while they are there.
	blanked_at       BIGINT NOT NULL DEFAULT 0 CHECK (blanked_at >= 0),
	-- What each row of a run is sent as, as it is written in the config (JSON); '' for runs that upload files.
	send             TEXT   NOT NULL DEFAULT '',
	wait_until       BIGINT NOT NULL DEFAULT 0,
	-- What the canary of a run found before it let the rest go, in words; '' before that.
	canary           TEXT   NOT NULL DEFAULT '',
	account          TEXT   NOT NULL DEFAULT '',
	-- Of a run that sends rows of another again, the classes of the service's words that it is about, with commas
	-- between them; '' is all.
	again_classes    TEXT   NOT NULL DEFAULT '',
	-- Of a run that sends rows of another again: how long before it these had ended at the least (microseconds), 0 for as
	-- their class rests, and when what was not sent is dropped, 0 for as the job has it.
	again_wait       BIGINT NOT NULL DEFAULT 0 CHECK (again_wait >= 0),
	again_until      BIGINT NOT NULL DEFAULT 0 CHECK (again_until >= 0),
	-- Who approved it while its guard held it, and how many different people that takes, as JSON; '' for nobody and 1.
	approvals        TEXT   NOT NULL DEFAULT '',
	-- Of a run that is paused because the config does not send by its job: why ("is gone from the config", "is off"). released is who lets it go on all the same; '' for nobody.
	held             TEXT   NOT NULL DEFAULT '',
	released         TEXT   NOT NULL DEFAULT '',
	-- A run that is built may wait to read its source once more, which was away, or changed while it was read.
	waits            TEXT   NOT NULL DEFAULT ''
			CHECK (waits = '' OR waits = 'source' OR waits = 'canary' OR waits = 'quiet_hours' OR waits = 'rate' OR waits = 'limits' OR waits = 'at' OR waits = 'budget'),
	CHECK ((before <> '') = (state = 'paused')),
	CHECK (stopped <> '' OR (state <> 'paused' AND state <> 'cancelled')),
	CHECK ((ended_at > 0) = (state = 'done' OR state = 'skipped' OR state = 'partial' OR state = 'failed' OR state = 'cancelled')),
	CHECK (owner = '' OR state = 'planned' OR state = 'building' OR state = 'uploading'),
	CHECK (reason <> '' OR (state <> 'awaiting_approval' AND state <> 'paused' AND state <> 'partial' AND state <> 'failed' AND state <> 'skipped' AND state <> 'cancelled'))
);
CREATE UNIQUE INDEX runs_slot ON runs (job, slot);
CREATE INDEX runs_clock ON runs (job, due_at) WHERE cause <> 'hand';
CREATE INDEX runs_sent ON runs (job, id) WHERE kept > 0 AND (state = 'done' OR state = 'partial' OR state = 'cancelled');
CREATE INDEX runs_open ON runs (id) WHERE ended_at = 0;
CREATE INDEX runs_again ON runs (again_of) WHERE again_of > 0;
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at > 0;
-- The newest run of a job, which stays whatever its age.
CREATE INDEX runs_of_job ON runs (job, id);

-- One CSV file of a run, stored with its rows (part_rows), bytes and hash before the first upload.
CREATE TABLE parts (
	run_id      BIGINT NOT NULL,
	number      BIGINT NOT NULL CHECK (number > 0),
	-- The run that read its rows: of a run that sends another's again it is that one.
	list_id     BIGINT NOT NULL CHECK (list_id > 0),
	-- Of its rows, which part_rows names.
	row_count   BIGINT NOT NULL CHECK (row_count >= 0),
	-- Of the file of the newest attempt; 0 and '' before the first.
	bytes       BIGINT NOT NULL CHECK (bytes >= 0),
	sha256      TEXT   NOT NULL,
	-- How many rows of that file go to each country, and what they cost (JSON).
	goes        TEXT   NOT NULL DEFAULT '',
	state       TEXT   NOT NULL CHECK (
		state = 'accepted' OR state = 'waiting' OR state = 'uploading' OR state = 'rejected' OR state = 'in_doubt' OR state = 'cancelled' OR state = 'excluded'),
	reason      TEXT   NOT NULL,
	attempt     BIGINT NOT NULL CHECK (attempt >= 0),
	retry_at    BIGINT NOT NULL,
	campaign_id TEXT   NOT NULL,
	message_ids TEXT   NOT NULL,
	answer      TEXT   NOT NULL,
	http_status BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	-- A person's word on a part that was in doubt; '' for none.
	resolved    TEXT   NOT NULL DEFAULT '',
	claimed_at  BIGINT NOT NULL DEFAULT 0,
	-- Of one that waited in data that was restored nobody here knows an attempt.
	CHECK (attempt > 0 OR (state <> 'uploading' AND state <> 'rejected')),
	CHECK (attempt = 0 OR (bytes > 0 AND sha256 <> '')),
	CHECK (row_count > 0 OR state = 'excluded'),
	CHECK (reason <> '' OR (state <> 'rejected' AND state <> 'in_doubt' AND state <> 'excluded')),
	PRIMARY KEY (run_id, number)
) {{clustered}};
-- Parts whose ids are not all messages yet: message_ids is emptied once they are.
CREATE INDEX parts_unfollowed ON parts (run_id, number) WHERE message_ids <> '';
-- Files that nobody knows the fate of are few among all.
CREATE INDEX parts_doubt ON parts (updated_at) WHERE state = 'in_doubt';
CREATE INDEX parts_list ON parts (list_id, run_id, number);
CREATE INDEX parts_claimed ON parts (claimed_at) WHERE claimed_at > 0;

-- Which rows of its list a part has, from one number to another: those on the file of its newest attempt; of one that waits for its turn those
-- that it may take. A row is in one part of a run at the most, and in those of the runs that send it again.
CREATE TABLE part_rows (
	run_id    BIGINT NOT NULL,
	part      BIGINT NOT NULL,
	first_row BIGINT NOT NULL CHECK (first_row > 0),
	last_row  BIGINT NOT NULL CHECK (last_row >= first_row),
	PRIMARY KEY (run_id, part, first_row)
) {{clustered}};

-- Runs of which a part is being cut, since when: whoever changes a fact that it is cut by notes that in cut_changes. See run_cuts.go.
CREATE TABLE cuts (
	run_id BIGINT NOT NULL PRIMARY KEY,
	at     BIGINT NOT NULL CHECK (at > 0)
) {{clustered}};

-- Contacts, by a hash, of whom a fact has changed since a part of that run began to be cut.
CREATE TABLE cut_changes (
	run_id  BIGINT NOT NULL,
	contact BIGINT NOT NULL,
	fact    TEXT   NOT NULL CHECK (fact = 'block' OR fact = 'consent' OR fact = 'send'),
	PRIMARY KEY (run_id, contact, fact)
) {{clustered}};

-- Rows of a run that are queued as messages: row first_row + n is the message with the number message + n.
-- One commit hands out its numbers without a gap, so a range stands for hundreds of rows.
CREATE TABLE run_rows (
	run_id      BIGINT NOT NULL,
	first_row   BIGINT NOT NULL CHECK (first_row > 0),
	row_count   BIGINT NOT NULL CHECK (row_count > 0),
	message BIGINT NOT NULL CHECK (message > 0),
	-- How many of a range are not kept any more: the range stays, because it says that its rows were queued.
	gone        BIGINT NOT NULL DEFAULT 0 CHECK (gone >= 0),
	PRIMARY KEY (run_id, first_row)
) {{clustered}};
CREATE INDEX run_rows_message ON run_rows (message);

-- Messages that an upload's answer named: the n-th id that the answer of a part lists, from 1, is
-- the message with the number message + n - first_id.
CREATE TABLE run_messages (
	run_id      BIGINT NOT NULL,
	part        BIGINT NOT NULL CHECK (part > 0),
	first_id    BIGINT NOT NULL CHECK (first_id > 0),
	id_count    BIGINT NOT NULL CHECK (id_count > 0),
	message BIGINT NOT NULL CHECK (message > 0),
	gone        BIGINT NOT NULL DEFAULT 0 CHECK (gone >= 0),
	PRIMARY KEY (run_id, part, first_id)
) {{clustered}};
CREATE INDEX run_messages_message ON run_messages (message);

-- The rows of lists. number counts those that may go, from 1; those that were excluded when the list was read have numbers below 0. A row
-- that goes in a file has no state here: it is that of the newest part that has it (part_rows). One that is sent by itself is a message once it
-- is handed over (run_rows).
CREATE TABLE list_rows (
	run_id     BIGINT NOT NULL CHECK (run_id > 0),
	number     BIGINT NOT NULL CHECK (number <> 0),
	-- Where it stands in the source: the row that a spreadsheet shows, and the file where there are files.
	line       BIGINT NOT NULL,
	file       TEXT   NOT NULL,
	phone      TEXT   NOT NULL,
	-- How the source spells the phone, where that differs; of an excluded row the phone as it stands there.
	given      TEXT   NOT NULL,
	-- What is sent beside the phone (a JSON list), in the order of the run's columns.
	cells      TEXT   NOT NULL,
	-- Why it does not go; '' for one that may.
	reason     TEXT   NOT NULL,
	-- When it may go, for one that was put off; 0 for its turn.
	wait_until BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (run_id, number)
) {{clustered}};
CREATE INDEX list_rows_phone ON list_rows (phone{{postgres only}}, run_id, number{{end}}) WHERE phone <> '';
-- What is no phone is looked up as it stands in the source.
CREATE INDEX list_rows_given ON list_rows (given) WHERE phone = '' AND given <> '';

-- Since when each cron line of a job is known: what lies before was not missed.
CREATE TABLE job_clocks (
	job   TEXT   NOT NULL,
	line  TEXT   NOT NULL,
	since BIGINT NOT NULL CHECK (since > 0),
	PRIMARY KEY (job, line)
) {{clustered}};

-- ==== Contacts: who wants messages, and who was forgotten ====

-- Contacts to whom nothing is sent.
CREATE TABLE blocks (
	phone      TEXT   NOT NULL PRIMARY KEY CHECK (phone <> ''),
	reason     TEXT   NOT NULL,
	source     TEXT   NOT NULL,
	at         BIGINT NOT NULL CHECK (at > 0),
	event_id   BIGINT NOT NULL DEFAULT 0 CHECK (event_id >= 0),
	-- A block that the service's words made: it is ended by an event, too.
	by_service BIGINT NOT NULL DEFAULT 0 CHECK (by_service = 0 OR by_service = 1)
) {{clustered}};
CREATE INDEX blocks_at ON blocks (at);

-- The newest word of each contact on whether it wants messages, by the time when it happened: an
-- older one that arrives later changes nothing. event_id is 0 for a person's word.
CREATE TABLE opt_outs (
	phone     TEXT   NOT NULL PRIMARY KEY CHECK (phone <> ''),
	opted_out BIGINT NOT NULL CHECK (opted_out = 0 OR opted_out = 1),
	event_at  BIGINT NOT NULL,
	event_id  BIGINT NOT NULL
) {{clustered}};

-- What each contact agreed to, by channel (phone: messages; email) and category: the newest word by the
-- time when it happened. since, source, proof and event_id are those of the first time that the present word was said,
-- event_at is the last. event_id is 0 for a person's word or a file's.
CREATE TABLE consents (
	phone    TEXT   NOT NULL CHECK (phone <> ''),
	channel  TEXT   NOT NULL CHECK (channel = 'phone' OR channel = 'email'),
	category TEXT   NOT NULL CHECK (category = 'marketing' OR category = 'utility' OR category = 'authentication'),
	consent  TEXT   NOT NULL CHECK (consent = 'given' OR consent = 'withdrawn'),
	since    BIGINT NOT NULL,
	event_at BIGINT NOT NULL,
	source   TEXT   NOT NULL,
	proof    TEXT   NOT NULL,
	event_id BIGINT NOT NULL CHECK (event_id >= 0),
	PRIMARY KEY (phone, channel, category)
) {{clustered}};

-- Contacts that were forgotten, by a keyed hash of their phone: they stay blocked. at is when. by_hand says that
-- a person had blocked the contact, so that only a person ends it.
CREATE TABLE forgotten (
	mark    TEXT   NOT NULL PRIMARY KEY CHECK (mark <> ''),
	at      BIGINT NOT NULL CHECK (at > 0),
	by_hand BIGINT NOT NULL CHECK (by_hand = 0 OR by_hand = 1),
	-- That a person or the contact allowed messages again. The mark stays, because a look-up that was under way then
	-- must not bring back what it finds of an event from before, nor plan by it.
	allowed BIGINT NOT NULL DEFAULT 0 CHECK (allowed = 0 OR allowed = 1)
) {{clustered}};
CREATE INDEX forgotten_at ON forgotten (at);

-- What is to be forgotten and is not yet: a contact by phone, or all that came by a connector. A row goes
-- away once nothing that is stored tells of it. What arrived after at is another matter.
CREATE TABLE forgetting (
	phone     TEXT   NOT NULL,
	connector TEXT   NOT NULL,
	source    TEXT   NOT NULL,
	at        BIGINT NOT NULL CHECK (at > 0),
	waits     TEXT   NOT NULL,
	-- Whether the audit says who ordered it.
	recorded  BIGINT NOT NULL DEFAULT 1 CHECK (recorded = 0 OR recorded = 1),
	PRIMARY KEY (phone, connector),
	CHECK ((phone = '') <> (connector = ''))
) {{clustered}};

-- Senders that asked for all that came by them to be forgotten, until a person decides: one row each. at is when the first request
-- came, up_to when the newest did: what came later is not meant. contacts and events are how many there were when the
-- audit recorded the request (recorded).
CREATE TABLE redactions (
	connector TEXT   NOT NULL PRIMARY KEY CHECK (connector <> ''),
	event_id  BIGINT NOT NULL,
	source    TEXT   NOT NULL,
	at        BIGINT NOT NULL CHECK (at > 0),
	up_to     BIGINT NOT NULL CHECK (up_to >= at),
	contacts  BIGINT NOT NULL CHECK (contacts >= 0),
	events    BIGINT NOT NULL CHECK (events >= 0),
	recorded  BIGINT NOT NULL CHECK (recorded = 0 OR recorded = 1)
) {{clustered}};

-- ==== What holds sending back ====

-- What keeps messages back, whoever ordered it: a person, the config, a run, the service, what was found of the data. See hold.go beside the
-- root for the kinds, and what ends each; internal/store/hold.go asks here for each claim. A hold keeps messages back until ended_at; its row stays for a
-- while after that.
--
-- Of what the service does not take (kind 'service'): part is the one trigger or run whose messages wait ("trigger reminder"), of an account
-- its lane, '' for all. cause says what is wrong. From until_at on the one message called probe goes, and what becomes of it ends the hold, or
-- makes it longer; strikes are the holds one after the other. by_status says that the service took such messages and failed them later,
-- asked that a question was answered well since. way is a keyed hash of the key and the address by which an account was called: who calls
-- it otherwise is not held. mark is what the send of a message contains that asks for the template or campaign.
CREATE TABLE holds (
	scope      TEXT   NOT NULL CHECK (scope IN ('all', 'trigger', 'template', 'campaign', 'text', 'job', 'run', 'account')),
	name       TEXT   NOT NULL CHECK (name <> '' OR scope IN ('all', 'text', 'account')),
	kind       TEXT   NOT NULL CHECK (kind IN ('halt', 'mode', 'released', 'run', 'service', 'damage', 'restored')),
	of_account TEXT   NOT NULL DEFAULT '',
	part       TEXT   NOT NULL DEFAULT '' CHECK (part = '' OR kind = 'service'),
	way        TEXT   NOT NULL DEFAULT '' CHECK (way = '' OR scope = 'account'),
	reason     TEXT   NOT NULL,
	who        TEXT   NOT NULL,
	at         BIGINT NOT NULL CHECK (at > 0),
	until_at   BIGINT NOT NULL CHECK (until_at > 0 OR kind <> 'service'),
	ended_at   BIGINT NOT NULL DEFAULT 0,
	cause      TEXT   NOT NULL DEFAULT '' CHECK ((cause <> '') = (kind = 'service')),
	strikes    BIGINT NOT NULL DEFAULT 0 CHECK (strikes >= 0),
	by_status  BIGINT NOT NULL DEFAULT 0 CHECK (by_status = 0 OR by_status = 1),
	asked      BIGINT NOT NULL DEFAULT 0 CHECK (asked = 0 OR asked = 1),
	probe      BIGINT NOT NULL DEFAULT 0,
	mark       TEXT   NOT NULL DEFAULT '' CHECK ((mark <> '') = (scope IN ('template', 'campaign', 'text'))),
	PRIMARY KEY (scope, name, kind, of_account, part, way)
) {{clustered}};
CREATE INDEX holds_now ON holds (ended_at) WHERE ended_at = 0;

-- Each time that this database was found to be a copy of what it was: restored, moved, or put back. Until a person has
-- reviewed the newest one a hold of kind 'restored' keeps everything back. What was due until until_at may have been sent by whoever had the data
-- after the copy was made; until_at is 0 while that is not worked out yet. last_event, last_run: the newest numbers in the copy.
CREATE TABLE restorations (
	id            {{id}},
	how           TEXT   NOT NULL CHECK (how <> ''),
	copied_at     BIGINT NOT NULL,
	newest_at     BIGINT NOT NULL,
	found_at      BIGINT NOT NULL CHECK (found_at > 0),
	until_at      BIGINT NOT NULL,
	last_event    BIGINT NOT NULL,
	last_message BIGINT NOT NULL,
	last_run      BIGINT NOT NULL,
	config        TEXT   NOT NULL,
	claimed       BIGINT NOT NULL,
	doubted       BIGINT NOT NULL
);

-- ==== Alerts and webhooks out ====

-- What the receivers of alerts are told: what was told and lasts, or ended lately, what is still to be told, and how
-- deliveries ended. receiver is a hash of what it is and where. The rows are few, and are replaced together.
CREATE TABLE alerts (
	receiver  TEXT   NOT NULL CHECK (receiver <> ''),
	condition TEXT   NOT NULL CHECK (condition <> ''),
	code      TEXT   NOT NULL CHECK (code <> ''),
	subject   TEXT   NOT NULL,
	severity  TEXT   NOT NULL,
	about     TEXT   NOT NULL,
	words     TEXT   NOT NULL,
	hint      TEXT   NOT NULL,
	began     BIGINT NOT NULL CHECK (began > 0),
	told_at   BIGINT NOT NULL CHECK (told_at > 0),
	ended_at  BIGINT NOT NULL,
	PRIMARY KEY (receiver, condition, code, subject)
) {{clustered}};

CREATE TABLE alert_notices (
	position   BIGINT NOT NULL PRIMARY KEY,
	notice     TEXT   NOT NULL CHECK (notice <> ''),
	receiver   TEXT   NOT NULL CHECK (receiver <> ''),
	condition  TEXT   NOT NULL,
	code       TEXT   NOT NULL,
	subject    TEXT   NOT NULL,
	severity   TEXT   NOT NULL,
	about      TEXT   NOT NULL,
	words      TEXT   NOT NULL,
	hint       TEXT   NOT NULL,
	began      BIGINT NOT NULL,
	ended_at   BIGINT NOT NULL,
	created_at BIGINT NOT NULL CHECK (created_at > 0),
	attempts   BIGINT NOT NULL CHECK (attempts >= 0),
	next_at    BIGINT NOT NULL
) {{clustered}};

CREATE TABLE alert_receivers (
	receiver      TEXT   NOT NULL PRIMARY KEY CHECK (receiver <> ''),
	name          TEXT   NOT NULL,
	delivered_at  BIGINT NOT NULL,
	failed_at     BIGINT NOT NULL,
	failing_since BIGINT NOT NULL,
	last_error    TEXT   NOT NULL
) {{clustered}};

-- What receivers under webhooks_out are told: a row for each change and receiver, written in the commit that makes the change.
-- subject is the message's number, a run's with a minus before it, or 0; rows of one subject go to a receiver one after the other.
-- A claim puts due_at to the end of its lease: after a crash it is due again by itself, and whoever gets it twice knows it by its id.
-- Rows that have ended are kept for replay, until retention removes them.
CREATE TABLE webhooks_out (
	id         {{id}},
	receiver   TEXT   NOT NULL CHECK (receiver <> ''),
	subject    BIGINT NOT NULL,
	event_id   BIGINT NOT NULL,
	phone      TEXT   NOT NULL,
	kind       TEXT   NOT NULL CHECK (kind <> ''),
	body       TEXT   NOT NULL,
	state      TEXT   NOT NULL CHECK (state IN ('waiting', 'delivered', 'given_up')),
	attempts   BIGINT NOT NULL CHECK (attempts >= 0),
	due_at     BIGINT NOT NULL CHECK (due_at > 0),
	lease_ends BIGINT NOT NULL,
	at         BIGINT NOT NULL CHECK (at > 0),
	since      BIGINT NOT NULL CHECK (since > 0),
	ended_at   BIGINT NOT NULL,
	reason     TEXT   NOT NULL,
	CHECK (lease_ends = 0 OR (lease_ends = due_at AND attempts > 0 AND state = 'waiting')),
	CHECK ((state = 'waiting') = (ended_at = 0))
);
CREATE INDEX webhooks_out_due ON webhooks_out (receiver, due_at, id) WHERE state = 'waiting';
CREATE INDEX webhooks_out_subject ON webhooks_out (subject, id) WHERE state = 'waiting' AND subject <> 0;
CREATE INDEX webhooks_out_ended ON webhooks_out (ended_at) WHERE state <> 'waiting';
CREATE INDEX webhooks_out_given_up ON webhooks_out (receiver, id) WHERE state = 'given_up';

-- How deliveries to each receiver went.
CREATE TABLE webhook_receivers (
	receiver      TEXT   NOT NULL PRIMARY KEY CHECK (receiver <> ''),
	delivered_at  BIGINT NOT NULL,
	failed_at     BIGINT NOT NULL,
	failing_since BIGINT NOT NULL,
	last_error    TEXT   NOT NULL
) {{clustered}};

-- ==== Who may do what, and who did ====

-- Who may use the API from elsewhere. Of a token its SHA-256 is kept, which is enough for 256 random bits. scopes have a comma
-- between them; expires_at and revoked_at are 0 for never. makers are those who made created_by, and who made those, as a JSON list.
CREATE TABLE api_tokens (
	id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
	name       TEXT   NOT NULL CHECK (name <> ''),
	hash       TEXT   NOT NULL CHECK (hash <> ''),
	scopes     TEXT   NOT NULL CHECK (scopes <> ''),
	created_at BIGINT NOT NULL CHECK (created_at > 0),
	created_by TEXT   NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL,
	makers     TEXT   NOT NULL
) {{clustered}};

-- People who sign in to the console. password is argon2id with its parameters, '' until it is chosen; setup is the SHA-256 of the link by
-- which it is chosen. source is '' for who signs in by a password here, else what says who it is (oidc, header), and subject then is the
-- SHA-256 of whom it says it to be. Times are 0 for never. makers are who made the link of let_in_at, the last by which a password could
-- be chosen, and who made those, as a JSON list: they stay when these users are removed.
CREATE TABLE users (
	name         TEXT   NOT NULL PRIMARY KEY CHECK (name <> ''),
	role         TEXT   NOT NULL CHECK (role <> ''),
	password     TEXT   NOT NULL,
	source       TEXT   NOT NULL,
	subject      TEXT   NOT NULL,
	setup        TEXT   NOT NULL,
	setup_until  BIGINT NOT NULL,
	created_at   BIGINT NOT NULL CHECK (created_at > 0),
	created_by   TEXT   NOT NULL,
	disabled_at  BIGINT NOT NULL,
	signed_in_at BIGINT NOT NULL,
	makers       TEXT   NOT NULL,
	let_in_at    BIGINT NOT NULL
) {{clustered}};

-- Who is signed in, by the SHA-256 of 256 random bits that the browser has. user_name is '' for who came by a link, and then scopes are
-- what the session may do; else the role of the user says it.
CREATE TABLE console_sessions (
	hash      TEXT   NOT NULL PRIMARY KEY CHECK (hash <> ''),
	who       TEXT   NOT NULL,
	user_name TEXT   NOT NULL,
	scopes    TEXT   NOT NULL,
	began_at  BIGINT NOT NULL CHECK (began_at > 0),
	seen_at   BIGINT NOT NULL
) {{clustered}};
CREATE INDEX console_sessions_who ON console_sessions (who, seen_at);

-- Links that sign in once, by the SHA-256 of what is in them.
CREATE TABLE console_links (
	hash     TEXT   NOT NULL PRIMARY KEY CHECK (hash <> ''),
	who      TEXT   NOT NULL,
	scopes   TEXT   NOT NULL,
	until_at BIGINT NOT NULL
) {{clustered}};

-- Refresh tokens that an OAuth provider gave in place of configured ones, which it takes no more.
-- source is a SHA-256 of the address, the client and the configured token: another token in the
-- config finds none here. A row of a token that is configured no more stays, so that an older
-- config that comes back works.
CREATE TABLE refresh_tokens (
	source TEXT   NOT NULL PRIMARY KEY CHECK (source <> ''),
	token  TEXT   NOT NULL CHECK (token <> ''),
	at     BIGINT NOT NULL CHECK (at > 0)
) {{clustered}};

-- What people and programs ordered, who was told of whom, and which config was taken up, in the order of their numbers. hash is that of the entry and of
-- the hash before it, so that no entry can be changed or taken out without those behind it. Whole phones stand nowhere in it.
CREATE TABLE audit (
	id      BIGINT NOT NULL PRIMARY KEY CHECK (id > 0),
	at      BIGINT NOT NULL CHECK (at > 0),
	who     TEXT   NOT NULL,
	via     TEXT   NOT NULL,
	action  TEXT   NOT NULL CHECK (action <> ''),
	subject TEXT   NOT NULL,
	detail  TEXT   NOT NULL,
	outcome TEXT   NOT NULL,
	hash    TEXT   NOT NULL CHECK (hash <> '')
) {{clustered}};
CREATE INDEX audit_subjects ON audit (subject, id);

-- The last entry of the audit as it was written, in the same commit: entries that are taken off the end are missing by this. broken says what was
-- found so, and since when, until a person accepts it.
CREATE TABLE audit_end (
	one       BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
	id        BIGINT NOT NULL CHECK (id > 0),
	hash      TEXT   NOT NULL CHECK (hash <> ''),
	broken    TEXT   NOT NULL,
	broken_at BIGINT NOT NULL
) {{clustered}};

-- ==== Configs and counts ====

-- Each config that ever decided, as it is printed, without its secrets.
CREATE TABLE configs (
	version TEXT   NOT NULL PRIMARY KEY,
	text    TEXT   NOT NULL,
	at      BIGINT NOT NULL
);

-- The files that a config was read from, as they were written, with marks in place of secrets. Number 0 is the config itself.
CREATE TABLE config_files (
	version TEXT   NOT NULL,
	number  BIGINT NOT NULL CHECK (number >= 0),
	name    TEXT   NOT NULL CHECK (name <> ''),
	text    TEXT   NOT NULL,
	PRIMARY KEY (version, number)
) {{clustered}};

-- That a trigger or job has another name now (about says which): what was made under the name before it until at is its own. See
-- rename.go.
CREATE TABLE renames (
	about TEXT   NOT NULL CHECK (about = 'trigger' OR about = 'job'),
	was   TEXT   NOT NULL CHECK (was <> ''),
	name  TEXT   NOT NULL CHECK (name <> '' AND name <> was),
	at    BIGINT NOT NULL CHECK (at > 0),
	PRIMARY KEY (about, was, name)
) {{clustered}};

-- Figures by name; the view counters has them. What is added to has a row for each writer, or all would wait for one; what is set has one, of
-- writer 0, who is nobody.
CREATE TABLE counts (
	name   TEXT   NOT NULL,
	writer BIGINT NOT NULL,
	value  BIGINT NOT NULL,
	PRIMARY KEY (name, writer)
) {{clustered}}{{postgres only}}WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000){{end}};

CREATE VIEW counters AS
	SELECT name, CAST(CASE WHEN name >= 'last_event/' AND name < 'last_event0' THEN max(value) ELSE sum(value) END AS BIGINT) AS value FROM counts GROUP BY name;

-- What happened in each hour, as counts that are added to; see tally/hours.go. hour is hours since 1970 UTC. about is connector,
-- trigger or job, and name is its name. what is what happened; detail is the kind of an event, the outcome of a decision, or the template
-- of a message; of rows that were uploaded the number of their template. class is
-- the class of an error, the rule that dropped a message or who ended it, or how long it took to arrive. writer keeps those who write at the same time
-- apart: a reader adds them up.
CREATE TABLE hourly_counts (
	hour    BIGINT NOT NULL CHECK (hour > 0),
	about   TEXT   NOT NULL CHECK (about IN ('connector', 'trigger', 'job')),
	what    TEXT   NOT NULL CHECK (what <> ''),
	name    TEXT   NOT NULL,
	detail  TEXT   NOT NULL,
	country TEXT   NOT NULL,
	class   TEXT   NOT NULL,
	writer  BIGINT NOT NULL,
	value   BIGINT NOT NULL CHECK (value > 0),
	PRIMARY KEY (hour, about, what, name, detail, country, class, writer)
) {{clustered}};

-- Which fields events of a kind had in each hour (UTC, hours since 1970): their paths and types, and nothing of what stood in them; see
-- internal/drift. fields is JSON, packed: a row for each field would be a hundred times as many writes.
CREATE TABLE drift_hours (
	connector TEXT   NOT NULL,
	kind      TEXT   NOT NULL,
	hour      BIGINT NOT NULL CHECK (hour > 0),
	events    BIGINT NOT NULL CHECK (events > 0),
	fields    {{blob}} NOT NULL,
	PRIMARY KEY (connector, kind, hour)
);
CREATE INDEX drift_hours_hour ON drift_hours (hour);

-- What of each kind differs from the week before (found, JSON), by how many events. It is written with the counts.
CREATE TABLE drift_kinds (
	connector TEXT   NOT NULL,
	kind      TEXT   NOT NULL,
	events    BIGINT NOT NULL CHECK (events > 0),
	at        BIGINT NOT NULL CHECK (at > 0),
	found     TEXT   NOT NULL CHECK (found <> ''),
	PRIMARY KEY (connector, kind)
) {{clustered}};

-- ==== Open data: what people read with any SQL program ====

-- docs/data.md has the columns, and questions answered by them. Names of columns stay; what they are made of may change. Times are ISO texts in
-- UTC, NULL for never; phones are masked as everywhere. No name of a person, variable, payload, value of a row, free text, secret or hash is here.
-- A sqlite3 that does not know the words of a view opens no table of the file: they are old ones.

-- Messages, from planned to read. run is that of a message of a list, event that of any other; trigger is then the job's name. test is the name of
-- the number that a test went to.
CREATE VIEW v_messages AS
	SELECT d.id, nullif(d.event_id, 0) AS event, nullif(d.run_id, 0) AS run, d.trigger_name AS "trigger", d.step, nullif(d.replaces, 0) AS retry_of,
		d.category, nullif(d.account, '') AS account, nullif(d.test, '') AS test, {{masked d.phone}} AS phone,
		{{sqlite only}}json_extract(coalesce(nullif(d.send, ''), '{}'), '$.template'){{end}}{{postgres only}}CAST(coalesce(nullif(d.send, ''), '{}') AS json) ->> 'template'{{end}} AS template,
		d.state, nullif(d.status, '') AS status, nullif(d.error_class, '') AS error_class,
		(SELECT v.rule FROM verdicts v WHERE v.message = d.id ORDER BY v.number DESC LIMIT 1) AS rule, d.attempt AS attempts,
		{{time d.created_at}} AS created_at, {{time d.due_at}} AS due_at, {{time d.accepted_at}} AS accepted_at, {{time d.sent_at}} AS sent_at,
		{{time d.delivered_at}} AS delivered_at, {{time d.read_at}} AS read_at, {{time d.failed_at}} AS failed_at, {{time d.updated_at}} AS updated_at
	FROM messages d;

-- What senders posted, and to how much it led. cleared says what of the content is not kept any more (payload; facts: both), or that the contact is forgotten.
CREATE VIEW v_events AS
	SELECT e.id, e.connector, e.kind, e.topic, {{masked e.phone}} AS phone, {{time e.occurred_at}} AS occurred_at, {{time e.received_at}} AS received_at,
		(SELECT count(*) FROM decisions c WHERE c.event_id = e.id) AS decisions,
		(SELECT count(*) FROM decisions c WHERE c.event_id = e.id AND (c.outcome = 'planned' OR c.outcome = 'restarted')) AS planned,
		(SELECT count(*) FROM decisions c WHERE c.event_id = e.id AND c.outcome = 'skipped') AS skipped, nullif(e.cleared, '') AS cleared
	FROM events e;

-- Whoever messages went to, whom events told of, or who said whether they may. A masked phone may stand for several contacts: each has a row
-- of its own.
CREATE VIEW v_contacts AS
	SELECT {{masked p.phone}} AS phone, coalesce(m.messages, 0) AS messages, {{time m.last_at}} AS last_message_at,
		g.consent AS marketing, {{time g.since}} AS marketing_since, {{time b.at}} AS blocked_at,
		CASE WHEN b.by_service = 1 THEN 'service' WHEN b.event_id > 0 THEN 'event' WHEN b.at > 0 THEN 'person' END AS blocked_by,
		(SELECT substr(c.email, 1, 1) || '***' || substr(c.email, {{sqlite only}}instr(c.email, '@'){{end}}{{postgres only}}position('@' in c.email){{end}})
			FROM contacts c WHERE c.phone = p.phone AND c.email LIKE '_%@%' ORDER BY c.last_at DESC LIMIT 1) AS email,
		(SELECT c.language FROM contacts c WHERE c.phone = p.phone AND c.language <> '' ORDER BY c.last_at DESC LIMIT 1) AS language,
		(SELECT c.country FROM contacts c WHERE c.phone = p.phone AND c.country <> '' ORDER BY c.last_at DESC LIMIT 1) AS country,
		{{time k.first_at}} AS first_event_at, {{time k.last_at}} AS last_event_at, coalesce(k.orders, 0) AS orders, {{time k.order_at}} AS last_order_at
	FROM (SELECT phone FROM contacts UNION SELECT phone FROM messages WHERE state = 'accepted' AND test = '' AND phone <> '' AND phone NOT LIKE '%*%' UNION SELECT phone FROM consents UNION SELECT phone FROM blocks) p
	LEFT JOIN (SELECT phone, count(*) AS messages, max(accepted_at) AS last_at FROM messages WHERE state = 'accepted' AND test = '' AND phone <> '' GROUP BY phone) m ON m.phone = p.phone
	LEFT JOIN (SELECT phone, min(first_at) AS first_at, max(last_at) AS last_at, CAST(sum(orders) AS BIGINT) AS orders, max(order_at) AS order_at
		FROM contacts GROUP BY phone) k ON k.phone = p.phone
	LEFT JOIN consents g ON g.phone = p.phone AND g.channel = 'phone' AND g.category = 'marketing'
	LEFT JOIN blocks b ON b.phone = p.phone;

-- Firings of jobs. rows are those of the list that may go; uploaded, in_doubt and rejected those of files, messages those sent one by one.
CREATE VIEW v_runs AS
	SELECT r.id, r.job, r.slot, r.cause, r.state, nullif(r.stopped, '') AS stopped, r.deliver, r.campaign, nullif(r.template, '') AS template, r.category,
		nullif(r.account, '') AS account, nullif(r.again_of, 0) AS again_of, r.kept AS "rows",
		(SELECT coalesce(sum(p.row_count), 0) FROM parts p WHERE p.run_id = r.id AND p.state = 'accepted') AS uploaded,
		(SELECT coalesce(sum(p.row_count), 0) FROM parts p WHERE p.run_id = r.id AND p.state = 'in_doubt') AS in_doubt,
		(SELECT coalesce(sum(p.row_count), 0) FROM parts p WHERE p.run_id = r.id AND p.state = 'rejected') AS rejected,
		(SELECT coalesce(sum(x.row_count), 0) FROM run_rows x WHERE x.run_id = r.id) AS messages,
		{{time r.due_at}} AS due_at, {{time r.created_at}} AS created_at, {{time r.started_at}} AS started_at, {{time r.ended_at}} AS ended_at
	FROM runs r;

-- Rows of lists. number is below 0 for one that was excluded when the list was read. part is the newest part that has the row, of the run part_run; message is that
-- of a row that was handed over, or the one that the service named with the phone of a row whose part has that phone once. state is that of the part or of the message, else of the row itself: excluded, waiting, or cancelled with its run.
CREATE VIEW v_rows AS
	SELECT l.run_id AS run, l.number, l.line AS "row", {{masked l.phone}} AS phone,
		CASE WHEN p.state <> '' THEN p.state WHEN x.message > 0 THEN (SELECT d.state FROM messages d WHERE d.id = x.message + l.number - x.first_row)
			WHEN l.number < 0 OR l.reason <> '' THEN 'excluded' WHEN r.ended_at > 0 THEN 'cancelled' ELSE 'waiting' END AS state,
		p.run_id AS part_run, p.number AS part,
		CASE WHEN x.message > 0 THEN x.message + l.number - x.first_row ELSE (SELECT max(m.id) FROM messages m
			WHERE m.event_id = 0 AND m.phone <> '' AND m.phone = l.phone AND m.phone NOT LIKE '%*%' AND m.run_id = p.run_id AND m.part = p.number AND NOT EXISTS
				(SELECT 1 FROM list_rows o JOIN part_rows w ON w.run_id = p.run_id AND w.part = p.number AND o.number BETWEEN w.first_row AND w.last_row
				WHERE o.run_id = l.run_id AND o.phone <> '' AND o.phone = l.phone AND o.number <> l.number)
			GROUP BY m.phone HAVING count(*) = 1) END AS message, {{time l.wait_until}} AS wait_until
	FROM list_rows l
	JOIN runs r ON r.id = l.run_id
	LEFT JOIN {{sqlite only}}parts p ON p.list_id = l.run_id AND (p.run_id, p.number) = {{end}}{{postgres only}}LATERAL {{end}}(
		SELECT q.run_id, q.number{{postgres only}}, q.state{{end}} FROM parts q JOIN part_rows w ON w.run_id = q.run_id AND w.part = q.number
		WHERE q.list_id = l.run_id AND w.last_row >= l.number AND w.first_row =
			(SELECT max(y.first_row) FROM part_rows y WHERE y.run_id = q.run_id AND y.part = q.number AND y.first_row <= l.number)
		ORDER BY q.run_id DESC, q.number DESC LIMIT 1){{postgres only}} p ON true{{end}}
	LEFT JOIN run_rows x ON x.run_id = l.run_id AND x.first_row + x.row_count > l.number AND x.first_row =
		(SELECT max(z.first_row) FROM run_rows z WHERE z.run_id = l.run_id AND z.first_row <= l.number);

-- ==== What only a database that many write to needs ====
{{postgres only}}
CREATE SEQUENCE event_numbers INCREMENT BY 4096;
CREATE SEQUENCE message_numbers INCREMENT BY 4096;
CREATE SEQUENCE rejected_numbers INCREMENT BY 1024;
CREATE SEQUENCE run_numbers;
CREATE SEQUENCE outgoing_numbers INCREMENT BY 4096;

-- Processes that write, each with the end of its lease by the clock of the database, and what it tells of itself with each beat: how far its
-- clock is ahead of the database's, and what it did in the last minute; see postgres_nodes.go.
CREATE TABLE nodes (
	owner      TEXT   NOT NULL PRIMARY KEY,
	host       TEXT   NOT NULL,
	began      BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	lease_ends BIGINT NOT NULL,
	version    TEXT   NOT NULL DEFAULT '',
	config     TEXT   NOT NULL DEFAULT '',
	config_at  BIGINT NOT NULL DEFAULT 0,
	clock_off  BIGINT NOT NULL DEFAULT 0,
	events     BIGINT NOT NULL DEFAULT 0,
	calls      BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- The one process that does what only one should do.
CREATE TABLE leader (
	one        BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
	owner      TEXT   NOT NULL,
	lease_ends BIGINT NOT NULL
) WITH (fillfactor = 30);

-- Up to when times of requests to the service are given away, by account and by the clock of the database.
CREATE TABLE rates (
	account TEXT   NOT NULL PRIMARY KEY,
	given   BIGINT NOT NULL
) WITH (fillfactor = 30);

-- Where the data lives. A copy of the data has the row, and lies elsewhere; see postgres_identity.go.
CREATE TABLE place (
	one      BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
	system   TEXT   NOT NULL,
	base     TEXT   NOT NULL,
	timeline TEXT   NOT NULL,
	synced   BIGINT NOT NULL
);

-- The key of the marks of forgotten contacts: all nodes need the same one.
CREATE TABLE forgotten_key (
	key TEXT NOT NULL
);
INSERT INTO forgotten_key SELECT encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')), 'hex');

-- How nodes hear of what another one changed: a row says that something did. Transactions do not end in the order of their numbers, so
-- readers go by xid; see postgres_notices.go.
CREATE TABLE notices (
	kind TEXT        NOT NULL CHECK (kind = 'holds' OR kind = 'blocks' OR kind = 'off' OR kind = 'due'),
	id   BIGINT      NOT NULL,
	xid  xid8        NOT NULL DEFAULT pg_current_xact_id(),
	at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX notices_xid ON notices (xid);

-- Triggers of the database tell, so no operation can forget to. What is rare also wakes the others at once.
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO notices (kind, id) VALUES (TG_ARGV[0], 0);
	PERFORM pg_notify('nudgewire', '');
	RETURN NULL;
END $$;
CREATE FUNCTION note_called_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO notices (kind, id) VALUES ('off', NEW.id);
	RETURN NULL;
END $$;
CREATE TRIGGER holds_notice AFTER INSERT OR UPDATE OR DELETE ON holds FOR EACH STATEMENT EXECUTE FUNCTION note_change('holds');
CREATE TRIGGER restorations_notice AFTER UPDATE ON restorations FOR EACH STATEMENT EXECUTE FUNCTION note_change('holds');
CREATE TRIGGER renames_notice AFTER INSERT OR UPDATE ON renames FOR EACH STATEMENT EXECUTE FUNCTION note_change('holds');
CREATE TRIGGER blocks_notice AFTER INSERT OR UPDATE ON blocks FOR EACH STATEMENT EXECUTE FUNCTION note_change('blocks');
CREATE TRIGGER forgotten_notice AFTER INSERT OR UPDATE ON forgotten FOR EACH STATEMENT EXECUTE FUNCTION note_change('blocks');
CREATE TRIGGER called_off_notice AFTER UPDATE OF called_off ON messages FOR EACH ROW WHEN (NEW.called_off <> OLD.called_off) EXECUTE FUNCTION note_called_off();

-- A claim begins where the last one ended, and so walks over what those before it left in the index until a vacuum has taken it. By default
-- that waits for a fifth of all rows ever sent, and lets the indexes be where few pages changed.
ALTER TABLE messages SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, vacuum_index_cleanup = on);
-- It is a queue: what was read is cleared away before the next reader has to walk over much of it.
ALTER TABLE unread_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE hourly_counts SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
{{end}}
