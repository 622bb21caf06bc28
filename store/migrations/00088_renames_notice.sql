-- +goose Up

-- A node whose config has an old name hears that it was renamed.
{{postgres only}}
CREATE TRIGGER renames_notice AFTER INSERT OR UPDATE ON renames FOR EACH STATEMENT EXECUTE FUNCTION note_change('halts');
{{end}}
