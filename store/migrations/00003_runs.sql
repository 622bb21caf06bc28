-- One firing of a job. A run's identity is its job and the local time on the wall: who gets
-- the row stored runs it. tally is JSON; kept is its number of rows to send, for the search of
-- the last run that was sent.
CREATE TABLE runs (
	id          {{id}},
	job         TEXT   NOT NULL CHECK (job <> ''),
	slot        TEXT   NOT NULL CHECK (slot <> ''),
	due_at      BIGINT NOT NULL CHECK (due_at > 0),
	cause       TEXT   NOT NULL CHECK (cause = 'cron' OR cause = 'missed' OR cause = 'hand'),
	source      TEXT   NOT NULL,
	config      TEXT   NOT NULL,
	state       TEXT   NOT NULL CHECK (
		state = 'done' OR state = 'skipped' OR state = 'planned' OR state = 'building' OR state = 'awaiting_approval' OR state = 'uploading'
		OR state = 'paused' OR state = 'partial' OR state = 'failed' OR state = 'cancelled'),
	reason      TEXT   NOT NULL,
	before      TEXT   NOT NULL CHECK (before = '' OR before = 'planned' OR before = 'building' OR before = 'awaiting_approval' OR before = 'uploading'),
	deliver     TEXT   NOT NULL,
	campaign    TEXT   NOT NULL,
	template_id BIGINT NOT NULL,
	template    TEXT   NOT NULL,
	language    TEXT   NOT NULL,
	category    TEXT   NOT NULL,
	expires     BIGINT NOT NULL,
	folder      TEXT   NOT NULL,
	tally       TEXT   NOT NULL,
	kept        BIGINT NOT NULL CHECK (kept >= 0),
	approved    TEXT   NOT NULL,
	owner       TEXT   NOT NULL,
	lease_ends  BIGINT NOT NULL,
	created_at  BIGINT NOT NULL CHECK (created_at > 0),
	started_at  BIGINT NOT NULL,
	ended_at    BIGINT NOT NULL,
	began       TEXT   NOT NULL DEFAULT '',
	stopped     TEXT   NOT NULL DEFAULT '' CHECK (stopped = '' OR stopped = 'person' OR stopped = 'newer' OR stopped = 'canary' OR stopped = 'key'
		OR stopped = 'doubt' OR stopped = 'rejection' OR stopped = 'size'),
	stopped_by  TEXT   NOT NULL DEFAULT '' CHECK (stopped_by = '' OR stopped = 'person'),
	overruled   TEXT   NOT NULL DEFAULT '',
	repeats     BIGINT NOT NULL DEFAULT 0 CHECK (repeats >= 0),
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

-- One CSV file of a run, stored with its rows, bytes and hash before the first upload.
CREATE TABLE parts (
	run_id      BIGINT NOT NULL,
	number      BIGINT NOT NULL CHECK (number > 0),
	file        TEXT   NOT NULL CHECK (file <> ''),
	row_count   BIGINT NOT NULL CHECK (row_count >= 0),
	first_row   BIGINT NOT NULL CHECK (first_row > 0),
	bytes       BIGINT NOT NULL CHECK (bytes > 0),
	sha256      TEXT   NOT NULL CHECK (sha256 <> ''),
	state       TEXT   NOT NULL CHECK (
		state = 'accepted' OR state = 'built' OR state = 'uploading' OR state = 'rejected' OR state = 'in_doubt' OR state = 'cancelled'
		OR state = 'excluded' OR state = 'recut'),
	reason      TEXT   NOT NULL,
	attempt     BIGINT NOT NULL CHECK (attempt >= 0),
	retry_at    BIGINT NOT NULL,
	campaign_id TEXT   NOT NULL,
	message_ids TEXT   NOT NULL,
	answer      TEXT   NOT NULL,
	http_status BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	excluded    BIGINT NOT NULL DEFAULT 0 CHECK (excluded >= 0),
	CHECK (attempt > 0 OR state = 'built' OR state = 'cancelled'
		OR state = 'excluded' OR state = 'recut'),
	CHECK (row_count > 0 OR state = 'excluded'),
	CHECK (reason <> '' OR (state <> 'rejected' AND state <> 'in_doubt' AND state <> 'excluded')),
	PRIMARY KEY (run_id, number)
) {{clustered}};

-- Since when each cron line of a job is known: what lies before was not missed.
CREATE TABLE job_clocks (
	job   TEXT   NOT NULL,
	line  TEXT   NOT NULL,
	since BIGINT NOT NULL CHECK (since > 0),
	PRIMARY KEY (job, line)
) {{clustered}};

-- Rows of a run that are queued as dispatches: row first_row + n is dispatch dispatch_id + n.
-- One commit hands out its numbers without a gap, so a range stands for hundreds of rows.
CREATE TABLE run_rows (
	run_id      BIGINT NOT NULL,
	first_row   BIGINT NOT NULL CHECK (first_row > 0),
	row_count   BIGINT NOT NULL CHECK (row_count > 0),
	dispatch_id BIGINT NOT NULL CHECK (dispatch_id > 0),
	PRIMARY KEY (run_id, first_row)
) {{clustered}};

-- Contacts to whom nothing is sent.
CREATE TABLE blocks (
	phone  TEXT   NOT NULL PRIMARY KEY CHECK (phone <> ''),
	reason TEXT   NOT NULL,
	source TEXT   NOT NULL,
	at     BIGINT NOT NULL CHECK (at > 0),
	event_id BIGINT NOT NULL DEFAULT 0 CHECK (event_id >= 0)
) {{clustered}};

-- The newest word of each contact on whether it wants messages, by the time when it happened: an
-- older one that arrives later changes nothing. event_id is 0 for a person's word.
CREATE TABLE opt_outs (
	phone    TEXT   NOT NULL PRIMARY KEY CHECK (phone <> ''),
	opted_out BIGINT NOT NULL CHECK (opted_out = 0 OR opted_out = 1),
	event_at BIGINT NOT NULL,
	event_id BIGINT NOT NULL
) {{clustered}};
