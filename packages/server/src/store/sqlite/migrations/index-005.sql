-- Older programs may not run on this. When each API key and scoped token was used last, and from where. Nothing is derived from it, and it is lost with the file.

CREATE TABLE uses (
  id      TEXT PRIMARY KEY,
  at_ms   INTEGER NOT NULL,
  address TEXT NOT NULL
) WITHOUT ROWID;
