-- The whole layout: databases of layouts 1 to 4 are refused. Every table has `workspace_id` in its primary key and in every unique index, so
-- that a cluster can distribute it by workspace; what belongs to no workspace is in tables that a
-- cluster keeps on every node (`uses`, `directory`). Everything below `entries` and `documents` is
-- derived from them, but for the signed sizes.

-- The end of each chain. Whoever appends holds its row.
CREATE TABLE tallystick.heads (
  workspace_id text COLLATE "C" PRIMARY KEY,
  sequence     bigint NOT NULL,
  hash         bytea NOT NULL,
  time_ms      bigint NOT NULL,
  -- When its last append began, by the database's clock: so others learn what has grown.
  moved_ms     bigint NOT NULL
) WITH (fillfactor = 50);

-- What may be destroyed one day stands in columns of its own. `salted` is the salt's sixteen bytes
-- and the body.
CREATE TABLE tallystick.entries (
  workspace_id text COLLATE "C" NOT NULL,
  sequence     bigint NOT NULL,
  receipt      text COLLATE "C" NOT NULL,
  idem         text COLLATE "C",
  record       bytea NOT NULL CHECK (length(record) = 118),
  sealed       text COLLATE "C" NOT NULL,
  salted       bytea CHECK (length(salted) >= 16),
  PRIMARY KEY (workspace_id, sequence),
  UNIQUE (workspace_id, receipt),
  UNIQUE (workspace_id, idem)
);

-- `listed` is the value that a list shows, where it is another one.
CREATE TABLE tallystick.documents (
  workspace_id text COLLATE "C" NOT NULL,
  kind         text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL,
  version      bigint NOT NULL,
  created      bigint NOT NULL,
  value        text NOT NULL,
  listed       text,
  PRIMARY KEY (workspace_id, kind, id)
);
CREATE INDEX documents_by_age ON tallystick.documents (workspace_id, kind, created, id);

-- Where the documents are that are asked for without a workspace: workspaces and credentials.
CREATE TABLE tallystick.directory (
  kind         text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  created      bigint NOT NULL,
  PRIMARY KEY (kind, id, workspace_id)
);
CREATE INDEX directory_by_age ON tallystick.directory (kind, created, id);

CREATE TABLE tallystick.positions (
  workspace_id text COLLATE "C" PRIMARY KEY,
  sequence     bigint NOT NULL
);

CREATE TABLE tallystick.trees (
  workspace_id text COLLATE "C" NOT NULL,
  epoch        integer NOT NULL,
  size         bigint NOT NULL,
  hashes       bytea NOT NULL,
  PRIMARY KEY (workspace_id, epoch)
);

CREATE TABLE tallystick.tiles (
  workspace_id text COLLATE "C" NOT NULL,
  epoch        integer NOT NULL,
  level        integer NOT NULL,
  tile         bigint NOT NULL,
  hashes       bytea NOT NULL,
  PRIMARY KEY (workspace_id, epoch, level, tile)
);
ALTER TABLE tallystick.tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

CREATE TABLE tallystick.checkpoints (
  workspace_id text COLLATE "C" NOT NULL,
  epoch        integer NOT NULL,
  size         bigint NOT NULL,
  root         bytea NOT NULL,
  note         text NOT NULL,
  signed_ms    bigint NOT NULL,
  PRIMARY KEY (workspace_id, epoch)
);

-- The largest tree of each log that a server has signed, or was about to. A cluster distributes it
-- by origin, which names one epoch of one workspace.
CREATE TABLE tallystick.signed_heads (
  origin text COLLATE "C" PRIMARY KEY,
  size   bigint NOT NULL,
  root   bytea NOT NULL
);

CREATE TABLE tallystick.audits (
  workspace_id text COLLATE "C" PRIMARY KEY,
  version      bigint NOT NULL,
  state        text NOT NULL
);

CREATE TABLE tallystick.uses (
  id      text COLLATE "C" PRIMARY KEY,
  at_ms   bigint NOT NULL,
  address text NOT NULL
);

