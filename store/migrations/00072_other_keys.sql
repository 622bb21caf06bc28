-- +goose Up

-- Of a dispatch: the other identifiers of its matter, on lines of their own. A cancelling event finds it by any of them: a shop that
-- deletes a checkout names it by another number than the order that comes of it.
ALTER TABLE dispatches ADD COLUMN other_keys TEXT NOT NULL DEFAULT '';
