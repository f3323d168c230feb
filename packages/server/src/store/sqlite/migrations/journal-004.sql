-- Older programs may not run on this. One row for each entry, where there were three. This script makes a new file; one that has entries
-- is copied into such a file (journal-upgrade.ts), so the tables that are dropped here are empty.

DROP TABLE disclosures;
DROP TABLE bodies;
DROP TABLE entries;

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

-- A defence against our own mistakes; whoever can write the file can drop it, and the chain will tell.
CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
