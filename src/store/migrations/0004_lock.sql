-- What people locked: an environment, or one artefact there. A row whose time has passed is no longer in force;
-- it goes when the place is locked again, or at last by itself.
CREATE TABLE lock (
    id          TEXT   PRIMARY KEY,
    environment TEXT   NOT NULL,
    -- Empty for the whole environment: to a unique index no NULL is like another.
    artefact    TEXT   NOT NULL,
    person      TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    since       BIGINT NOT NULL,
    until       BIGINT,
    -- When its owner is asked whether it is still needed.
    nudge_at    BIGINT NOT NULL,
    UNIQUE (environment, artefact)
);
CREATE INDEX lock_nudge ON lock (nudge_at);
