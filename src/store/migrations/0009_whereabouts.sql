-- How many commits a comparison lists: all of them, where that is `ahead_by`. Its body need not be read for that.
ALTER TABLE comparison ADD COLUMN listed BIGINT;
UPDATE comparison SET listed = (
    SELECT COUNT(*) FROM compared_commit AS one
    WHERE one.repository = comparison.repository AND one.base = comparison.base AND one.head = comparison.head
) WHERE body IS NOT NULL;

-- All that is asked of many at once: the rows themselves are long, and what stands behind their body takes all of it to read.
CREATE INDEX comparison_ends ON comparison (repository, base, head, ahead_by, behind_by, listed) WHERE listed IS NOT NULL;

-- The commit whose code a rollback brought back, by its own word.
ALTER TABLE compared_commit ADD COLUMN restores TEXT;
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

CREATE INDEX sighting_commit ON sighting (commit_sha) WHERE commit_sha IS NOT NULL;
CREATE INDEX sighting_tag ON sighting (tag) WHERE tag IS NOT NULL;
CREATE INDEX image_commit_sha ON image_commit (commit_sha) WHERE commit_sha IS NOT NULL;
CREATE INDEX image_commit_reference ON image_commit (reference);
