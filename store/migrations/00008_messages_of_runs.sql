-- +goose Up

-- How many messages of a run have a status is counted in the index alone, by the numbers of the
-- run's rows. Numbers grow with time, so a list by status loses nothing.
DROP INDEX messages_status;
CREATE INDEX messages_status ON messages (status, dispatch_id);
