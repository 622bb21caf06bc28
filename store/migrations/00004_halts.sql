-- What a person stopped, until a person lets it go on: the claim asks here. mark is the piece
-- of dispatches.send that names the template; '' for the other scopes.
CREATE TABLE halts (
	scope  TEXT   NOT NULL CHECK (scope = 'all' OR scope = 'trigger' OR scope = 'template' OR scope = 'job'),
	name   TEXT   NOT NULL CHECK ((scope = 'all') = (name = '')),
	mark   TEXT   NOT NULL CHECK ((scope = 'template') = (mark <> '')),
	reason TEXT   NOT NULL,
	at     BIGINT NOT NULL CHECK (at > 0),
	PRIMARY KEY (scope, name)
);
