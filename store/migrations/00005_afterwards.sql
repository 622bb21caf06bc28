-- +goose Up

-- The run whose parts or rows this one sends again; 0 for none.
ALTER TABLE runs ADD COLUMN again_of BIGINT NOT NULL DEFAULT 0 CHECK (again_of >= 0);
CREATE INDEX runs_again ON runs (again_of) WHERE again_of > 0;

-- A person's word on a part that was in doubt; '' for none.
ALTER TABLE parts ADD COLUMN resolved TEXT NOT NULL DEFAULT '';

-- What people said of dispatches in doubt, each time.
CREATE TABLE resolutions (
	dispatch_id BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	resolved    TEXT   NOT NULL CHECK (resolved = 'accepted' OR resolved = 'resend' OR resolved = 'drop'),
	reason      TEXT   NOT NULL,
	PRIMARY KEY (dispatch_id, at)
) {{clustered}};

-- Rows that were queued once more: the dispatch that did not reach the phone, and the one that
-- took its place. The key holds each of them to one successor.
CREATE TABLE retries (
	dispatch_id {{id}},
	again_id    BIGINT NOT NULL CHECK (again_id > dispatch_id)
);
CREATE UNIQUE INDEX retries_again ON retries (again_id);

-- From a phone or a dispatch to the row of a run. What an event caused is found through the
-- event and pays nothing for these.
CREATE INDEX dispatches_of_rows ON dispatches (phone) WHERE event_id = 0;
CREATE INDEX run_rows_dispatch ON run_rows (dispatch_id);
