-- Older programs may not run on this. Bodies of older entries are packed into frames (body-frame.ts), and the rest of their rows moves to a
-- table of its own, so that whole pages become free and are used again.

-- An entry whose body is in a frame, or is nowhere any more.
CREATE TABLE settled (
  n         INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL,
  sequence  INTEGER NOT NULL,
  receipt   ANY NOT NULL,
  idem      ANY,
  record    BLOB NOT NULL CHECK (length(record) = 118),
  sealed    ANY,
  UNIQUE (workspace, sequence)
) STRICT;

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

-- Every entry. With the cast its columns have the same types in both tables, without which each read would sort all that follow.
CREATE VIEW recorded AS
  SELECT n, workspace, sequence, receipt, idem, record, sealed, salted FROM entries
  UNION ALL SELECT n, workspace, sequence, receipt, idem, record, sealed, CAST(NULL AS BLOB) FROM settled;

-- A defence against our own mistakes; whoever can write the file can drop it, and the chain will tell.
DROP TRIGGER entries_are_not_changed;
DROP TRIGGER entries_are_not_removed;
CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries WHEN (OLD.n, OLD.workspace, OLD.sequence, OLD.receipt, OLD.idem, OLD.record)
    IS NOT (NEW.n, NEW.workspace, NEW.sequence, NEW.receipt, NEW.idem, NEW.record) OR (NEW.salted IS NOT NULL AND NEW.salted IS NOT OLD.salted)
  BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries
  WHEN NOT EXISTS (SELECT 1 FROM settled s WHERE s.n = OLD.n AND s.record = OLD.record)
  BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER settled_are_not_changed BEFORE UPDATE ON settled WHEN (OLD.n, OLD.workspace, OLD.sequence, OLD.receipt, OLD.idem, OLD.record)
    IS NOT (NEW.n, NEW.workspace, NEW.sequence, NEW.receipt, NEW.idem, NEW.record)
  BEGIN SELECT raise(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER settled_are_not_removed BEFORE DELETE ON settled BEGIN SELECT raise(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER frames_are_not_changed BEFORE UPDATE ON frames BEGIN SELECT raise(ABORT, 'a frame is written anew, never changed'); END;
