-- +goose Up

-- When the dispatch was due before a rule put it off for the first time; 0 where none did.
ALTER TABLE dispatches ADD COLUMN first_due_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX dispatches_deferred ON dispatches (id) WHERE state = 'waiting' AND first_due_at > 0;

-- What the rules said to a dispatch when it was due, where they did not let it go. Saying the same again, until the
-- same time, is one row: at is the first time, last_at the last.
CREATE TABLE verdicts (
	dispatch_id BIGINT NOT NULL,
	number      BIGINT NOT NULL CHECK (number > 0),
	rule        TEXT   NOT NULL CHECK (rule <> ''),
	action      TEXT   NOT NULL CHECK (action = 'deferred' OR action = 'dropped'),
	reason      TEXT   NOT NULL CHECK (reason <> ''),
	until_at    BIGINT NOT NULL,
	at          BIGINT NOT NULL CHECK (at > 0),
	last_at     BIGINT NOT NULL,
	times       BIGINT NOT NULL CHECK (times > 0),
	CHECK ((action = 'deferred') = (until_at > 0)),
	PRIMARY KEY (dispatch_id, number)
) {{clustered}};

-- Every trigger by which something was ever queued. With a phone, its name leads to the messages of that phone by
-- keys that are there for other reasons.
CREATE TABLE trigger_names (
	name TEXT NOT NULL PRIMARY KEY
) {{clustered}};
INSERT INTO trigger_names (name) SELECT DISTINCT trigger_name FROM dispatches WHERE event_id <> 0;

-- Who is on the files that go out, by the hash of the phone: 8 bytes each, in ascending order, those of one part that
-- share their first bits in a row. at is when the part was claimed; a claim that did not come about, or
-- an earlier one, is known by another time. Whether a file was taken is what its part says.
ALTER TABLE parts ADD COLUMN claimed_at BIGINT NOT NULL DEFAULT 0;
CREATE TABLE part_contacts (
	bucket BIGINT NOT NULL,
	at     BIGINT NOT NULL,
	run_id BIGINT NOT NULL,
	part   BIGINT NOT NULL,
	hashes {{blob}} NOT NULL,
	PRIMARY KEY (bucket, at, run_id, part)
) {{clustered}};
