-- +goose Up

-- A run that uploads files may wait for room in the window of its account's limit, too.
ALTER TABLE runs ADD COLUMN waits_for TEXT NOT NULL DEFAULT ''
	CHECK (waits_for = '' OR waits_for = 'canary' OR waits_for = 'quiet_hours' OR waits_for = 'rate' OR waits_for = 'limits');
UPDATE runs SET waits_for = waits WHERE waits <> '';
ALTER TABLE runs DROP COLUMN waits;
ALTER TABLE runs RENAME COLUMN waits_for TO waits;

-- Of a run that sends rows of another again: how long before it these had ended at the least (microseconds), 0 for as
-- their class rests, and when what was not sent is dropped, 0 for as the job has it.
ALTER TABLE runs ADD COLUMN again_wait BIGINT NOT NULL DEFAULT 0 CHECK (again_wait >= 0);
ALTER TABLE runs ADD COLUMN again_until BIGINT NOT NULL DEFAULT 0 CHECK (again_until >= 0);
