-- +goose Up

-- People who sign in to the console. password is argon2id with its parameters, '' until it is chosen; setup is the SHA-256 of the link by
-- which it is chosen. source is '' for who signs in by a password here, else what says who it is (oidc, header), and subject then is the
-- SHA-256 of whom it says it to be. Times are 0 for never.
CREATE TABLE users (
	name         TEXT   NOT NULL PRIMARY KEY CHECK (name <> ''),
	role         TEXT   NOT NULL CHECK (role <> ''),
	password     TEXT   NOT NULL,
	source       TEXT   NOT NULL,
	subject      TEXT   NOT NULL,
	setup        TEXT   NOT NULL,
	setup_until  BIGINT NOT NULL,
	created_at   BIGINT NOT NULL CHECK (created_at > 0),
	created_by   TEXT   NOT NULL,
	disabled_at  BIGINT NOT NULL,
	signed_in_at BIGINT NOT NULL
) {{clustered}};

-- Who is signed in, by the SHA-256 of 256 random bits that the browser has. user_name is '' for who came by a link, and then scopes are
-- what the session may do; else the role of the user says it.
CREATE TABLE console_sessions (
	hash      TEXT   NOT NULL PRIMARY KEY CHECK (hash <> ''),
	who       TEXT   NOT NULL,
	user_name TEXT   NOT NULL,
	scopes    TEXT   NOT NULL,
	began_at  BIGINT NOT NULL CHECK (began_at > 0),
	seen_at   BIGINT NOT NULL
) {{clustered}};
CREATE INDEX console_sessions_who ON console_sessions (who, seen_at);

-- Links that sign in once, by the SHA-256 of what is in them.
CREATE TABLE console_links (
	hash     TEXT   NOT NULL PRIMARY KEY CHECK (hash <> ''),
	who      TEXT   NOT NULL,
	scopes   TEXT   NOT NULL,
	until_at BIGINT NOT NULL
) {{clustered}};
