-- Times are microseconds since 1970 UTC; 0 is "never" or "not told".
--
-- The CHECKs spell out a = 'x' OR a = 'y' with the usual value first: for a longer IN list
-- SQLite builds a table each time it runs a statement, which doubled the cost of an insert.

-- One fact from a connector. hash is of connector and dedupe key; keys leads from it to the
-- event (see event_dedupe.go). bucket groups neighbouring ids, so that inserts stay in one part of the
-- index: a phone's events are found bucket by bucket (see read_events.go).
CREATE TABLE events (
	id            {{id}},
	bucket        BIGINT NOT NULL,
	day           BIGINT NOT NULL,
	hash          BIGINT NOT NULL,
	connector     TEXT   NOT NULL,
	kind          TEXT   NOT NULL,
	topic         TEXT   NOT NULL,
	dedupe_key    TEXT   NOT NULL CHECK (dedupe_key <> ''),
	content_key   TEXT   NOT NULL DEFAULT '',
	phone         TEXT   NOT NULL,
	phone_problem TEXT   NOT NULL,
	occurred_at   BIGINT NOT NULL,
	received_at   BIGINT NOT NULL CHECK (received_at > 0)
);
CREATE INDEX events_phone ON events (bucket, phone) WHERE phone <> '';

-- What leads from the hash of a text to rows: events by connector and dedupe key (part is their day), dispatches by
-- their correlation key and by their phone (part is 0). Its rows are written many neighbours at once (see single_memtable.go). Up
-- to which rows every key is here stands among the counters; the keys of the others are read from
-- their rows.
CREATE TABLE keys (
	part BIGINT NOT NULL,
	hash BIGINT NOT NULL,
	id   BIGINT NOT NULL,
	PRIMARY KEY (part, hash, id)
) {{clustered}};

-- What events carried, apart from their rows because it is larger, is read rarely and is kept
-- for a shorter time: bundles of neighbours, from event_id on (see commit_bundle.go).
CREATE TABLE payloads (
	event_id {{id}},
	bundle   {{blob}} NOT NULL
);

-- What each listening trigger said to events: bundles of neighbours, from event_id on. What is said
-- later to an event that was looked up follows under a seq of its own.
CREATE TABLE decisions (
	event_id BIGINT NOT NULL,
	seq      BIGINT NOT NULL,
	bundle   {{blob}} NOT NULL,
	PRIMARY KEY (event_id, seq)
) {{clustered}};

-- One message queued. The CHECKs are the law of docs/states.md as far as one row can show it;
-- the WHERE of every UPDATE holds the rest.
CREATE TABLE dispatches (
	id           {{id}},
	event_id     BIGINT NOT NULL,
	event_at     BIGINT NOT NULL,
	trigger_name TEXT   NOT NULL,
	correlation_key   TEXT   NOT NULL,
	correlation       BIGINT NOT NULL,
	phone        TEXT   NOT NULL,
	category     TEXT   NOT NULL CHECK (category = 'marketing' OR category = 'utility' OR category = 'authentication'),
	lane         BIGINT NOT NULL CHECK (lane = CASE WHEN category = 'marketing' THEN 1 ELSE 0 END),
	send         TEXT   NOT NULL,
	state        TEXT   NOT NULL CHECK (
		state = 'waiting' OR state = 'sending' OR state = 'accepted' OR state = 'rejected' OR state = 'in_doubt' OR state = 'cancelled' OR state = 'dropped'),
	reason       TEXT   NOT NULL,
	due_at       BIGINT NOT NULL CHECK (due_at > 0),
	expires_at   BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	claimed_at   BIGINT NOT NULL,
	attempt      BIGINT NOT NULL CHECK (attempt >= 0),
	restarts     BIGINT NOT NULL CHECK (restarts >= 0),
	owner        TEXT   NOT NULL,
	lease_ends   BIGINT NOT NULL,
	config       TEXT   NOT NULL,
	CHECK ((state = 'sending') = (lease_ends > 0)),
	CHECK (state <> 'sending' OR owner <> ''),
	CHECK ((attempt > 0 AND claimed_at > 0) OR state = 'waiting' OR state = 'cancelled' OR state = 'dropped'),
	CHECK (reason <> '' OR state = 'waiting' OR state = 'sending' OR state = 'accepted')
);
CREATE INDEX dispatches_due ON dispatches (lane, due_at) WHERE state = 'waiting';
CREATE INDEX dispatches_lease ON dispatches (lease_ends) WHERE state = 'sending';
CREATE INDEX dispatches_doubt ON dispatches (id) WHERE state = 'in_doubt';
CREATE INDEX dispatches_unsent ON dispatches (state) WHERE state = 'rejected' OR state = 'cancelled' OR state = 'dropped';

