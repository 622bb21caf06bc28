-- +goose Up

-- What takes the place of send once the dispatch has ended, or is in doubt and not sent again by
-- itself: of messages whose variables are not kept. '' where send stays as it is.
ALTER TABLE dispatches ADD COLUMN ended_send TEXT NOT NULL DEFAULT '';
