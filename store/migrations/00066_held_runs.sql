-- +goose Up

-- Of a run that is paused because the config does not send by its job: why ("is gone from the config", "is off"). Its stopped says
-- person then, and stopped_by nobody. released is who lets it go on all the same; '' for nobody.
ALTER TABLE runs ADD COLUMN held TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN released TEXT NOT NULL DEFAULT '';
