-- +goose Up

-- What the service does not take now: what is sent with a template or campaign (or as text), by one trigger or run, or by whoever sends it
-- where origin is ''. mark is what its send contains, run_mark what the keys of the run's rows begin with. refused says that the service
-- refuses one message after the other; else its words said that the template is paused. Until ends_at nothing of it goes; from
-- then on the one dispatch called probe does, and what becomes of it lifts the pause or begins the next, longer one. told_by_status says that
-- the service took such messages and failed them later. A pause that was lifted leaves its row: the next one soon after may
-- be longer, and words about older messages are no new trouble.
CREATE TABLE send_pauses (
	of_account     TEXT   NOT NULL,
	kind           TEXT   NOT NULL CHECK (kind = 'template' OR kind = 'campaign' OR kind = 'text'),
	content        TEXT   NOT NULL CHECK (content <> '' OR kind = 'text'),
	origin         TEXT   NOT NULL,
	of_trigger     TEXT   NOT NULL CHECK (of_trigger = '' OR origin <> ''),
	run_mark       TEXT   NOT NULL CHECK (run_mark = '' OR origin <> ''),
	mark           TEXT   NOT NULL CHECK (mark <> ''),
	words          TEXT   NOT NULL,
	since          BIGINT NOT NULL CHECK (since > 0),
	ends_at        BIGINT NOT NULL CHECK (ends_at > 0),
	pauses         BIGINT NOT NULL CHECK (pauses > 0),
	refused        BIGINT NOT NULL CHECK (refused = 0 OR refused = 1),
	told_by_status BIGINT NOT NULL CHECK (told_by_status = 0 OR told_by_status = 1),
	probe          BIGINT NOT NULL,
	lifted_at      BIGINT NOT NULL,
	CHECK ((of_trigger = '' AND run_mark = '') = (origin = '')),
	PRIMARY KEY (of_account, kind, content, origin)
) {{clustered}};
INSERT INTO send_pauses (of_account, kind, content, origin, of_trigger, run_mark, mark, words, since, ends_at, pauses, refused, told_by_status, probe, lifted_at)
	SELECT of_account, 'template', template, '', '', '', mark, words, since, ends_at, pauses, 0, told_by_status, probe, lifted_at FROM template_pauses;
DROP TABLE template_pauses;
{{postgres only}}
CREATE TRIGGER send_pauses_notice AFTER INSERT OR UPDATE OR DELETE ON send_pauses FOR EACH STATEMENT EXECUTE FUNCTION note_change('halts');
{{end}}
