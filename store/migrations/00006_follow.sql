-- Messages that an upload's answer named: the n-th id that the answer of a part lists, from 1, is
-- message dispatch_id + n - first_id. They have numbers of the dispatches' sequence and no dispatch.
CREATE TABLE run_messages (
	run_id      BIGINT NOT NULL,
	part        BIGINT NOT NULL CHECK (part > 0),
	first_id    BIGINT NOT NULL CHECK (first_id > 0),
	id_count    BIGINT NOT NULL CHECK (id_count > 0),
	dispatch_id BIGINT NOT NULL CHECK (dispatch_id > 0),
	PRIMARY KEY (run_id, part, first_id)
) {{clustered}};
CREATE INDEX run_messages_dispatch ON run_messages (dispatch_id);

-- Parts whose ids are not all messages yet: message_ids is emptied once they are.
CREATE INDEX parts_unfollowed ON parts (run_id, number) WHERE message_ids <> '';

-- When the folder of a run was cleared away; 0 while it is there.
ALTER TABLE runs ADD COLUMN files_removed_at BIGINT NOT NULL DEFAULT 0 CHECK (files_removed_at >= 0);
CREATE INDEX runs_files ON runs (ended_at) WHERE ended_at > 0 AND files_removed_at = 0 AND folder <> '';
CREATE INDEX runs_folder ON runs (folder) WHERE folder <> '';
