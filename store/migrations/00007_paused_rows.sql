-- +goose Up

-- A run that is paused or cancelled halts its rows by scope 'run': mark is what their correlation_key
-- begins with. A trigger that is off, in shadow or gone from the config holds what waits of it by
-- scope 'mode', and by scope 'released' nothing any more: a person let that go. After damage of the log everything
-- is halted by scope 'damage'.
CREATE TABLE halts_with_runs (
	scope  TEXT   NOT NULL CHECK (scope = 'all' OR scope = 'trigger' OR scope = 'template' OR scope = 'job' OR scope = 'run' OR scope = 'mode' OR scope = 'released' OR scope = 'damage'),
	name   TEXT   NOT NULL CHECK ((scope = 'all' OR scope = 'damage') = (name = '')),
	mark   TEXT   NOT NULL CHECK ((scope = 'template' OR scope = 'run') = (mark <> '')),
	reason TEXT   NOT NULL,
	at     BIGINT NOT NULL CHECK (at > 0),
	PRIMARY KEY (scope, name)
);
INSERT INTO halts_with_runs (scope, name, mark, reason, at) SELECT scope, name, mark, reason, at FROM halts;
INSERT INTO halts_with_runs (scope, name, mark, reason, at)
	SELECT 'run', CAST(id AS TEXT), 'run ' || CAST(id AS TEXT) || ' row ', reason, created_at FROM runs
	WHERE (state = 'paused' OR state = 'cancelled') AND EXISTS (SELECT 1 FROM run_rows WHERE run_id = runs.id);
DROP TABLE halts;
ALTER TABLE halts_with_runs RENAME TO halts;
