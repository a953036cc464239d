-- Times are microseconds since 1970. In SQLite, an `INTEGER PRIMARY KEY` numbers the rows; only this is spelled differently in
-- PostgreSQL (BIGINT GENERATED ALWAYS AS IDENTITY).
-- A `body`, and the ledger's `actor`, is JSON of the form {"v": version, "body": ...}. The Rust file of a table defines its type.
-- The bodies of the inbox are events as their adapter parsed them.

-- Received requests and webhooks that must be handled. A done row keeps its key, so that a replay has no effect.
CREATE TABLE inbox (
    id          INTEGER PRIMARY KEY,
    source      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    -- The sender's own id of the event: a second event with this id has no effect, even if its content differs.
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
-- that the row is not deleted after only the older text was sent.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    queue      TEXT    NOT NULL,
    key        TEXT    UNIQUE,
    body       TEXT    NOT NULL,
    revision   BIGINT  NOT NULL DEFAULT 0,
    created_at BIGINT  NOT NULL,
    due_at     BIGINT  NOT NULL,
    -- A patient edit waits for its due time without delaying the other rows of its queue.
    patient    BOOLEAN NOT NULL DEFAULT FALSE,
    attempts   BIGINT  NOT NULL DEFAULT 0,
    error      TEXT
);
CREATE INDEX outbox_queue ON outbox (queue, id);

-- The locations of posted messages in Slack, so that they can be edited and answered in their thread.
CREATE TABLE posted_message (
    key       TEXT   PRIMARY KEY,
    queue     TEXT   NOT NULL,
    channel   TEXT   NOT NULL,
    ts        TEXT   NOT NULL,
    note      TEXT,
    posted_at BIGINT NOT NULL
);
CREATE INDEX posted_message_posted_at ON posted_message (posted_at);
-- Finds the queue of a channel by the channel's id.
CREATE INDEX posted_message_channel ON posted_message (channel);

