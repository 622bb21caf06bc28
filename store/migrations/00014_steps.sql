-- +goose Up

-- What is asked of a dispatch that is a step of a sequence when it falls due, as its trigger said it when it
-- was planned. sequence is the dispatch of the first step that was stored, conditions a JSON list of texts;
-- passed says that they did not hold, so that the steps after it look past it.
CREATE TABLE steps (
	dispatch_id {{id}},
	sequence    BIGINT NOT NULL CHECK (sequence > 0),
	steps       BIGINT NOT NULL CHECK (steps > 0),
	conditions  TEXT   NOT NULL,
	wait        TEXT   NOT NULL,
	passed      BIGINT NOT NULL CHECK (passed = 0 OR passed = 1)
);
CREATE INDEX steps_sequence ON steps (sequence);
