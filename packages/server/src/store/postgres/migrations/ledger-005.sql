-- Segments of the search have another form: they are removed, and the service makes them again. Older programs cannot add any.

TRUNCATE tallystick.segments, tallystick.parts;
ALTER TABLE tallystick.segments ADD CONSTRAINT segments_form CHECK (form = 3);
