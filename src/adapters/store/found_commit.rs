//! Finds commits that people name: by hash, pull request or tag, in all tables that mention commits.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::comparison::to_sql_integer;
use super::error::StoreError;
use super::handle::Store;
use super::stored::{StoredBody, read_body, write_body};
use super::stored_parts::StoredCommit;
use super::time::to_micros;
use super::transaction::{Operation, Transaction};
use crate::domain::git::containment::CommitPair;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::{Commit, Sha};
use crate::domain::view::where_query::QueryInterpretation;

/// The maximum number of candidates. A name with more of them is too vague.
const MAX_CANDIDATES: i64 = 50;
/// The number of commits in one query.
const COMMITS_PER_QUERY: usize = 500;

/// A candidate for a named commit, and the row that mentions it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitCandidate {
    pub mentioned_by: CommitMention,
    /// `None`: an image that was seen, and no source names its commit.
    pub sha: Option<Sha>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitMention {
    Repository(String),
    /// An artefact that was seen to run the commit.
    Artefact(String),
    /// An image that was built from the commit.
    Image(String),
}

type Row = (String, String, Option<String>);

impl Store {
    /// All stored candidates for a name. A Git tag can be moved, so a tag counts only if it was found since
    /// `tags_since`.
    pub async fn find_commit_candidates(
        &self,
        kind: &QueryInterpretation,
        tags_since: Timestamp,
    ) -> Result<Vec<CommitCandidate>, StoreError> {
        let rows: Vec<Row> = match kind {
            QueryInterpretation::Commit(hex) => {
                // No hex digit is greater than `f`. `LIKE` would not use an index.
                let end = format!("{hex}g");
                sqlx::query_as(
                    "SELECT 'repository', repository, sha FROM compared_commit WHERE sha >= $1 AND sha < $2
                     UNION SELECT 'repository', repository, sha FROM found_commit WHERE sha >= $1 AND sha < $2
                     UNION SELECT 'artefact', artefact, commit_sha FROM sighting
                         WHERE commit_sha >= $1 AND commit_sha < $2
                     UNION SELECT 'image', image, commit_sha FROM image_commit
                         WHERE commit_sha >= $1 AND commit_sha < $2
                     LIMIT $3",
                )
                .bind(hex)
                .bind(end)
                .bind(MAX_CANDIDATES)
                .fetch_all(&self.0.readers)
                .await?
            }
            QueryInterpretation::PullRequest(number) => {
                sqlx::query_as(
                    "SELECT 'repository', repository, sha FROM compared_commit WHERE pull = $1
                     UNION SELECT 'repository', repository, sha FROM found_name WHERE name = $2
                     LIMIT $3",
                )
                .bind(to_sql_integer(*number))
                .bind(format_pull_name(*number))
                .bind(MAX_CANDIDATES)
                .fetch_all(&self.0.readers)
                .await?
            }
            QueryInterpretation::Tag(tag) => {
                sqlx::query_as(
                    "SELECT 'artefact', artefact, commit_sha FROM sighting WHERE tag = $1
                     UNION SELECT 'image', image, commit_sha FROM image_commit WHERE reference = $1
                     UNION SELECT 'repository', repository, sha FROM found_name WHERE name = $2 AND found_at >= $3
                     LIMIT $4",
                )
                .bind(tag)
                .bind(format_tag_name(tag))
                .bind(to_micros(tags_since))
                .bind(MAX_CANDIDATES)
                .fetch_all(&self.0.readers)
                .await?
            }
        };
        Ok(rows.into_iter().filter_map(parse_candidate).collect())
    }

    /// The commit that GitHub returned for a pull request.
    pub async fn find_pull_commit(&self, repository: &Repository, number: u64) -> Result<Option<Sha>, StoreError> {
        let sha: Option<String> = sqlx::query_scalar("SELECT sha FROM found_name WHERE repository = $1 AND name = $2")
            .bind(repository.to_string())
            .bind(format_pull_name(number))
            .fetch_optional(&self.0.readers)
            .await?;
        Ok(sha.and_then(|sha| sha.parse().ok()))
    }

