-- +goose Up

-- What processes that call the service by one account share.
{{postgres only}}
-- Up to when times of requests are given away, in microseconds by the clock of the database.
CREATE TABLE rates (
	account TEXT   NOT NULL PRIMARY KEY,
	given   BIGINT NOT NULL
) WITH (fillfactor = 30);
{{end}}
