-- Older programs may not run on this. What is filed is counted for its workspace as a whole too, so that a list of all projects costs the same
-- however many there are. All of it is made again from the journal.

INSERT INTO search (search) VALUES ('delete-all');
DELETE FROM workspaces;
DELETE FROM combinations;
DELETE FROM hours;
DELETE FROM blocks;
DELETE FROM shared_names;
DROP TABLE filed;

-- An entry has two combinations: that of its project, and its class, the same of all projects, whose row in `combinations` has the project `*`.
CREATE TABLE filed (
  place       INTEGER PRIMARY KEY,
  combination INTEGER NOT NULL,
  class       INTEGER NOT NULL,
  occurred_ms INTEGER NOT NULL,
  occurred_ns INTEGER NOT NULL
) STRICT;

CREATE INDEX filed_by_combination ON filed (combination);
CREATE INDEX filed_by_combination_time ON filed (combination, occurred_ms, occurred_ns);
CREATE INDEX filed_by_class ON filed (class);
CREATE INDEX filed_by_class_time ON filed (class, occurred_ms, occurred_ns);
