-- +goose Up

-- What happened in each hour, as counts that are added to; see commit_hours.go. hour is hours since 1970 UTC. about is connector,
-- trigger or job, and name is its name. what is what happened; detail is the kind of an event, the outcome of a decision, or the template
-- of a message. class is the class of an error, or how long a message took to arrive. writer keeps those who write at the same time
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
{{postgres only}}
ALTER TABLE hourly_counts SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
{{end}}
