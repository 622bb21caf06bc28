-- +goose Up

-- What each contact agreed to, by channel (phone: messages; email) and category: the newest word by the
-- time when it happened. since, source, proof and event_id are those of the first time that the present word was said,
-- event_at is the last. event_id is 0 for a person's word or a file's.
CREATE TABLE consents (
	phone    TEXT   NOT NULL CHECK (phone <> ''),
	channel  TEXT   NOT NULL CHECK (channel = 'phone' OR channel = 'email'),
	category TEXT   NOT NULL CHECK (category = 'marketing' OR category = 'utility' OR category = 'authentication'),
	consent  TEXT   NOT NULL CHECK (consent = 'given' OR consent = 'withdrawn'),
	since    BIGINT NOT NULL,
	event_at BIGINT NOT NULL,
	source   TEXT   NOT NULL,
	proof    TEXT   NOT NULL,
	event_id BIGINT NOT NULL CHECK (event_id >= 0),
	PRIMARY KEY (phone, channel, category)
) {{clustered}};

-- Contacts that were forgotten, by a keyed hash of their phone: they stay blocked. at is when. by_hand says that
-- a person had blocked the contact, so that only a person ends it.
CREATE TABLE forgotten (
	mark    TEXT   NOT NULL PRIMARY KEY CHECK (mark <> ''),
	at      BIGINT NOT NULL CHECK (at > 0),
	by_hand BIGINT NOT NULL CHECK (by_hand = 0 OR by_hand = 1)
) {{clustered}};

-- What is to be forgotten and is not yet: a contact by phone, or all that came by a connector. A row goes
-- away once nothing that is stored tells of it. What arrived after at is another matter.
CREATE TABLE forgetting (
	phone     TEXT   NOT NULL,
	connector TEXT   NOT NULL,
	source    TEXT   NOT NULL,
	at        BIGINT NOT NULL CHECK (at > 0),
	waits     TEXT   NOT NULL,
	PRIMARY KEY (phone, connector),
	CHECK ((phone = '') <> (connector = ''))
) {{clustered}};
