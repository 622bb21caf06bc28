-- +goose Up

-- Of who was forgotten: that a person or the contact allowed messages again. The mark stays, because a look-up that was under way then
-- must not bring back what it finds of an event from before, nor plan by it.
ALTER TABLE forgotten ADD COLUMN allowed BIGINT NOT NULL DEFAULT 0 CHECK (allowed = 0 OR allowed = 1);
