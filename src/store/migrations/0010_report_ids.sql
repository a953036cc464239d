-- What the sender itself calls a report: a second one of that name has no effect, whatever it says.
ALTER TABLE inbox ADD COLUMN sender_id TEXT;
CREATE UNIQUE INDEX inbox_sender_id ON inbox (source, sender_id) WHERE sender_id IS NOT NULL;