CREATE TABLE ledger (
    id          INTEGER PRIMARY KEY,
    at          BIGINT  NOT NULL,
    change_id   TEXT,
    kind        TEXT    NOT NULL,
    artefact    TEXT,
    environment TEXT,
    actor       TEXT,
    -- NULL if the event has no details.
    body        TEXT
);
CREATE INDEX ledger_change ON ledger (change_id, id) WHERE change_id IS NOT NULL;
CREATE INDEX ledger_place ON ledger (artefact, environment, id);
-- The events of `history`, newest first: of all, of an environment, and of an artefact, which also has the changes that carried
-- it along. The ledger has many other events (reports, stages), so these indexes are partial. A query must spell the kinds in the
-- same way to use them.
CREATE INDEX ledger_told ON ledger (id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released');
CREATE INDEX ledger_told_there ON ledger (environment, id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released');
CREATE INDEX ledger_told_of ON ledger (artefact, id)
    WHERE kind IN ('begun', 'arrived', 'arrival_failed', 'locked', 'unlocked', 'taken_over', 'released', 'carried');
-- For the last report of an environment, for the rows that are read at each start, and for the rows that are pruned.
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
    -- Since when the version has been healthy without interruption; NULL while it is not.
    well_since  BIGINT,
    failed      TEXT,
    ended_at    BIGINT,
    announced   BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX sighting_now ON sighting (artefact, environment) WHERE ended_at IS NULL;
CREATE INDEX sighting_history ON sighting (artefact, environment, seen_at);
CREATE INDEX sighting_commit ON sighting (commit_sha) WHERE commit_sha IS NOT NULL;
CREATE INDEX sighting_tag ON sighting (tag) WHERE tag IS NOT NULL;

-- The commit from which an image was built; NULL if no source names it. `reference` is a tag or a digest.
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

-- Comparisons of two commits. They never change, so they are kept for ever.
CREATE TABLE comparison (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    ahead_by   BIGINT NOT NULL,
    behind_by  BIGINT NOT NULL,
    -- The number of commits in the body. The list is complete if it equals `ahead_by`.
    listed     BIGINT NOT NULL,
    body       TEXT   NOT NULL,
    PRIMARY KEY (repository, base, head)
);
-- Covers the query that reads many comparisons at once, without their long bodies.
CREATE INDEX comparison_ends ON comparison (repository, base, head, ahead_by, behind_by, listed);

-- The commits that a comparison lists: those that only its head has. A commit is found by the beginning of its SHA, or by the
-- number of its pull request.
CREATE TABLE compared_commit (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    sha        TEXT   NOT NULL,
    pull       BIGINT,
    -- For a rollback: the commit that it restored, by its trailer.
    restores   TEXT,
    PRIMARY KEY (repository, base, head, sha)
);
CREATE INDEX compared_commit_sha ON compared_commit (sha, repository, base, head);
CREATE INDEX compared_commit_pull ON compared_commit (pull) WHERE pull IS NOT NULL;
CREATE INDEX compared_commit_restores ON compared_commit (repository, sha, restores) WHERE restores IS NOT NULL;

-- Commits that a person asked for and no comparison lists, with their subject and author.
CREATE TABLE found_commit (
    repository TEXT NOT NULL,
    sha        TEXT NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (repository, sha)
);
CREATE INDEX found_commit_sha ON found_commit (sha);

-- The names of found commits: `#42` for a pull request, `tags/1.4` for a Git tag.
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

-- One row for each change. The row of an active change is the change lock on its branch or file: the partial unique index
-- `change_lock` admits one active row for each value of `moves`, and that row names the holder.
CREATE TABLE change (
    id          TEXT    PRIMARY KEY,
    short       TEXT    NOT NULL,
    artefact    TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    moves       TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    active      BOOLEAN NOT NULL,
    -- Active, or watched for a late proof.
    open        BOOLEAN NOT NULL,
    -- Waits for people: the next due time is a reminder or the expiry, so no work is outstanding.
    waits       BOOLEAN NOT NULL,
    -- Grows with every claim. A write with an older number is refused.
    fence       BIGINT  NOT NULL DEFAULT 0,
    due_at      BIGINT,
    -- The person who asked to cancel it. The runner cancels it at its next step.
    cancel_by   TEXT,
    body        TEXT    NOT NULL,
    asked_at    BIGINT  NOT NULL
);
CREATE UNIQUE INDEX change_lock ON change (moves) WHERE active;
CREATE INDEX change_open ON change (open) WHERE open;
CREATE INDEX change_due ON change (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX change_short ON change (short);
CREATE INDEX change_place ON change (artefact, environment, asked_at);
-- All changes of the same branch or file, by time.
CREATE INDEX change_moves ON change (moves, asked_at);

-- Names of tags, reserved before the tags are created.
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

-- Locks that people set: on an environment, or on one artefact in it. A row is no longer in force after `until`. It is deleted
-- when the same scope is locked again, or by pruning.
CREATE TABLE lock (
    id          TEXT   PRIMARY KEY,
    environment TEXT   NOT NULL,
    -- Empty for the whole environment: a unique index treats all NULLs as different.
    artefact    TEXT   NOT NULL,
    person      TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    since       BIGINT NOT NULL,
    until       BIGINT,
    -- The time at which the owner is asked whether the lock is still needed.
    nudge_at    BIGINT NOT NULL,
    UNIQUE (environment, artefact)
);
CREATE INDEX lock_nudge ON lock (nudge_at);

-- Versions that were rolled back. They may not return to that environment or to any above it until they are released. `change_id`
-- is the rollback.
CREATE TABLE quarantine (
    change_id   TEXT    PRIMARY KEY,
    body        TEXT    NOT NULL,
    since       BIGINT  NOT NULL,
    released_at BIGINT,
    released_by TEXT
);
CREATE INDEX quarantine_in_force ON quarantine (since) WHERE released_at IS NULL;

-- Holds: a rollback leaves one on its environment, and the next promotion of the same artefacts lifts it.
CREATE TABLE hold (
    change_id   TEXT PRIMARY KEY,
    environment TEXT NOT NULL,
    body        TEXT NOT NULL
);
CREATE INDEX hold_environment ON hold (environment);

-- Reports that belong to no artefact: one row for each object and reason, with their number. Unknown parts are empty, because a
-- unique index treats all NULLs as different.
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
    -- Of the last report.
    sentence    TEXT    NOT NULL,
    repair      TEXT    NOT NULL,
    message     TEXT    NOT NULL,
    UNIQUE (environment, sender, kind, namespace, name, reason)
);
CREATE INDEX unmapped_report_last ON unmapped_report (last_at);
