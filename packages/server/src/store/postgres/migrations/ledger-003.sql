-- Bodies of older entries are packed into frames (body-frame.ts): the rows of these entries stay, without a body.

-- The bodies of `count` entries from `first` on. `version` is made of the bytes: readers see by it whether theirs is out of date.
CREATE TABLE tallystick.frames (
  workspace_id text COLLATE "C" NOT NULL,
  first        bigint NOT NULL,
  count        integer NOT NULL,
  version      bigint NOT NULL,
  bytes        bytea NOT NULL,
  PRIMARY KEY (workspace_id, first)
);
ALTER TABLE tallystick.frames ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Up to where the bodies of each workspace were packed, or passed over.
CREATE TABLE tallystick.packed (
  workspace_id text COLLATE "C" PRIMARY KEY,
  sequence     bigint NOT NULL
) WITH (fillfactor = 50);
