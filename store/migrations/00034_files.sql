-- +goose Up

-- Files of runs, where the config keeps them in the database. A file is given its name when all of it is there; until then it
-- ends in ".new". One that is removed lies in no folder until its pieces are gone.
CREATE TABLE run_files (
	id     BIGINT NOT NULL PRIMARY KEY,
	folder TEXT   NOT NULL,
	name   TEXT   NOT NULL CHECK (name <> ''),
	bytes  BIGINT NOT NULL CHECK (bytes >= 0),
	UNIQUE (folder, name)
);
CREATE TABLE run_file_pieces (
	file_id BIGINT NOT NULL,
	number  BIGINT NOT NULL CHECK (number >= 0),
	content {{blob}} NOT NULL,
	PRIMARY KEY (file_id, number)
);
