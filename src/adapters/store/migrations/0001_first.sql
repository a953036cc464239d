-- Times are microseconds since 1970. `INTEGER PRIMARY KEY` numbers the rows by itself in SQLite;
-- that is the one thing PostgreSQL spells differently (BIGINT GENERATED ALWAYS AS IDENTITY).
-- A `body`, and the ledger's `actor`, is JSON of the form {"v": version, "body": ...}, whose types stand in the file of its
-- table. The inbox's bodies are events as their adapter understood them.

-- Requests and webhooks that were received and must be worked on. A done row keeps its key, so that a replay has no effect.
CREATE TABLE inbox (
    id          INTEGER PRIMARY KEY,
    source      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    -- The sender's own name of the event: a second event of that name has no effect, whatever it says.
    sender_id   TEXT,
    body        TEXT,
    received_at BIGINT  NOT NULL,
    due_at      BIGINT  NOT NULL,
    attempts    BIGINT  NOT NULL DEFAULT 0,
    error       TEXT,
    done_at     BIGINT,
    UNIQUE (source, key)
);
CREATE INDEX inbox_waiting ON inbox (due_at) WHERE done_at IS NULL;
CREATE INDEX inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL;
CREATE UNIQUE INDEX inbox_sender_id ON inbox (source, sender_id) WHERE sender_id IS NOT NULL;

-- Messages for Slack. Rows of one queue are sent in order of id. `revision` grows when a newer text replaces an unsent one, so
-- that a row is not deleted for having sent the older text.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    queue      TEXT    NOT NULL,
    key        TEXT    UNIQUE,
    body       TEXT    NOT NULL,
    revision   BIGINT  NOT NULL DEFAULT 0,
    created_at BIGINT  NOT NULL,
    due_at     BIGINT  NOT NULL,
    -- A patient edit waits for its time without holding up the others of its queue.
    patient    BOOLEAN NOT NULL DEFAULT FALSE,
    attempts   BIGINT  NOT NULL DEFAULT 0,
    error      TEXT
);
CREATE INDEX outbox_queue ON outbox (queue, id);

-- Where our messages stand in Slack, so that they can be edited and answered in their thread.
CREATE TABLE posted_message (
    key       TEXT   PRIMARY KEY,
    queue     TEXT   NOT NULL,
    channel   TEXT   NOT NULL,
    ts        TEXT   NOT NULL,
    note      TEXT,
    posted_at BIGINT NOT NULL
);
CREATE INDEX posted_message_posted_at ON posted_message (posted_at);
-- A channel that is known by its id: the name of its queue.
CREATE INDEX posted_message_channel ON posted_message (channel);

