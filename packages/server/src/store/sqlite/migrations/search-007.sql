-- Older programs may not run on this. All of it is derived from the journal: the file may be
-- deleted, and is made again. Files of former layouts, a full-text index or segments of another
-- form, are removed, not migrated (search-file.ts).

CREATE TABLE workspaces (
  number INTEGER PRIMARY KEY,
  id     TEXT NOT NULL UNIQUE
) STRICT;

-- `hash` is that of the segment's content, `last_record` that of its last entry's record: a file
-- that belongs to another journal is known by it. A row with an empty hash has parts that no search
-- reads: they are stored before their segment is, or a larger one has absorbed theirs.
CREATE TABLE segments (
  workspace   INTEGER NOT NULL,
  level       INTEGER NOT NULL,
  k           INTEGER NOT NULL,
  hash        TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  last_record BLOB NOT NULL,
  PRIMARY KEY (workspace, level, k)
) STRICT, WITHOUT ROWID;

CREATE TABLE parts (
  workspace INTEGER NOT NULL,
  level     INTEGER NOT NULL,
  k         INTEGER NOT NULL,
  part      INTEGER NOT NULL,
  bytes     BLOB NOT NULL,
  PRIMARY KEY (workspace, level, k, part)
) STRICT;