    /// A commit with its subject and author, if a comparison or a search has stored it.
    pub async fn find_commit(&self, repository: &Repository, sha: &Sha) -> Result<Option<Commit>, StoreError> {
        let found: Option<String> =
            sqlx::query_scalar("SELECT body FROM found_commit WHERE repository = $1 AND sha = $2")
                .bind(repository.to_string())
                .bind(sha.as_str())
                .fetch_optional(&self.0.readers)
                .await?;
        if let Some(commit) = found.and_then(|body| read_body::<StoredCommit>(&body).ok()) {
            return Ok(Some(commit));
        }
        // The shortest comparison is the fastest to read. Only its body is fetched.
        let listed: Option<(String, String)> = sqlx::query_as(
            "SELECT one.base, one.head FROM compared_commit AS one
             JOIN comparison AS whole
               ON whole.repository = one.repository AND whole.base = one.base AND whole.head = one.head
             WHERE one.repository = $1 AND one.sha = $2 ORDER BY whole.ahead_by LIMIT 1",
        )
        .bind(repository.to_string())
        .bind(sha.as_str())
        .fetch_optional(&self.0.readers)
        .await?;
        let ends = listed.and_then(|(base, head)| Some((base.parse::<Sha>().ok()?, head.parse::<Sha>().ok()?)));
        let Some((base, head)) = ends else { return Ok(None) };
        let comparison = self.find_comparison(repository, &base, &head).await?;
        let listed =
            comparison.and_then(|comparison| comparison.commits.into_iter().find(|listed| listed.commit.sha == *sha));
        Ok(listed.map(|listed| listed.commit))
    }

    /// The stored comparisons among some commits, and those that list the commit that is sought.
    pub async fn list_compared_pairs(
        &self,
        repository: &Repository,
        sought: &Sha,
        commits: &[&Sha],
    ) -> Result<Vec<CommitPair>, StoreError> {
        type ComparisonRow = (String, String, i64, i64, i64);
        let repository = repository.to_string();
        let listing: Vec<(String, String)> =
            sqlx::query_as("SELECT base, head FROM compared_commit WHERE sha = $1 AND repository = $2")
                .bind(sought.as_str())
                .bind(&repository)
                .fetch_all(&self.0.readers)
                .await?;
        let listing: std::collections::HashSet<(String, String)> = listing.into_iter().collect();
        let mut rows: Vec<ComparisonRow> = Vec::new();
        for chunk in commits.chunks(COMMITS_PER_QUERY) {
            let mut query: QueryBuilder<Sqlite> =
                QueryBuilder::new("SELECT base, head, ahead_by, behind_by, listed FROM comparison WHERE repository = ");
            query.push_bind(&repository).push(" AND base IN (");
            let mut names = query.separated(", ");
            for commit in chunk {
                names.push_bind(commit.as_str());
            }
            query.push(")");
            rows.extend(query.build_query_as::<ComparisonRow>().fetch_all(&self.0.readers).await?);
        }
        let mut pairs: Vec<CommitPair> = rows
            .into_iter()
            .filter_map(|(base, head, ahead_by, behind_by, listed)| {
                let lists = listing.contains(&(base.clone(), head.clone()));
                Some(CommitPair {
                    base: base.parse().ok()?,
                    head: head.parse().ok()?,
                    ahead_by: u64::try_from(ahead_by).ok()?,
                    behind_by: u64::try_from(behind_by).ok()?,
                    is_complete: listed == ahead_by,
                    lists_sought: lists,
                })
            })
            .collect();
        // A comparison that lists the commit shows where it is, even if its base is not one of `commits`. The distances
        // of these pairs are placeholders.
        pairs.extend(listing.into_iter().filter_map(|(base, head)| {
            let (base, head) = (base.parse().ok()?, head.parse().ok()?);
            Some(CommitPair { base, head, ahead_by: 1, behind_by: 1, is_complete: false, lists_sought: true })
        }));
        Ok(pairs)
    }

    /// The rollbacks among the commits (by their trailer), each with the commit that it restored.
    pub async fn find_restored_commits(
        &self,
        repository: &Repository,
        commits: &[&Sha],
    ) -> Result<HashMap<Sha, Sha>, StoreError> {
        let mut found = HashMap::new();
        for chunk in commits.chunks(COMMITS_PER_QUERY) {
            let mut query: QueryBuilder<Sqlite> =
                QueryBuilder::new("SELECT DISTINCT sha, restores FROM compared_commit WHERE repository = ");
            query.push_bind(repository.to_string()).push(" AND restores IS NOT NULL AND sha IN (");
            let mut names = query.separated(", ");
            for commit in chunk {
                names.push_bind(commit.as_str());
            }
            query.push(")");
            let rows: Vec<(String, String)> = query.build_query_as().fetch_all(&self.0.readers).await?;
            found.extend(
                rows.into_iter().filter_map(|(sha, restores)| Some((sha.parse().ok()?, restores.parse().ok()?))),
            );
        }
        Ok(found)
    }
}

fn parse_candidate((kind, name, sha): Row) -> Option<CommitCandidate> {
    let mentioned_by = match kind.as_str() {
        "repository" => CommitMention::Repository(name),
        "artefact" => CommitMention::Artefact(name),
        _ => CommitMention::Image(name),
    };
    // A row with an invalid hash is dropped.
    let sha = match sha {
        Some(sha) => Some(sha.parse().ok()?),
        None => None,
    };
    Some(CommitCandidate { mentioned_by, sha })
}