CREATE TABLE ledger (
    id          INTEGER PRIMARY KEY,
    at          BIGINT  NOT NULL,
    change_id   TEXT,
    kind        TEXT    NOT NULL,
    artefact    TEXT,
    environment TEXT,
    actor       TEXT,
    -- NULL where nothing more is kept.
    body        TEXT
);
CREATE INDEX ledger_change ON ledger (change_id, id) WHERE change_id IS NOT NULL;
CREATE INDEX ledger_place ON ledger (artefact, environment, id);
-- What `history` tells, newest first: of all, of an environment, and of an artefact, which also has what carried it along.
-- The ledger holds much more (reports, steps), so these are partial; a query uses them that spells the kinds the same way.
CREATE INDEX ledger_told ON ledger (id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released');
CREATE INDEX ledger_told_there ON ledger (environment, id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released');
CREATE INDEX ledger_told_of ON ledger (artefact, id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released', 'carried');
-- The last report of an environment; the rows that are read again at each start; the rows that are pruned.
CREATE INDEX ledger_report ON ledger (environment, id) WHERE kind = 'report';
CREATE INDEX ledger_report_id ON ledger (id) WHERE kind = 'report';
CREATE INDEX ledger_report_at ON ledger (at) WHERE kind = 'report';
CREATE INDEX ledger_build ON ledger (id) WHERE kind = 'build';

CREATE TABLE sighting (
    id          INTEGER PRIMARY KEY,
    artefact    TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    tag         TEXT,
    digest      TEXT,
    commit_sha  TEXT,
    seen_at     BIGINT  NOT NULL,
    running_at  BIGINT,
    -- Since when the version has run well without interruption; NULL while it does not.
    well_since  BIGINT,
    failed      TEXT,
    ended_at    BIGINT,
    announced   BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX sighting_now ON sighting (artefact, environment) WHERE ended_at IS NULL;
CREATE INDEX sighting_history ON sighting (artefact, environment, seen_at);
CREATE INDEX sighting_commit ON sighting (commit_sha) WHERE commit_sha IS NOT NULL;
CREATE INDEX sighting_tag ON sighting (tag) WHERE tag IS NOT NULL;

-- Which commit an image was built from, as far as anything told. `reference` is a tag or a digest.
CREATE TABLE image_commit (
    image      TEXT   NOT NULL,
    reference  TEXT   NOT NULL,
    commit_sha TEXT,
    proof      TEXT   NOT NULL,
    learned_at BIGINT NOT NULL,
    PRIMARY KEY (image, reference)
);
CREATE INDEX image_commit_sha ON image_commit (commit_sha) WHERE commit_sha IS NOT NULL;
CREATE INDEX image_commit_reference ON image_commit (reference);

-- How two commits stand to each other: for ever true, so kept for ever.
CREATE TABLE comparison (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    ahead_by   BIGINT NOT NULL,
    behind_by  BIGINT NOT NULL,
    -- How many commits the body lists: all of them, where that is `ahead_by`.
    listed     BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    PRIMARY KEY (repository, base, head)
);
-- All that is asked of many at once, without their long bodies.
CREATE INDEX comparison_ends ON comparison (repository, base, head, ahead_by, behind_by, listed);

-- The commits that a comparison names: only its head has them. A commit is found by the beginning of its name, or by the
-- number of the pull request that brought it.
CREATE TABLE compared_commit (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    sha        TEXT   NOT NULL,
    pull       BIGINT,
    -- The commit whose code a rollback brought back, by its own word.
    restores   TEXT,
    PRIMARY KEY (repository, base, head, sha)
);
CREATE INDEX compared_commit_sha ON compared_commit (sha, repository, base, head);
CREATE INDEX compared_commit_pull ON compared_commit (pull) WHERE pull IS NOT NULL;
CREATE INDEX compared_commit_restores ON compared_commit (repository, sha, restores) WHERE restores IS NOT NULL;

-- Commits that somebody asked for and no comparison lists, with how people know them.
CREATE TABLE found_commit (
    repository TEXT NOT NULL,
    sha        TEXT NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (repository, sha)
);
CREATE INDEX found_commit_sha ON found_commit (sha);

-- What people call them: `#42` for a pull request, `tags/1.4` for a tag of Git.
CREATE TABLE found_name (
    repository TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    sha        TEXT   NOT NULL,
    found_at   BIGINT NOT NULL,
    PRIMARY KEY (repository, name)
);
CREATE INDEX found_name_name ON found_name (name);

CREATE TABLE setting (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- One row for each change. While it is active its row is the lock on what moves: the partial unique index lets nobody else in,
-- and names the holder.
CREATE TABLE change (
    id          TEXT    PRIMARY KEY,
    short       TEXT    NOT NULL,
    artefact    TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    moves       TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    active      BOOLEAN NOT NULL,
    -- Still looked at: active, or watched for a late proof.
    open        BOOLEAN NOT NULL,
    -- Waits for people: the next due time is a reminder or the end, so that nothing is under way.
    waits       BOOLEAN NOT NULL,
    -- Grows with every claim; whoever writes with an older number has been overtaken.
    fence       BIGINT  NOT NULL DEFAULT 0,
    due_at      BIGINT,
    -- Who asked to cancel it; honoured at its next step.
    cancel_by   TEXT,
    body        TEXT    NOT NULL,
    asked_at    BIGINT  NOT NULL
);
CREATE UNIQUE INDEX change_lock ON change (moves) WHERE active;
CREATE INDEX change_open ON change (open) WHERE open;
CREATE INDEX change_due ON change (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX change_short ON change (short);
CREATE INDEX change_place ON change (artefact, environment, asked_at);
-- All changes that moved the same, by time.
CREATE INDEX change_moves ON change (moves, asked_at);

-- Names of tags, chosen before they are made.
CREATE TABLE tag (
    repository TEXT NOT NULL,
    name       TEXT NOT NULL,
    change_id  TEXT NOT NULL,
    PRIMARY KEY (repository, name)
);

-- Plans that were shown and may be confirmed.
CREATE TABLE plan (
    id      TEXT   PRIMARY KEY,
    person  TEXT   NOT NULL,
    body    TEXT   NOT NULL,
    made_at BIGINT NOT NULL
);
CREATE INDEX plan_made ON plan (made_at);

-- What people locked: an environment, or one artefact there. A row whose time has passed is no longer in force; it goes when
-- the place is locked again, or at last by itself.
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

-- Versions that rollbacks took back: they may not come back there or above until they are released. `change_id` is the rollback.
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

-- Reports that are about no artefact: one row for each object and reason, with how many there were. A part that is not known
-- is empty: to a unique index no NULL is like another.
CREATE TABLE unmapped_report (
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
CREATE INDEX unmapped_report_last ON unmapped_report (last_at);
