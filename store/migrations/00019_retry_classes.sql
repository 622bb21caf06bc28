-- +goose Up

-- Of a run that sends rows of another again, the classes of the service's words that it is about, with commas
-- between them; '' is all.
ALTER TABLE runs ADD COLUMN again_classes TEXT NOT NULL DEFAULT '';
