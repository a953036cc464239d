-- Since when a version has run well without interruption; NULL while it does not. What ran and had not failed when we
-- came to note it is taken to have run well all along.
ALTER TABLE sighting ADD COLUMN well_since BIGINT;
UPDATE sighting SET well_since = running_at WHERE ended_at IS NULL AND failed IS NULL;
