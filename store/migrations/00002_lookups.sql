-- Events that wait for what their webhook left out. A row goes away in the commit that plans
-- its event, so the table holds only what is alive. A claim puts due_at to the end of its
-- lease: after a crash the look-up is due again by itself, and made twice it does no harm.
CREATE TABLE lookups (
	event_id    {{id}},
	connector   TEXT   NOT NULL,
	attempts    BIGINT NOT NULL CHECK (attempts >= 0),
	due_at      BIGINT NOT NULL CHECK (due_at > 0),
	lease_ends  BIGINT NOT NULL,
	received_at BIGINT NOT NULL CHECK (received_at > 0),
	reason      TEXT   NOT NULL,
	CHECK (lease_ends = 0 OR (lease_ends = due_at AND attempts > 0))
);
CREATE INDEX lookups_due ON lookups (due_at);
