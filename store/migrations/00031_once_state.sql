-- +goose Up

-- What became of the message that was sent once: it was accepted, or it may have arrived and was let be, which a minus
-- before its number said until now.
ALTER TABLE sent_once ADD COLUMN state TEXT NOT NULL DEFAULT 'accepted' CHECK (state = 'accepted' OR state = 'dropped');
UPDATE sent_once SET state = 'dropped', dispatch_id = -dispatch_id WHERE dispatch_id < 0;

-- Files that nobody knows the fate of are few among all.
CREATE INDEX parts_doubt ON parts (updated_at) WHERE state = 'in_doubt';
