-- Older programs may not run on this. All of it is derived from the journal: the file may be deleted, and is made again.

-- `hash` is that of the last record that was filed: a file that belongs to another journal is known by it.
CREATE TABLE workspaces (
  number   INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE,
  position INTEGER NOT NULL,
  hash     BLOB NOT NULL
) STRICT;

-- What filters ask for. A workspace has few of them, so a filter is a choice of combinations.
CREATE TABLE combinations (
  number         INTEGER PRIMARY KEY,
  workspace      INTEGER NOT NULL,
  project        TEXT NOT NULL,
  lane           TEXT NOT NULL,
  is_visible     INTEGER NOT NULL,
  is_system      INTEGER NOT NULL,
  entries        INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence  INTEGER NOT NULL,
  UNIQUE (workspace, project, lane, is_visible, is_system)
) STRICT;

-- An entry's place is its workspace's number and its sequence in one (search-places.ts), here and in `search`.
CREATE TABLE filed (
  place       INTEGER PRIMARY KEY,
  combination INTEGER NOT NULL,
  occurred_ms INTEGER NOT NULL,
  occurred_ns INTEGER NOT NULL
) STRICT;

CREATE INDEX filed_by_combination ON filed (combination);
CREATE INDEX filed_by_time ON filed (combination, occurred_ms, occurred_ns);

-- How many entries of a combination occurred in an hour, and between which sequences they stand.
CREATE TABLE hours (
  combination    INTEGER NOT NULL,
  hour           INTEGER NOT NULL,
  entries        INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence  INTEGER NOT NULL,
  PRIMARY KEY (combination, hour)
) STRICT, WITHOUT ROWID;

-- How many entries of a combination stand before a block of 4,096 sequences, for each block that has one. Rows are added, never changed.
CREATE TABLE blocks (
  combination INTEGER NOT NULL,
  block       INTEGER NOT NULL,
  before      INTEGER NOT NULL,
  PRIMARY KEY (combination, block)
) STRICT, WITHOUT ROWID;

-- Fields whose values stand under several names have one token for all of them; this says which lists of names have a name.
CREATE TABLE shared_names (
  name  TEXT NOT NULL,
  names TEXT NOT NULL,
  PRIMARY KEY (name, names)
) STRICT, WITHOUT ROWID;

-- Tokens are made by search-tokens.ts and parted by spaces; what it writes into them is no space and no quote. Values are not kept.
CREATE VIRTUAL TABLE search USING fts5 (
  nobody, actor, target, id, receipt,
  content = '', columnsize = 0, detail = full,
  tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO search (search, rank) VALUES ('hashsize', 4194304);
INSERT INTO search (search, rank) VALUES ('pgsz', 8000);

-- The tokens themselves, to see what a prefix stands for.
CREATE VIRTUAL TABLE search_tokens USING fts5vocab (search, instance);
