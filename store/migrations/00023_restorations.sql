-- +goose Up

-- Each time that this database was found to be a copy of what it was: restored, moved, or put back. Until a person has
-- reviewed it (reviewed_at) nothing is sent. What was due until until_at may have been sent by whoever had the data
-- after the copy was made; until_at is 0 while that is not worked out yet. last_event, last_run: the newest numbers in the copy.
CREATE TABLE restorations (
	id          {{id}},
	how         TEXT   NOT NULL CHECK (how <> ''),
	copied_at   BIGINT NOT NULL,
	newest_at   BIGINT NOT NULL,
	found_at    BIGINT NOT NULL CHECK (found_at > 0),
	until_at    BIGINT NOT NULL,
	last_event  BIGINT NOT NULL,
	last_dispatch BIGINT NOT NULL,
	last_run    BIGINT NOT NULL,
	config      TEXT   NOT NULL,
	claimed     BIGINT NOT NULL,
	doubted     BIGINT NOT NULL,
	reviewed_at BIGINT NOT NULL
);
CREATE INDEX restorations_review ON restorations (reviewed_at) WHERE reviewed_at = 0;
