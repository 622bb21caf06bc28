-- +goose Up

-- Accounts that the service does not serve now, as all processes know it; see halt_accounts.go. room is what is paused, way a keyed hash
-- of the key and the address by which the account was called: a process that calls it otherwise is not paused.
-- From ends_at on one process tries, whose turn it is for as long as it has moved ends_at.
CREATE TABLE account_pauses (
	of_account     TEXT   NOT NULL,
	room           TEXT   NOT NULL CHECK (room = 'send' OR room = 'look'),
	way            TEXT   NOT NULL,
	cause          TEXT   NOT NULL CHECK (cause <> ''),
	words          TEXT   NOT NULL,
	since          BIGINT NOT NULL CHECK (since > 0),
	ends_at        BIGINT NOT NULL CHECK (ends_at > 0),
	strikes        BIGINT NOT NULL CHECK (strikes >= 0),
	urgent         BIGINT NOT NULL CHECK (urgent = 0 OR urgent = 1),
	told_by_status BIGINT NOT NULL CHECK (told_by_status = 0 OR told_by_status = 1),
	asked          BIGINT NOT NULL CHECK (asked = 0 OR asked = 1),
	node           TEXT   NOT NULL,
	PRIMARY KEY (of_account, room, way)
) {{clustered}};
{{postgres only}}
CREATE TRIGGER account_pauses_notice AFTER INSERT OR UPDATE OR DELETE ON account_pauses FOR EACH STATEMENT EXECUTE FUNCTION note_change('halts');
{{end}}