-- Which process follows a workspace, until when by the database's clock.
CREATE TABLE tallystick.leases (
  workspace_id text COLLATE "C" NOT NULL,
  task         text COLLATE "C" NOT NULL,
  holder       text NOT NULL,
  until_ms     bigint NOT NULL,
  PRIMARY KEY (workspace_id, task)
) WITH (fillfactor = 50);

-- Bodies of older entries are packed into frames (body-frame.ts): the rows of these entries stay,
-- without a body. A frame has those of `count` entries from `first` on. `version` is made of the
-- bytes: readers see by it whether theirs is out of date.
CREATE TABLE tallystick.frames (
  workspace_id text COLLATE "C" NOT NULL,
  first        bigint NOT NULL,
  count        integer NOT NULL,
  version      bigint NOT NULL,
  bytes        bytea NOT NULL,
  PRIMARY KEY (workspace_id, first)
);
ALTER TABLE tallystick.frames ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Up to where the bodies of each workspace were packed, or passed over.
CREATE TABLE tallystick.packed (
  workspace_id text COLLATE "C" PRIMARY KEY,
  sequence     bigint NOT NULL
) WITH (fillfactor = 50);

-- Of the search. `last_record` is the hash of the last entry's record, which ties a segment to its
-- journal. A row with an empty hash has parts that no search reads: they are stored before their
-- segment is, or a larger one has absorbed theirs. A program that makes segments of another form
-- cannot add any.
CREATE TABLE tallystick.segments (
  workspace_id text COLLATE "C" NOT NULL,
  level        integer NOT NULL,
  k            integer NOT NULL,
  hash         text NOT NULL,
  bytes        bigint NOT NULL,
  last_record  bytea NOT NULL,
  form         integer NOT NULL CONSTRAINT segments_form CHECK (form = 3),
  PRIMARY KEY (workspace_id, level, k)
);

CREATE TABLE tallystick.parts (
  workspace_id text COLLATE "C" NOT NULL,
  level        integer NOT NULL,
  k            integer NOT NULL,
  part         integer NOT NULL,
  bytes        bytea NOT NULL,
  PRIMARY KEY (workspace_id, level, k, part)
);
ALTER TABLE tallystick.parts ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Appends a group right after its head, with the changes of documents that it records, or nothing:
-- one call is one transaction and one round trip. The value of a change is a text within
-- `p_changes`, so that it is stored as it came; null where nothing changes.
--
-- Moving the head comes first: whoever has moved it holds its row until the end. If others have
-- appended since, `p_may_move` has the entries linked to the head there is: each record gets another
-- index, time and previous hash, and the answer says to which head. A key that was used is found by
-- the unique index, and ends the transaction.
CREATE FUNCTION tallystick.append_group(
  p_workspace_id text, p_from bigint, p_from_hash bytea, p_to_hash bytea, p_time_ms bigint,
  p_receipts text[], p_idems text[], p_sealed text[], p_records bytea[], p_salted bytea[],
  p_changes jsonb, p_may_move boolean,
  OUT outcome text, OUT head_sequence bigint, OUT head_hash bytea, OUT head_ms bigint,
  OUT last_hash bytea
) LANGUAGE plpgsql AS $$
DECLARE
  change record;
  kept bigint;
  leaf bytea;
