-- +goose Up

-- A claim begins where the last one ended, and so walks over what those before it left in the index until a vacuum has taken it. By
-- default that waits for a fifth of all rows ever sent, and lets the indexes be where few pages changed.
{{postgres only}}
ALTER TABLE dispatches SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, vacuum_index_cleanup = on);
ALTER TABLE messages SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, vacuum_index_cleanup = on);
{{end}}
