-- +goose Up

-- The service's own words about the message, and the class that the rules of that day gave them; '' is unknown.
ALTER TABLE attempts ADD COLUMN words TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN error_class TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN error_class TEXT NOT NULL DEFAULT '';

-- A block that the service's words made: it is ended by an event, too.
ALTER TABLE blocks ADD COLUMN by_service BIGINT NOT NULL DEFAULT 0 CHECK (by_service = 0 OR by_service = 1);

-- What the service said about messages that it did not send. text is without what differs from message to
-- message, sample the newest as it came, dispatch_id whose it was. Only the newest texts are kept.
CREATE TABLE error_texts (
	text        TEXT   NOT NULL PRIMARY KEY CHECK (text <> ''),
	sample      TEXT   NOT NULL,
	rejected    BIGINT NOT NULL CHECK (rejected >= 0),
	failed      BIGINT NOT NULL CHECK (failed >= 0),
	first_at    BIGINT NOT NULL CHECK (first_at > 0),
	last_at     BIGINT NOT NULL CHECK (last_at > 0),
	dispatch_id BIGINT NOT NULL
) {{clustered}};
CREATE INDEX error_texts_last ON error_texts (last_at);

-- Templates that the service does not send now. Until then nothing with the template goes; from then on the
-- one dispatch called probe does, and what becomes of it lifts the pause or begins the next, longer one. told_by_status
-- says that the service took such messages and failed them later. A pause that was lifted leaves its row, because
-- the next one soon after is longer, and because words about older messages are no new trouble.
CREATE TABLE template_pauses (
	of_account     TEXT   NOT NULL,
	template       TEXT   NOT NULL CHECK (template <> ''),
	mark           TEXT   NOT NULL CHECK (mark <> ''),
	words          TEXT   NOT NULL,
	since          BIGINT NOT NULL CHECK (since > 0),
	ends_at        BIGINT NOT NULL CHECK (ends_at > 0),
	pauses         BIGINT NOT NULL CHECK (pauses > 0),
	told_by_status BIGINT NOT NULL CHECK (told_by_status = 0 OR told_by_status = 1),
	probe          BIGINT NOT NULL,
	lifted_at      BIGINT NOT NULL,
	PRIMARY KEY (of_account, template)
) {{clustered}};
