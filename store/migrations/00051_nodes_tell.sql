-- +goose Up

-- What a process tells of itself with each beat; see postgres_nodes.go.
{{postgres only}}
ALTER TABLE nodes ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN config TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN config_at BIGINT NOT NULL DEFAULT 0;
-- How far its clock is ahead of the database's, and what it did in the last minute.
ALTER TABLE nodes ADD COLUMN clock_off BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN events BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN calls BIGINT NOT NULL DEFAULT 0;
{{end}}
