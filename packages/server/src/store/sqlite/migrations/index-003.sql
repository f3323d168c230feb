-- Older programs may not run on this. All of it is derived from the journal: the file may be deleted, and is made again.

-- Which entry has a key or a receipt, for each complete run of entries (key-runs.ts).
CREATE TABLE runs (
  run             INTEGER PRIMARY KEY,
  lowest_receipt  TEXT NOT NULL,
  highest_receipt TEXT NOT NULL,
  filter          BLOB NOT NULL
) STRICT;

CREATE TABLE buckets (
  run      INTEGER NOT NULL,
  bucket   INTEGER NOT NULL,
  keys     TEXT NOT NULL,
  receipts TEXT NOT NULL,
  PRIMARY KEY (run, bucket)
) STRICT;

CREATE TABLE positions (
  workspace TEXT PRIMARY KEY,
  sequence  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE trees (
  workspace TEXT PRIMARY KEY,
  size      INTEGER NOT NULL,
  hashes    BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tiles (
  workspace TEXT NOT NULL,
  level     INTEGER NOT NULL,
  tile      INTEGER NOT NULL,
  hashes    BLOB NOT NULL,
  PRIMARY KEY (workspace, level, tile)
) STRICT;

CREATE TABLE checkpoints (
  workspace TEXT PRIMARY KEY,
  size      INTEGER NOT NULL,
  root      BLOB NOT NULL,
  note      TEXT NOT NULL,
  signed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How far the auditor has come in each workspace, as JSON; the version is what a change names.
CREATE TABLE audits (
  workspace TEXT PRIMARY KEY,
  version   INTEGER NOT NULL,
  state     TEXT NOT NULL
) WITHOUT ROWID;
