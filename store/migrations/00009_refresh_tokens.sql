-- Refresh tokens that an OAuth provider gave in place of configured ones, which it takes no more.
-- source is a SHA-256 of the address, the client and the configured token: another token in the
-- config finds none here. A row of a token that is configured no more stays, so that an older
-- config that comes back works.
CREATE TABLE refresh_tokens (
	source TEXT   NOT NULL PRIMARY KEY CHECK (source <> ''),
	token  TEXT   NOT NULL CHECK (token <> ''),
	at     BIGINT NOT NULL CHECK (at > 0)
) {{clustered}};
