-- +goose Up

-- How much of its rate a trigger has used: since when its window runs, and how many claims there were in it. A trigger
-- without a rate has no row, or one that nobody reads.
CREATE TABLE trigger_windows (
	trigger_name TEXT   NOT NULL PRIMARY KEY CHECK (trigger_name <> ''),
	since        BIGINT NOT NULL CHECK (since > 0),
	used         BIGINT NOT NULL CHECK (used >= 0)
) {{clustered}};
