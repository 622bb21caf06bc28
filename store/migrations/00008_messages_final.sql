-- Only messages that came to their end are found by their status, those of a run by their numbers, too.
-- Those on their way are few, and an index of all moved at each step of each message.
DROP INDEX messages_status;
CREATE INDEX messages_final ON messages (status, dispatch_id) WHERE final = 1;

-- Who was messaged lately is asked once a run, about most of what there is: a walk is as good.
DROP INDEX messages_accepted;
