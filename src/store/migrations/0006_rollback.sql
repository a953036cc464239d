-- What rollbacks took back, and may not come back there or above until it is released. `change_id` is the rollback.
CREATE TABLE quarantine (
    change_id   TEXT    PRIMARY KEY,
    body        TEXT    NOT NULL,
    since       BIGINT  NOT NULL,
    released_at BIGINT,
    released_by TEXT
);
CREATE INDEX quarantine_in_force ON quarantine (since) WHERE released_at IS NULL;

-- What a rollback leaves on its environment, until the next promotion of the same lifts it.
CREATE TABLE hold (
    change_id   TEXT PRIMARY KEY,
    environment TEXT NOT NULL,
    body        TEXT NOT NULL
);
CREATE INDEX hold_environment ON hold (environment);

-- All changes that moved the same, by time.
CREATE INDEX change_moves ON change (moves, asked_at);
