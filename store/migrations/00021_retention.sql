-- +goose Up

-- What is left of decisions that are not kept any more: which dispatches each event led to, by which trigger. Without it
-- nothing would lead from a phone to its messages.
CREATE TABLE decided (
	event_id     BIGINT NOT NULL,
	dispatch_id  BIGINT NOT NULL,
	trigger_name TEXT   NOT NULL,
	outcome      TEXT   NOT NULL CHECK (outcome <> ''),
	at           BIGINT NOT NULL,
	PRIMARY KEY (event_id, dispatch_id)
) {{clustered}};

-- Correlation keys that got their message, of triggers that send once: the dispatch, which is not kept any more, and when
-- it was sent. correlation is the hash under which the key is found.
CREATE TABLE sent_once (
	correlation BIGINT NOT NULL PRIMARY KEY,
	dispatch_id BIGINT NOT NULL,
	at          BIGINT NOT NULL CHECK (at > 0)
) {{clustered}};

-- How many of a range are not kept any more: the range stays, because it says that its rows were queued.
ALTER TABLE run_rows ADD COLUMN gone BIGINT NOT NULL DEFAULT 0 CHECK (gone >= 0);
ALTER TABLE run_messages ADD COLUMN gone BIGINT NOT NULL DEFAULT 0 CHECK (gone >= 0);
