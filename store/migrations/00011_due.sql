-- +goose Up

-- The contact's own time zone where the event names one (IANA), which step of its trigger the dispatch is,
-- from 0, and the account of the service that it is sent by, '' where there is only one.
ALTER TABLE dispatches ADD COLUMN zone TEXT NOT NULL DEFAULT '';
ALTER TABLE dispatches ADD COLUMN step BIGINT NOT NULL DEFAULT 0;
ALTER TABLE dispatches ADD COLUMN account TEXT NOT NULL DEFAULT '';
