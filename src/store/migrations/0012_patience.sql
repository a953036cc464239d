-- A patient edit waits for its time without holding up the others of its queue.
ALTER TABLE outbox ADD COLUMN patient BOOLEAN NOT NULL DEFAULT FALSE;
