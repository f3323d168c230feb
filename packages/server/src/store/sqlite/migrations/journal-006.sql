-- Older programs may not run on this. What is left of packed entries stands in stretches, as their bodies stand in frames: a row for each took
-- twice the space. Rows of `settled` move there some at a time (settled-rows.ts); the next layout is without that table.

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
CREATE TRIGGER stretches_are_not_changed BEFORE UPDATE ON stretches BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER stretches_are_not_removed BEFORE DELETE ON stretches BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER places_are_not_changed BEFORE UPDATE ON places BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER places_are_not_removed BEFORE DELETE ON places BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER disclosures_are_not_changed BEFORE UPDATE ON disclosures
  BEGIN SELECT raise(ABORT, 'disclosures are written anew, never changed'); END;
DROP TRIGGER entries_are_not_removed;
CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries
  WHEN NOT EXISTS (SELECT 1 FROM places p WHERE p.n = (SELECT max(n) FROM places WHERE n <= OLD.n)
      AND p.workspace = OLD.workspace AND OLD.n < p.n + p.count AND OLD.n - p.n = OLD.sequence - p.sequence)
    OR NOT EXISTS (SELECT 1 FROM stretches s WHERE s.workspace = OLD.workspace
      AND s.first = (SELECT max(first) FROM stretches WHERE workspace = OLD.workspace AND first <= OLD.sequence)
      AND OLD.sequence < s.first + s.count AND s.part = (OLD.sequence - s.first) / 31
      AND substr(s.bytes, 1 + 64 * ((OLD.sequence - s.first) % 31), 64) = substr(OLD.record, 55))
  BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
DROP TRIGGER settled_are_not_removed;
CREATE TRIGGER settled_are_not_removed BEFORE DELETE ON settled
  WHEN NOT EXISTS (SELECT 1 FROM places p WHERE p.n = (SELECT max(n) FROM places WHERE n <= OLD.n)
      AND p.workspace = OLD.workspace AND OLD.n < p.n + p.count AND OLD.n - p.n = OLD.sequence - p.sequence)
    OR NOT EXISTS (SELECT 1 FROM stretches s WHERE s.workspace = OLD.workspace
      AND s.first = (SELECT max(first) FROM stretches WHERE workspace = OLD.workspace AND first <= OLD.sequence)
      AND OLD.sequence < s.first + s.count AND s.part = (OLD.sequence - s.first) / 31
      AND substr(s.bytes, 1 + 64 * ((OLD.sequence - s.first) % 31), 64) = substr(OLD.record, 55))
  BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
