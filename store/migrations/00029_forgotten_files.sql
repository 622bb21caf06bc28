-- +goose Up

-- Forgetting left the hashes of contacts on files of runs until now, and whose they are cannot be told any more: the phones
-- are gone. So of what was claimed before somebody was forgotten for the last time nothing stays, and limits do not count it.
DELETE FROM part_contacts WHERE at <= (SELECT coalesce(max(at), 0) FROM forgotten);
