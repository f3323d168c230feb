-- Older programs may not run on this. How far the auditor has come, as JSON: one row.

CREATE TABLE audit (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  state TEXT NOT NULL
) STRICT;
