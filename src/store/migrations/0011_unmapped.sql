-- Reports that are about no artefact: one row for each object and reason, with how many there were. What nobody told is empty:
-- to a unique index no NULL is like another.
CREATE TABLE unmapped (
    id          INTEGER PRIMARY KEY,
    environment TEXT    NOT NULL,
    sender      TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    count       BIGINT  NOT NULL,
    first_at    BIGINT  NOT NULL,
    last_at     BIGINT  NOT NULL,
    -- Of the last of them.
    sentence    TEXT    NOT NULL,
    repair      TEXT    NOT NULL,
    message     TEXT    NOT NULL,
    UNIQUE (environment, sender, kind, namespace, name, reason)
);
CREATE INDEX unmapped_last ON unmapped (last_at);

-- The last report of an environment, whatever else the ledger holds.
CREATE INDEX ledger_report ON ledger (environment, id) WHERE kind = 'report';
