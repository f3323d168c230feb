-- Older programs may not run on this. The first layout of the journal and of the registry that commits with it.

CREATE TABLE workspaces (
  number INTEGER PRIMARY KEY,
  id     TEXT NOT NULL UNIQUE
) STRICT;

-- `n` counts entries across all workspaces in the order in which they were kept, so that every page is written at the right edge.
CREATE TABLE entries (
  n         INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL,
  sequence  INTEGER NOT NULL,
  record    BLOB NOT NULL CHECK (length(record) = 118),
  receipt   TEXT NOT NULL,
  idem      TEXT,
  UNIQUE (workspace, sequence)
) STRICT;

-- The salt's sixteen bytes and the body are one value: each is memory of its own when it is read, and this one is read by every follower.
CREATE TABLE bodies (
  n      INTEGER PRIMARY KEY,
  salted BLOB NOT NULL CHECK (length(salted) >= 16)
) STRICT;

CREATE TABLE disclosures (
  n      INTEGER PRIMARY KEY,
  sealed TEXT NOT NULL
) STRICT;

-- A defence against our own mistakes; whoever can write the file can drop it, and the chain will tell.
CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER bodies_are_not_changed BEFORE UPDATE ON bodies BEGIN SELECT raise(ABORT, 'a body is never changed'); END;

CREATE TABLE documents (
  serial    INTEGER PRIMARY KEY AUTOINCREMENT,
  kind      TEXT NOT NULL,
  workspace TEXT NOT NULL,
  id        TEXT NOT NULL,
  version   INTEGER NOT NULL,
  value     TEXT NOT NULL,
  UNIQUE (kind, workspace, id)
) STRICT;

CREATE INDEX documents_by_id ON documents (kind, id);
