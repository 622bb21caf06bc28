-- +goose Up

-- The account of the service that a message is asked about at, and that a run's files are uploaded to; '' is
-- that of the section api.
ALTER TABLE messages ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN account TEXT NOT NULL DEFAULT '';

-- Each account claims by itself, so the backlog of one is not walked by another.
DROP INDEX dispatches_due;
CREATE INDEX dispatches_due ON dispatches (account, lane, due_at) WHERE state = 'waiting';
DROP INDEX messages_poll;
CREATE INDEX messages_poll ON messages (account, next_poll_at) WHERE final = 0;