BEGIN
  UPDATE tallystick.heads h
    SET sequence = p_from + cardinality(p_records), hash = p_to_hash, time_ms = p_time_ms,
        moved_ms = (extract(epoch FROM now()) * 1000)::bigint
    WHERE h.workspace_id = p_workspace_id AND h.sequence = p_from AND h.hash = p_from_hash;
  IF NOT FOUND AND p_from = 0 THEN
    -- Of two that begin a chain at once, one waits here for the other.
    INSERT INTO tallystick.heads (workspace_id, sequence, hash, time_ms, moved_ms)
      VALUES (p_workspace_id, cardinality(p_records), p_to_hash, p_time_ms,
              (extract(epoch FROM now()) * 1000)::bigint)
      ON CONFLICT DO NOTHING;
  END IF;
  IF NOT FOUND THEN
    SELECT h.sequence, h.hash, h.time_ms INTO head_sequence, head_hash, head_ms
      FROM tallystick.heads h WHERE h.workspace_id = p_workspace_id FOR UPDATE;
    IF NOT p_may_move OR head_sequence IS NULL OR head_sequence <= p_from THEN
      outcome := 'moved';
      RETURN;
    END IF;
    -- The index of the entry that would have been before the first one, and how far it moves.
    kept := ('x' || encode(substr(p_records[1], 7, 8), 'hex'))::bit(64)::bigint - 1 + head_sequence - p_from;
    p_time_ms := greatest(p_time_ms, head_ms);
    last_hash := head_hash;
    FOR place IN 1 .. cardinality(p_records) LOOP
      leaf := '\x00' || substr(p_records[place], 1, 6) || int8send(kept + place) || int8send(p_time_ms)
        || substr(p_records[place], 23, 32) || last_hash || substr(p_records[place], 87);
      p_records[place] := substr(leaf, 2);
      last_hash := sha256(leaf);
    END LOOP;
    p_from := head_sequence;
    UPDATE tallystick.heads h
      SET sequence = p_from + cardinality(p_records), hash = last_hash, time_ms = p_time_ms,
          moved_ms = (extract(epoch FROM now()) * 1000)::bigint
      WHERE h.workspace_id = p_workspace_id;
  END IF;
  outcome := 'done';

  IF p_changes IS NOT NULL THEN
    FOR change IN
      SELECT c.value ->> 'kind' AS kind, c.value ->> 'id' AS id, (c.value ->> 'version')::bigint AS version,
             c.value ->> 'value' AS value, c.value ->> 'listed' AS listed, c.place - 1 AS place
      FROM jsonb_array_elements(p_changes) WITH ORDINALITY AS c (value, place)
    LOOP
      SELECT d.version INTO kept FROM tallystick.documents d
        WHERE d.workspace_id = p_workspace_id AND d.kind = change.kind AND d.id = change.id;
      IF coalesce(kept, 0) <> change.version THEN
        -- What was changed before it in this group is taken back with the transaction.
        RAISE EXCEPTION 'a document has another version' USING ERRCODE = 'TS409', DETAIL = change.place;
      END IF;
      IF change.value IS NULL THEN
        DELETE FROM tallystick.documents d
          WHERE d.workspace_id = p_workspace_id AND d.kind = change.kind AND d.id = change.id;
        IF change.kind IN ('workspace', 'api-key', 'token', 'setup') THEN
          DELETE FROM tallystick.directory d
            WHERE d.kind = change.kind AND d.id = change.id AND d.workspace_id = p_workspace_id;
        END IF;
      ELSIF kept IS NULL THEN
        -- The time of creation is unique within kind and workspace.
        SELECT greatest(p_time_ms, max(d.created) + 1) INTO kept FROM tallystick.documents d
          WHERE d.workspace_id = p_workspace_id AND d.kind = change.kind;
        INSERT INTO tallystick.documents (workspace_id, kind, id, version, created, value, listed)
          VALUES (p_workspace_id, change.kind, change.id, 1, kept, change.value, change.listed);
        IF change.kind IN ('workspace', 'api-key', 'token', 'setup') THEN
          INSERT INTO tallystick.directory (kind, id, workspace_id, created)
            VALUES (change.kind, change.id, p_workspace_id, kept);
        END IF;
      ELSE
        UPDATE tallystick.documents d
          SET version = d.version + 1, value = change.value, listed = change.listed
          WHERE d.workspace_id = p_workspace_id AND d.kind = change.kind AND d.id = change.id;
      END IF;
    END LOOP;
  END IF;

  INSERT INTO tallystick.entries (workspace_id, sequence, receipt, idem, record, sealed, salted)
    SELECT p_workspace_id, p_from + t.place, t.receipt, t.idem, t.record, t.sealed, t.salted
    FROM unnest(p_receipts, p_idems, p_sealed, p_records, p_salted)
         WITH ORDINALITY AS t (receipt, idem, sealed, record, salted, place);
END $$;
