-- +goose Up

-- What the receivers of alerts are told: what was told and lasts, or ended lately, what is still to be told, and how
-- deliveries ended. receiver is a hash of what it is and where. The rows are few, and are replaced together.
CREATE TABLE alerts (
	receiver  TEXT   NOT NULL CHECK (receiver <> ''),
	condition TEXT   NOT NULL CHECK (condition <> ''),
	code      TEXT   NOT NULL CHECK (code <> ''),
	subject   TEXT   NOT NULL,
	severity  TEXT   NOT NULL,
	about     TEXT   NOT NULL,
	words     TEXT   NOT NULL,
	cure      TEXT   NOT NULL,
	began     BIGINT NOT NULL CHECK (began > 0),
	told_at   BIGINT NOT NULL CHECK (told_at > 0),
	ended_at  BIGINT NOT NULL,
	PRIMARY KEY (receiver, condition, code, subject)
) {{clustered}};

CREATE TABLE alert_notices (
	position   BIGINT NOT NULL PRIMARY KEY,
	notice     TEXT   NOT NULL CHECK (notice <> ''),
	receiver   TEXT   NOT NULL CHECK (receiver <> ''),
	condition  TEXT   NOT NULL,
	code       TEXT   NOT NULL,
	subject    TEXT   NOT NULL,
	severity   TEXT   NOT NULL,
	about      TEXT   NOT NULL,
	words      TEXT   NOT NULL,
	cure       TEXT   NOT NULL,
	began      BIGINT NOT NULL,
	ended_at   BIGINT NOT NULL,
	created_at BIGINT NOT NULL CHECK (created_at > 0),
	attempts   BIGINT NOT NULL CHECK (attempts >= 0),
	next_at    BIGINT NOT NULL
) {{clustered}};

CREATE TABLE alert_receivers (
	receiver      TEXT   NOT NULL PRIMARY KEY CHECK (receiver <> ''),
	name          TEXT   NOT NULL,
	delivered_at  BIGINT NOT NULL,
	failed_at     BIGINT NOT NULL,
	failing_since BIGINT NOT NULL,
	last_error    TEXT   NOT NULL
) {{clustered}};