-- Each attempt to send that did not end in plain acceptance.
CREATE TABLE attempts (
	dispatch_id BIGINT NOT NULL,
	number      BIGINT NOT NULL CHECK (number > 0),
	state       TEXT   NOT NULL CHECK (
		state = 'waiting' OR state = 'in_doubt' OR state = 'accepted' OR state = 'rejected' OR state = 'dropped'),
	owner       TEXT   NOT NULL,
	reason      TEXT   NOT NULL,
	answer      TEXT   NOT NULL,
	retry_at    BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	PRIMARY KEY (dispatch_id, number, state)
) {{clustered}};

-- What the service accepted; the row number is the dispatch's.
CREATE TABLE messages (
	dispatch_id  {{id}},
	message_id   TEXT   NOT NULL,
	phone        TEXT   NOT NULL,
	category     TEXT   NOT NULL,
	status       TEXT   NOT NULL CHECK (status <> ''),
	error        TEXT   NOT NULL,
	accepted_at  BIGINT NOT NULL CHECK (accepted_at > 0),
	status_at    BIGINT NOT NULL,
	told_at      BIGINT NOT NULL,
	next_poll_at BIGINT NOT NULL,
	polls        BIGINT NOT NULL CHECK (polls >= 0),
	final        BIGINT NOT NULL CHECK (final = 0 OR final = 1),
	sent_at      BIGINT NOT NULL,
	delivered_at BIGINT NOT NULL,
	read_at      BIGINT NOT NULL,
	failed_at    BIGINT NOT NULL,
	CHECK ((final = 1) = (next_poll_at = 0)),
	CHECK (message_id <> '' OR final = 1),
	CHECK (final = 1 OR (status <> 'read' AND status <> 'failed' AND status <> 'expired' AND status <> 'untracked'))
);
CREATE INDEX messages_poll ON messages (next_poll_at) WHERE final = 0;
CREATE INDEX messages_id ON messages (message_id) WHERE message_id <> '';
CREATE INDEX messages_accepted ON messages (accepted_at);
CREATE INDEX messages_status ON messages (status, accepted_at);

-- The memory of cancelling events, one row a correlation key.
CREATE TABLE tombstones (
	correlation       BIGINT NOT NULL,
	trigger_name TEXT   NOT NULL,
	correlation_key   TEXT   NOT NULL,
	phone        TEXT   NOT NULL,
	event_id     BIGINT NOT NULL,
	ref          TEXT   NOT NULL,
	event_at     BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL,
	PRIMARY KEY (correlation, trigger_name, correlation_key, phone)
) {{clustered}};
CREATE INDEX tombstones_expiry ON tombstones (expires_at);

-- Dispatches that did not wait when a cancelling event came: they are cancelled should they come
-- back to wait.
CREATE TABLE called_off (
	dispatch_id {{id}},
	reason      TEXT NOT NULL CHECK (reason <> '')
);

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
CREATE INDEX rejected_requests_connector ON rejected_requests (connector);

CREATE TABLE counters (
	name  TEXT   NOT NULL PRIMARY KEY,
	value BIGINT NOT NULL
);

-- Each config that ever decided, without its secrets.
CREATE TABLE configs (
	version TEXT   NOT NULL PRIMARY KEY,
	text    TEXT   NOT NULL,
	at      BIGINT NOT NULL
);
