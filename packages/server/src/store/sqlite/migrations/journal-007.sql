-- Older programs may not run on this. The journal, and the registry that commits with it. The text of each statement is compared with that of the
-- file (orphans.ts), so it stays as it is.

CREATE TABLE workspaces (
  number INTEGER PRIMARY KEY,
  id     TEXT NOT NULL UNIQUE
) STRICT;

-- `n` counts entries across all workspaces in the order in which they were kept, so that every page is written at the right edge.
-- Receipt, key and disclosures are bytes where these make the same text again (packed-text.ts), and text otherwise. What may be destroyed one day
-- stands last: overwritten by as many zeros, it leaves the rest of the row where it is. The salt's sixteen bytes and the body are one value, because
-- each value that is read is memory of its own.
CREATE TABLE entries (
  n         INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL,
  sequence  INTEGER NOT NULL,
  receipt   ANY NOT NULL,
  idem      ANY,
  record    BLOB NOT NULL CHECK (length(record) = 118),
  sealed    ANY,
  salted    BLOB CHECK (length(salted) >= 16),
  UNIQUE (workspace, sequence)
) STRICT;

-- Bodies of older entries are packed into frames (body-frame.ts).

-- The bodies of `count` entries from `first` on, in parts: a frame is half a page, so whole frames would leave much of each page empty.
-- A frame that is written anew has other numbers, by which readers see that theirs is out of date.
CREATE TABLE frames (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  part      INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  bytes     BLOB NOT NULL,
  UNIQUE (workspace, first, part)
) STRICT;

-- What is left of packed entries stands in stretches, as their bodies stand in frames: a row for each took twice the space.

-- Records, receipts and keys of `count` entries from `first` on (stretch-format.ts), in parts of which eight fill a page. A part has 31 entries'
-- hashes, so that a trigger finds those of an entry.
CREATE TABLE stretches (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  part      INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  bytes     BLOB NOT NULL,
  UNIQUE (workspace, first, part)
) STRICT;

-- The disclosures of the same entries, if one of them has any. Written anew when some are destroyed, as a frame is.
CREATE TABLE disclosures (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  part      INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  bytes     BLOB NOT NULL,
  UNIQUE (workspace, first, part)
) STRICT;

-- Which packed entries are counted from `n` on: `count` of them, from `sequence` on.
CREATE TABLE places (
  n         INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL,
  sequence  INTEGER NOT NULL,
  count     INTEGER NOT NULL
) STRICT;

-- A defence against our own mistakes; whoever can write the file can drop it, and the chain will tell. The hashes of an entry are the last 64
-- bytes of its record.
CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries WHEN (OLD.n, OLD.workspace, OLD.sequence, OLD.receipt, OLD.idem, OLD.record)
    IS NOT (NEW.n, NEW.workspace, NEW.sequence, NEW.receipt, NEW.idem, NEW.record) OR (NEW.salted IS NOT NULL AND NEW.salted IS NOT OLD.salted)
  BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries
  WHEN NOT EXISTS (SELECT 1 FROM places p WHERE p.n = (SELECT max(n) FROM places WHERE n <= OLD.n)
      AND p.workspace = OLD.workspace AND OLD.n < p.n + p.count AND OLD.n - p.n = OLD.sequence - p.sequence)
    OR NOT EXISTS (SELECT 1 FROM stretches s WHERE s.workspace = OLD.workspace
      AND s.first = (SELECT max(first) FROM stretches WHERE workspace = OLD.workspace AND first <= OLD.sequence)
      AND OLD.sequence < s.first + s.count AND s.part = (OLD.sequence - s.first) / 31
      AND substr(s.bytes, 1 + 64 * ((OLD.sequence - s.first) % 31), 64) = substr(OLD.record, 55))
  BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER frames_are_not_changed BEFORE UPDATE ON frames BEGIN SELECT raise(ABORT, 'a frame is written anew, never changed'); END;
CREATE TRIGGER stretches_are_not_changed BEFORE UPDATE ON stretches BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER stretches_are_not_removed BEFORE DELETE ON stretches BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER places_are_not_changed BEFORE UPDATE ON places BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER places_are_not_removed BEFORE DELETE ON places BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER disclosures_are_not_changed BEFORE UPDATE ON disclosures
  BEGIN SELECT raise(ABORT, 'disclosures are written anew, never changed'); END;

-- Lists are paged by when a document was made, and by its id. They are read from the newest on, of one workspace or of all.
CREATE TABLE documents (
  serial    INTEGER PRIMARY KEY AUTOINCREMENT,
  kind      TEXT NOT NULL,
  workspace TEXT NOT NULL,
  id        TEXT NOT NULL,
  version   INTEGER NOT NULL,
  value     TEXT NOT NULL, created INTEGER NOT NULL DEFAULT 0,
  UNIQUE (kind, workspace, id)
) STRICT;

CREATE INDEX documents_by_id ON documents (kind, id);
CREATE INDEX documents_by_workspace ON documents (kind, workspace, created, id);
CREATE INDEX documents_by_kind ON documents (kind, created, id);
