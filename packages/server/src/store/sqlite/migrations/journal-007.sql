-- Older programs may not run on this. All rows of `settled` stand in stretches (settled-rows.ts).

DROP VIEW recorded;
DROP TABLE settled;
