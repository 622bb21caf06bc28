-- +goose Up

-- Who may use the API from elsewhere. Of a token its SHA-256 is kept, which is enough for 256 random bits. scopes have a comma
-- between them; expires_at and revoked_at are 0 for never.
CREATE TABLE api_tokens (
	id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
	name       TEXT   NOT NULL CHECK (name <> ''),
	hash       TEXT   NOT NULL CHECK (hash <> ''),
	scopes     TEXT   NOT NULL CHECK (scopes <> ''),
	created_at BIGINT NOT NULL CHECK (created_at > 0),
	created_by TEXT   NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL
) {{clustered}};

-- What people and programs ordered, and which config was taken up, in the order of their numbers. hash is that of the entry and of
-- the hash before it, so that no entry can be changed or taken out without those behind it. Whole phones stand nowhere in it.
CREATE TABLE audit (
	id      BIGINT NOT NULL PRIMARY KEY CHECK (id > 0),
	at      BIGINT NOT NULL CHECK (at > 0),
	who     TEXT   NOT NULL,
	via     TEXT   NOT NULL,
	action  TEXT   NOT NULL CHECK (action <> ''),
	subject TEXT   NOT NULL,
	detail  TEXT   NOT NULL,
	outcome TEXT   NOT NULL,
	hash    TEXT   NOT NULL CHECK (hash <> '')
) {{clustered}};
