-- +goose Up

-- Where the data lives.
{{postgres only}}
-- A copy of the data has the row, and lies elsewhere; see postgres_place.go.
CREATE TABLE place (
	one      BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
	system   TEXT   NOT NULL,
	base     TEXT   NOT NULL,
	timeline TEXT   NOT NULL,
	synced   BIGINT NOT NULL
);
{{end}}