fn format_pull_name(number: u64) -> String {
    format!("#{number}")
}

fn format_tag_name(tag: &str) -> String {
    format!("tags/{tag}")
}

impl StoredBody for StoredCommit {
    const VERSION: u32 = 1;
}

impl Transaction {
    /// Records a commit that GitHub found by this name.
    #[must_use]
    pub fn record_found_commit(self, repository: Repository, commit: Commit, by: QueryInterpretation) -> Self {
        self.with_operation(RecordFoundCommit { repository, commit: Box::new(commit), found_by: by })
    }
}

/// Stores a found commit, and the name by which it was found, unless that is its hash.
#[derive(Debug)]
struct RecordFoundCommit {
    repository: Repository,
    commit: Box<Commit>,
    found_by: QueryInterpretation,
}

impl Operation for RecordFoundCommit {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO found_commit (repository, sha, body) VALUES ($1, $2, $3)
             ON CONFLICT (repository, sha) DO UPDATE SET body = excluded.body",
        )
        .bind(self.repository.to_string())
        .bind(self.commit.sha.as_str())
        .bind(write_body::<StoredCommit>((*self.commit).clone())?)
        .execute(&mut *connection)
        .await?;
        let name = match &self.found_by {
            QueryInterpretation::Commit(_) => return Ok(()),
            QueryInterpretation::PullRequest(number) => format_pull_name(*number),
            QueryInterpretation::Tag(tag) => format_tag_name(tag),
        };
        sqlx::query(
            "INSERT INTO found_name (repository, name, sha, found_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (repository, name) DO UPDATE SET sha = excluded.sha, found_at = excluded.found_at",
        )
        .bind(self.repository.to_string())
        .bind(name)
        .bind(self.commit.sha.as_str())
        .bind(to_micros(now))
        .execute(connection)
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::adapters::store::{ImageCommit, Transaction};
    use crate::clock::Clock;
    use crate::domain::git::comparison::{ChangedFiles, Comparison, ListedCommit};
    use crate::domain::git::trailer::Trailers;
    use crate::domain::sample::{self, sha};

    async fn fixture() -> (tempfile::TempDir, Clock, Store, Repository) {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::new_manual("2026-11-16T09:00:00Z".parse().unwrap());
        let url = format!("sqlite://{}", dir.path().join("gantry.db").display());
        let store = Store::open(&url, clock.clone()).await.unwrap();
        (dir, clock, store, "acme/shop".parse().unwrap())
    }

    fn compared(base: char, head: char, ahead_by: u64, commits: Vec<ListedCommit>) -> Comparison {
        let (base, head) = (sha(base), sha(head));
        Comparison { base, head, ahead_by, behind_by: 2, commits, files: ChangedFiles::default(), url: None }
    }

    fn format_candidates(candidates: &[CommitCandidate]) -> Vec<String> {
        let format = |candidate: &CommitCandidate| match &candidate.mentioned_by {
            CommitMention::Repository(name) | CommitMention::Artefact(name) | CommitMention::Image(name) => {
                format!("{name} {}", candidate.sha.as_ref().map_or("?", Sha::short))
            }
        };
        candidates.iter().map(format).collect()
    }

    #[tokio::test]
    async fn stored_commits_are_found_by_prefix_pull_request_and_tag() {
        let (_dir, clock, store, shop) = fixture().await;
        let listed = |digit, subject| ListedCommit::new(sample::commit(digit, subject), Vec::new(), None, None);
        let image = |reference: &str, commit: Option<Sha>| ImageCommit {
            image: "ghcr.io/acme/mailer".into(),
            reference: reference.into(),
            commit,
            proof: "label".into(),
        };
        let transaction = Transaction::new()
            .record_comparison(shop.clone(), compared('0', 'b', 2, vec![listed('b', "Two (#42)"), listed('a', "One")]))
            .record_comparison(shop.clone(), compared('1', 'b', 1, vec![listed('b', "Two (#42)")]))
            .record_image_commit(image("build-7", Some(sha('e'))))
            .record_image_commit(image("build-8", None))
            .record_found_commit(shop.clone(), sample::commit('c', "Three (#7)"), QueryInterpretation::PullRequest(7))
            .record_found_commit(shop.clone(), sample::commit('d', "Four"), QueryInterpretation::Tag("qa/1".into()));
        store.commit(transaction).await.unwrap();

        let find = async |kind: QueryInterpretation| {
            format_candidates(
                &store.find_commit_candidates(&kind, clock.now() - SignedDuration::from_hours(24)).await.unwrap(),
            )
        };
        assert_eq!(find(QueryInterpretation::Commit("bbbb".into())).await, ["acme/shop bbbbbbb"]);
        assert_eq!(find(QueryInterpretation::Commit("e".repeat(40))).await, ["ghcr.io/acme/mailer eeeeeee"]);
        assert_eq!(find(QueryInterpretation::Commit("dddd".into())).await, ["acme/shop ddddddd"]);
        assert_eq!(find(QueryInterpretation::PullRequest(42)).await, ["acme/shop bbbbbbb"]);
        assert_eq!(find(QueryInterpretation::PullRequest(7)).await, ["acme/shop ccccccc"]);
        assert_eq!(find(QueryInterpretation::Tag("build-7".into())).await, ["ghcr.io/acme/mailer eeeeeee"]);
        assert_eq!(find(QueryInterpretation::Tag("build-8".into())).await, ["ghcr.io/acme/mailer ?"]);
        assert_eq!(find(QueryInterpretation::Tag("qa/1".into())).await, ["acme/shop ddddddd"]);
        assert_eq!(store.find_pull_commit(&shop, 7).await.unwrap(), Some(sha('c')));
        clock.advance(SignedDuration::from_hours(25));
        assert_eq!(
            find(QueryInterpretation::Tag("qa/1".into())).await,
            Vec::<String>::new(),
            "a tag may have been moved"
        );
        assert_eq!(find(QueryInterpretation::PullRequest(7)).await, ["acme/shop ccccccc"], "a merge cannot");
        for (digit, subject) in [('a', "One"), ('b', "Two (#42)"), ('c', "Three (#7)")] {
            let described = store.find_commit(&shop, &sha(digit)).await.unwrap();
            assert_eq!(described.map(|commit| commit.subject).as_deref(), Some(subject));
        }
        assert_eq!(store.find_commit(&shop, &sha('9')).await.unwrap(), None);
    }

    #[tokio::test]
    async fn pairs_show_whether_their_list_is_complete_and_has_the_commit() {
        let (_dir, _clock, store, shop) = fixture().await;
        let listed = |digit| ListedCommit::new(sample::commit(digit, "Work"), Vec::new(), None, None);
        let change = sample::change().id;
        let restores = Trailers::Rollback { change, restores: Some(sha('1')) };
        let rollback = ListedCommit::new(sample::commit('f', "Roll back"), vec![sha('b')], None, Some(restores));
        let transaction = Transaction::new()
            .record_comparison(shop.clone(), compared('0', 'b', 2, vec![listed('b'), listed('a')]))
            .record_comparison(shop.clone(), compared('1', 'b', 300, vec![listed('b')]))
            .record_comparison(shop.clone(), compared('2', 'f', 2, vec![rollback, listed('a')]));
        store.commit(transaction).await.unwrap();
        let pairs = store.list_compared_pairs(&shop, &sha('a'), &[&sha('0'), &sha('1')]).await.unwrap();
        let read = |pair: &CommitPair| (pair.base.short()[..1].to_owned(), pair.is_complete, pair.lists_sought);
        let mut read: Vec<_> = pairs.iter().map(read).collect();
        read.sort();
        read.dedup();
        let expected = [("0", false, true), ("0", true, true), ("1", false, false), ("2", false, true)];
        assert_eq!(read, expected.map(|(base, complete, lists)| (base.to_owned(), complete, lists)));
        let found = store.find_restored_commits(&shop, &[&sha('f'), &sha('b')]).await.unwrap();
        assert_eq!(found, HashMap::from([(sha('f'), sha('1'))]));
    }

    #[tokio::test]
    async fn no_query_scans_a_whole_table() {
        let (_dir, _clock, store, _) = fixture().await;
        let queries = [
            "SELECT repository FROM compared_commit WHERE sha >= 'a' AND sha < 'b'",
            "SELECT artefact FROM sighting WHERE commit_sha >= 'a' AND commit_sha < 'b'",
            "SELECT image FROM image_commit WHERE commit_sha >= 'a' AND commit_sha < 'b'",
            "SELECT artefact FROM sighting WHERE tag = 'a'",
            "SELECT image FROM image_commit WHERE reference = 'a'",
            "SELECT repository FROM found_name WHERE name = 'a' AND found_at >= 1",
            "SELECT base, head, ahead_by, behind_by, listed FROM comparison
             WHERE repository = 'a' AND base IN ('b', 'c')",
        ];
        for query in queries {
            let plan: Vec<(i64, i64, i64, String)> =
                sqlx::query_as(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {query}")))
                    .fetch_all(&store.0.readers)
                    .await
                    .unwrap();
            let plan: Vec<String> = plan.into_iter().map(|row| row.3).collect();
            assert!(plan.iter().all(|step| step.starts_with("SEARCH")), "{query}: {plan:?}");
            assert!(!query.contains("listed") || plan[0].contains("COVERING INDEX"), "{plan:?}");
        }
    }
}
