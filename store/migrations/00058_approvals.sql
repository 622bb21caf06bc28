-- +goose Up

-- Of a run: who approved it while its guard held it, and how many different people that takes, as JSON; '' for nobody and 1.
ALTER TABLE runs ADD COLUMN approvals TEXT NOT NULL DEFAULT '';
