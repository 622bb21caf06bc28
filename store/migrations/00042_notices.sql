-- How nodes hear of what another one changed.
{{postgres only}}
-- A row says that something changed. Transactions do not end in the order of their numbers, so readers go by xid: see postgres_notices.go.
CREATE TABLE notices (
	kind TEXT NOT NULL CHECK (kind = 'halts' OR kind = 'blocks' OR kind = 'off' OR kind = 'due'),
	id   BIGINT      NOT NULL,
	xid  xid8        NOT NULL DEFAULT pg_current_xact_id(),
	at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX notices_xid ON notices (xid);

-- The triggers tell, so no operation can forget to. What is rare also wakes the others at once.
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO notices (kind, id) VALUES (TG_ARGV[0], 0);
	PERFORM pg_notify('nudgewire', '');
	RETURN NULL;
END $$;
CREATE FUNCTION note_called_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO notices (kind, id) VALUES ('off', NEW.dispatch_id);
	RETURN NULL;
END $$;
CREATE TRIGGER halts_notice AFTER INSERT OR UPDATE OR DELETE ON halts FOR EACH STATEMENT EXECUTE FUNCTION note_change('halts');
CREATE TRIGGER template_pauses_notice AFTER INSERT OR UPDATE OR DELETE ON template_pauses FOR EACH STATEMENT EXECUTE FUNCTION note_change('halts');
CREATE TRIGGER restorations_notice AFTER INSERT OR UPDATE OR DELETE ON restorations FOR EACH STATEMENT EXECUTE FUNCTION note_change('halts');
CREATE TRIGGER blocks_notice AFTER INSERT OR UPDATE ON blocks FOR EACH STATEMENT EXECUTE FUNCTION note_change('blocks');
CREATE TRIGGER forgotten_notice AFTER INSERT OR UPDATE ON forgotten FOR EACH STATEMENT EXECUTE FUNCTION note_change('blocks');
CREATE TRIGGER called_off_notice AFTER INSERT ON called_off FOR EACH ROW EXECUTE FUNCTION note_called_off();

-- The key of the marks of forgotten contacts: all nodes need the same one.
CREATE TABLE forgotten_key (
	key TEXT NOT NULL
);
INSERT INTO forgotten_key SELECT encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')), 'hex');
{{end}}
