-- +goose Up

-- Each lane of an account may be paused by itself: its room is 'send authentication', 'send utility' or 'send marketing', and 'send' is all of
-- the account. A pause is found out anew within minutes, so none is carried over.
DROP TABLE account_pauses;
CREATE TABLE account_pauses (
	of_account     TEXT   NOT NULL,
	room           TEXT   NOT NULL CHECK (room = 'send' OR room = 'look' OR room = 'send authentication' OR room = 'send utility' OR room = 'send marketing'),
	way            TEXT   NOT NULL,
	cause          TEXT   NOT NULL CHECK (cause <> ''),
	words          TEXT   NOT NULL,
	since          BIGINT NOT NULL CHECK (since > 0),
	ends_at        BIGINT NOT NULL CHECK (ends_at > 0),
	strikes        BIGINT NOT NULL CHECK (strikes >= 0),
	told_by_status BIGINT NOT NULL CHECK (told_by_status = 0 OR told_by_status = 1),
	asked          BIGINT NOT NULL CHECK (asked = 0 OR asked = 1),
	node           TEXT   NOT NULL,
	PRIMARY KEY (of_account, room, way)
) {{clustered}};
{{postgres only}}
CREATE TRIGGER account_pauses_notice AFTER INSERT OR UPDATE OR DELETE ON account_pauses FOR EACH STATEMENT EXECUTE FUNCTION note_change('halts');
{{end}}
