-- A commitment to the secret of the server that began the database: before the first workspace,
-- nothing is sealed by which another server could tell that its secret is another one.
CREATE TABLE tallystick.begun (
  id         integer PRIMARY KEY CHECK (id = 1),
  commitment text NOT NULL
);
