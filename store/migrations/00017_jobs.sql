-- +goose Up

-- What each row of a run is sent as, as it is written in the config (JSON); '' for runs that upload files and
-- for those of earlier versions, whose template and language say it.
ALTER TABLE runs ADD COLUMN send TEXT NOT NULL DEFAULT '';

-- What a run that is uploading waits for, and until when; '' and 0 while it waits for nothing.
ALTER TABLE runs ADD COLUMN waits TEXT NOT NULL DEFAULT '' CHECK (waits = '' OR waits = 'canary' OR waits = 'quiet_hours' OR waits = 'rate');
ALTER TABLE runs ADD COLUMN wait_until BIGINT NOT NULL DEFAULT 0;

-- What the canary of a run found before it let the rest go, in words; '' before that.
ALTER TABLE runs ADD COLUMN canary TEXT NOT NULL DEFAULT '';

-- How much of its rate a job has used: since when its window runs, and how many rows were handed over in it.
CREATE TABLE job_windows (
	job   TEXT   NOT NULL PRIMARY KEY CHECK (job <> ''),
	since BIGINT NOT NULL CHECK (since > 0),
	used  BIGINT NOT NULL CHECK (used >= 0)
) {{clustered}};
