-- What only a database that many write to needs.
{{postgres only}}
CREATE SEQUENCE event_numbers INCREMENT BY 4096;
CREATE SEQUENCE dispatch_numbers INCREMENT BY 4096;
CREATE SEQUENCE rejected_numbers INCREMENT BY 1024;
CREATE SEQUENCE run_numbers;
CREATE SEQUENCE outgoing_numbers INCREMENT BY 4096;

-- Keys are looked for by their hash alone.
ALTER TABLE keys DROP CONSTRAINT keys_pkey;
ALTER TABLE keys ADD PRIMARY KEY (hash, part, id);

-- Numbers have gaps, so a walk by buckets would be long.
DROP INDEX events_phone;
CREATE INDEX events_phone ON events (phone, id) WHERE phone <> '';

-- Counters that are added to have a row for each writer; see postgres_peers.go.
ALTER TABLE counters RENAME TO counters_kept;
CREATE TABLE counters_added (
	name   TEXT   NOT NULL,
	writer BIGINT NOT NULL,
	value  BIGINT NOT NULL,
	PRIMARY KEY (name, writer)
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE VIEW counters AS
	SELECT name, value FROM counters_kept
	UNION ALL
	SELECT name, CAST(CASE WHEN name >= 'last_event/' AND name < 'last_event0' THEN max(value) ELSE sum(value) END AS BIGINT) FROM counters_added GROUP BY name;

-- Processes that write, each with the end of its lease by the clock of the database; see postgres_nodes.go.
CREATE TABLE nodes (
	owner      TEXT   NOT NULL PRIMARY KEY,
	host       TEXT   NOT NULL,
	began      BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	lease_ends BIGINT NOT NULL
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- The one process that does what only one should do.
CREATE TABLE leader (
	one        BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
	owner      TEXT   NOT NULL,
	lease_ends BIGINT NOT NULL
) WITH (fillfactor = 30);

-- SQLite's indexes end in the number of the row.
DROP INDEX dispatches_due;
CREATE INDEX dispatches_due ON dispatches (account, lane, due_at, id) WHERE state = 'waiting';
DROP INDEX messages_poll;
CREATE INDEX messages_poll ON messages (account, next_poll_at, dispatch_id) WHERE final = 0;
DROP INDEX steps_sequence;
CREATE INDEX steps_sequence ON steps (sequence, dispatch_id);
DROP INDEX dispatches_unsent;
CREATE INDEX dispatches_unsent ON dispatches (state, id) WHERE state = 'rejected' OR state = 'cancelled' OR state = 'dropped';
DROP INDEX rejected_requests_connector;
CREATE INDEX rejected_requests_connector ON rejected_requests (connector, id);
DROP INDEX dispatches_of_rows;
CREATE INDEX dispatches_of_rows ON dispatches (phone, id) WHERE event_id = 0;
{{end}}
