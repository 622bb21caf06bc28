-- +goose Up

-- Each category is a lane of its own: what waits is claimed by account and category. tries counts the calls for a dispatch that reached the
-- service: pauses before the next one grow by it. attempt counts claims, of which some end before their call.
DROP INDEX dispatches_due;
ALTER TABLE dispatches DROP COLUMN lane;
ALTER TABLE dispatches ADD COLUMN tries BIGINT NOT NULL DEFAULT 0 CHECK (tries >= 0);
CREATE INDEX dispatches_due ON dispatches (account, category, due_at) WHERE state = 'waiting';
{{postgres only}}
-- SQLite's indexes end in the number of the row.
DROP INDEX dispatches_due;
CREATE INDEX dispatches_due ON dispatches (account, category, due_at, id) WHERE state = 'waiting';
{{end}}
