-- +goose Up

-- That a trigger or job has another name now (about says which): what was made under the name before it until at is its own. See
-- rename.go.
CREATE TABLE renames (
	about TEXT   NOT NULL CHECK (about = 'trigger' OR about = 'job'),
	was   TEXT   NOT NULL CHECK (was <> ''),
	name  TEXT   NOT NULL CHECK (name <> '' AND name <> was),
	at    BIGINT NOT NULL CHECK (at > 0),
	PRIMARY KEY (about, was, name)
) {{clustered}};
