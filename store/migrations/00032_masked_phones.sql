-- +goose Up

-- Messages that were not long at their end yet when the phones of those around them were masked: they are looked at again.
CREATE TABLE unmasked (
	dispatch_id {{id}}
);

-- Ranges of messages that an upload's answer named, whose phones are all masked or gone.
ALTER TABLE run_messages ADD COLUMN masked BIGINT NOT NULL DEFAULT 0 CHECK (masked = 0 OR masked = 1);
