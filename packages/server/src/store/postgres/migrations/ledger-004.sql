-- Segments of the search have another form: they are removed, and the service makes them again. Older programs cannot add any: they do not know `form`.
-- A row of `segments` with an empty hash has parts that no search reads: they are stored before their segment is, or a larger one has absorbed theirs.

TRUNCATE tallystick.segments, tallystick.parts;
ALTER TABLE tallystick.segments ADD COLUMN form integer NOT NULL;
