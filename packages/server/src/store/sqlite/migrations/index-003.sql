-- Older programs may not run on this. How far the auditor has come in each workspace, as JSON; the version is what a change names.

DROP TABLE audit;

CREATE TABLE audits (
  workspace TEXT PRIMARY KEY,
  version   INTEGER NOT NULL,
  state     TEXT NOT NULL
) WITHOUT ROWID;
