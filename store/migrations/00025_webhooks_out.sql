-- +goose Up

-- What receivers under webhooks_out are told: a row for each change and receiver, written in the commit that makes the change.
-- subject is the message's number, a run's with a minus before it, or 0; rows of one subject go to a receiver one after the other.
-- A claim puts due_at to the end of its lease: after a crash it is due again by itself, and whoever gets it twice knows it by its id.
-- Rows that have ended are kept for replay, until retention removes them.
CREATE TABLE webhooks_out (
	id         {{id}},
	receiver   TEXT   NOT NULL CHECK (receiver <> ''),
	subject    BIGINT NOT NULL,
	event_id   BIGINT NOT NULL,
	phone      TEXT   NOT NULL,
	kind       TEXT   NOT NULL CHECK (kind <> ''),
	body       TEXT   NOT NULL,
	state      TEXT   NOT NULL CHECK (state IN ('waiting', 'delivered', 'given_up')),
	attempts   BIGINT NOT NULL CHECK (attempts >= 0),
	due_at     BIGINT NOT NULL CHECK (due_at > 0),
	lease_ends BIGINT NOT NULL,
	at         BIGINT NOT NULL CHECK (at > 0),
	since      BIGINT NOT NULL CHECK (since > 0),
	ended_at   BIGINT NOT NULL,
	reason     TEXT   NOT NULL,
	CHECK (lease_ends = 0 OR (lease_ends = due_at AND attempts > 0 AND state = 'waiting')),
	CHECK ((state = 'waiting') = (ended_at = 0))
);
CREATE INDEX webhooks_out_due ON webhooks_out (receiver, due_at, id) WHERE state = 'waiting';
CREATE INDEX webhooks_out_subject ON webhooks_out (subject, id) WHERE state = 'waiting' AND subject <> 0;
CREATE INDEX webhooks_out_ended ON webhooks_out (ended_at) WHERE state <> 'waiting';
CREATE INDEX webhooks_out_given_up ON webhooks_out (receiver, id) WHERE state = 'given_up';

-- How deliveries to each receiver went.
CREATE TABLE webhook_receivers (
	receiver      TEXT   NOT NULL PRIMARY KEY CHECK (receiver <> ''),
	delivered_at  BIGINT NOT NULL,
	failed_at     BIGINT NOT NULL,
	failing_since BIGINT NOT NULL,
	last_error    TEXT   NOT NULL
) {{clustered}};
