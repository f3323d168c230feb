-- Older programs may not run on this. A tree says how far its workspace was followed.

DROP TABLE tallystick.positions;
