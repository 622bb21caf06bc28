-- +goose Up

-- A run that is built may wait to read its source once more, which was away, or changed while it was read.
ALTER TABLE runs ADD COLUMN waits_for TEXT NOT NULL DEFAULT ''
	CHECK (waits_for = '' OR waits_for = 'source' OR waits_for = 'canary' OR waits_for = 'quiet_hours' OR waits_for = 'rate' OR waits_for = 'limits');
UPDATE runs SET waits_for = waits WHERE waits <> '';
ALTER TABLE runs DROP COLUMN waits;
ALTER TABLE runs RENAME COLUMN waits_for TO waits;
