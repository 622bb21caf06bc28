-- +goose Up

-- The phone of a dispatch is the one spelling by which its contact is known. This is the spelling that the shop gave, which
-- is sent, where it is another one; '' where it is the same, and where the phone is masked or gone.
ALTER TABLE dispatches ADD COLUMN sent_as TEXT NOT NULL DEFAULT '';
