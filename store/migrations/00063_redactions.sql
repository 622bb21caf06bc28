-- +goose Up

-- Senders that asked for all that came by them to be forgotten, until a person decides: one row each. at is when the first request
-- came, up_to when the newest did: what came later is not meant. contacts and events are how many there were when the
-- audit recorded the request (recorded).
CREATE TABLE redactions (
	connector TEXT   NOT NULL PRIMARY KEY CHECK (connector <> ''),
	event_id  BIGINT NOT NULL,
	source    TEXT   NOT NULL,
	at        BIGINT NOT NULL CHECK (at > 0),
	up_to     BIGINT NOT NULL CHECK (up_to >= at),
	contacts  BIGINT NOT NULL CHECK (contacts >= 0),
	events    BIGINT NOT NULL CHECK (events >= 0),
	recorded  BIGINT NOT NULL CHECK (recorded = 0 OR recorded = 1)
) {{clustered}};

-- Whether the audit says who ordered it.
ALTER TABLE forgetting ADD COLUMN recorded BIGINT NOT NULL DEFAULT 1 CHECK (recorded = 0 OR recorded = 1);
