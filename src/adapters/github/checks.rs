//! The checks of a commit, in both of GitHub's systems: check runs and commit statuses.

use serde::Deserialize;

use super::client::Client;
use super::error::GithubError;
use crate::domain::git::checks::CiChecks;
use crate::domain::model::artefact::Repository;
use crate::domain::model::version::Sha;

const PAGE_SIZE: usize = 100;
/// A thousand checks, more than any commit has.
const MAX_PAGES: usize = 10;

#[derive(Deserialize)]
struct WireCheckRuns {
    total_count: usize,
    check_runs: Vec<WireCheckRun>,
}

#[derive(Deserialize)]
struct WireCheckRun {
    name: String,
    status: String,
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct WireCombinedStatus {
    total_count: usize,
    statuses: Vec<WireCommitStatus>,
}

#[derive(Deserialize)]
struct WireCommitStatus {
    context: String,
    state: String,
}

impl Client {
    /// The CI results of a commit, from both of GitHub's systems.
    pub async fn fetch_checks(&self, repository: &Repository, commit: &Sha) -> Result<CiChecks, GithubError> {
        let mut checks = CiChecks::default();
        let mut seen = 0;
        for page in 1..=MAX_PAGES {
            let path = format!("/repos/{repository}/commits/{commit}/check-runs?per_page={PAGE_SIZE}&page={page}");
            let runs: WireCheckRuns = self.fetch_existing(&path).await?;
            seen += runs.check_runs.len();
            let end = runs.check_runs.is_empty() || seen >= runs.total_count;
            for run in runs.check_runs {
                match (run.status.as_str(), run.conclusion.as_deref()) {
                    ("completed", Some("success" | "neutral" | "skipped")) => checks.green += 1,
                    ("completed", _) => checks.red.push(run.name),
                    _ => checks.running.push(run.name),
                }
            }
            if end {
                break;
            }
        }
        seen = 0;
        for page in 1..=MAX_PAGES {
            let path = format!("/repos/{repository}/commits/{commit}/status?per_page={PAGE_SIZE}&page={page}");
            let statuses: WireCombinedStatus = self.fetch_existing(&path).await?;
            seen += statuses.statuses.len();
            let end = statuses.statuses.is_empty() || seen >= statuses.total_count;
            for status in statuses.statuses {
                match status.state.as_str() {
                    "success" => checks.green += 1,
                    "pending" => checks.running.push(status.context),
                    _ => checks.red.push(status.context),
                }
            }
            if end {
                break;
            }
        }
        Ok(checks)
    }
}
