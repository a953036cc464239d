-- A change that waits for people: its time is a reminder or its end, and nobody who waits for what is under way waits
-- for that.
ALTER TABLE change ADD COLUMN waits BOOLEAN NOT NULL DEFAULT FALSE;
