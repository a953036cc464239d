-- All that a comparison tells, and not only how far apart the two are. What was kept before is asked once more.
ALTER TABLE comparison ADD COLUMN body TEXT;

-- The commits that a comparison names: only its head has them. A commit is found by the beginning of its name, or by the
-- number of the pull request that brought it.
CREATE TABLE compared_commit (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    sha        TEXT   NOT NULL,
    pull       BIGINT,
    PRIMARY KEY (repository, base, head, sha)
);
CREATE INDEX compared_commit_sha ON compared_commit (sha, repository, base, head);
CREATE INDEX compared_commit_pull ON compared_commit (pull) WHERE pull IS NOT NULL;
