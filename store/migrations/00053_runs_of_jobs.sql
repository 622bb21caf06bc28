-- +goose Up

-- The newest run of a job, which stays whatever its age.
CREATE INDEX runs_of_job ON runs (job, id);
