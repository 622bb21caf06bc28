-- +goose Up

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
