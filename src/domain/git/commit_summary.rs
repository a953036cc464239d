//! The commits and files by which two sides differ, shortened for diffs, plans, cards and pull requests.

use super::comparison::{ChangedFile, ChangedFiles, collapse_merges};
use super::pending::PendingCommits;
use crate::domain::model::artefact::Artefact;
use crate::domain::model::version::Commit;

/// Limits for a card or a plan. The rest is only counted.
const MAX_COMMITS: usize = 20;
const MAX_FILES: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitSummary {
    /// The commits that a change adds or, in a rollback, removes. Newest first.
    pub commits: Vec<Commit>,
    pub commits_in_all: u64,
    /// Commits that were made on the target's branch and exist nowhere below.
    pub hotfixes: Vec<Commit>,
    pub hotfixes_in_all: u64,
    /// There may be more hotfixes: GitHub did not list all commits that only the target has.
    pub hotfixes_cut: bool,
    pub files: FileSummary,
    /// The page that shows the difference.
    pub url: Option<String>,
}

/// The number of changed files, and the files with the most changed lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    pub files: u64,
    pub additions: u64,
    pub deletions: u64,
    /// There are more files than GitHub lists.
    pub cut: bool,
    /// The number of files that affect the artefact, if not all do.
    pub concern: Option<u64>,
    pub most: Vec<ChangedFile>,
}

impl FileSummary {
    fn from_files(files: &ChangedFiles, artefact: &Artefact) -> Self {
        let relevant: Vec<&ChangedFile> = files.changed.iter().filter(|file| file.is_relevant_to(artefact)).collect();
        let mut most_changed: Vec<ChangedFile> = relevant.iter().map(|file| (*file).clone()).collect();
        most_changed
            .sort_by(|a, b| (b.additions + b.deletions).cmp(&(a.additions + a.deletions)).then(a.path.cmp(&b.path)));
        most_changed.truncate(MAX_FILES);
        Self {
            files: files.changed.len() as u64,
            additions: files.changed.iter().map(|file| file.additions).sum(),
            deletions: files.changed.iter().map(|file| file.deletions).sum(),
            cut: files.cut,
            concern: (relevant.len() < files.changed.len()).then_some(relevant.len() as u64),
            most: most_changed,
        }
    }
}

impl CommitSummary {
    pub fn from_pending(pending: &PendingCommits, artefact: &Artefact) -> Self {
        let mut commits = collapse_merges(&pending.commits);
        let listed: u64 = commits.iter().map(Commit::count_commits).sum();
        // Each commit that GitHub does not list counts as one, because it cannot be collapsed into a pull request.
        let unlisted = pending.ahead_by.saturating_sub(pending.commits.len() as u64);
        commits.truncate(MAX_COMMITS);
        let hotfixes: Vec<Commit> = pending.iter_hotfixes().cloned().collect();
        Self {
            commits,
            commits_in_all: listed + unlisted,
            hotfixes_in_all: hotfixes.len() as u64,
            hotfixes: hotfixes.into_iter().take(MAX_COMMITS).collect(),
            hotfixes_cut: pending.behind_by > pending.only_in_target.len() as u64,
            files: FileSummary::from_files(&pending.files, artefact),
            url: pending.url.clone(),
        }
    }

    /// Whether no commit by a person is on one side only.
    pub fn is_empty(&self) -> bool {
        self.commits_in_all == 0 && self.hotfixes_in_all == 0 && !self.hotfixes_cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::git::comparison::ListedCommit;
    use crate::domain::sample::{self, sha};

    fn file(path: &str, additions: u64) -> ChangedFile {
        ChangedFile { path: path.to_owned(), previous: None, additions, deletions: 1 }
    }

    #[test]
    fn a_merged_pull_request_counts_as_its_commits() {
        let catalogue = sample::catalogue();
        let checkout = catalogue.find_artefact("checkout").unwrap();
        let listed_commit = |name: char, subject: &str, parents: &[char], only_moves| {
            let commit = Commit { only_moves, ..sample::commit(name, subject) };
            ListedCommit::new(commit, parents.iter().map(|name| sha(*name)).collect(), None, None)
        };
        let commits = vec![
            listed_commit('d', "Promote checkout", &['0', 'c'], true),
            listed_commit('c', "Round (#42)", &['0', 'b'], false),
            listed_commit('b', "Two", &['a'], false),
            listed_commit('a', "One", &['0'], false),
        ];
        let pending = PendingCommits { ahead_by: 4, commits: commits.clone(), ..PendingCommits::default() };
        let summary = CommitSummary::from_pending(&pending, checkout);
        assert_eq!((summary.commits.len(), summary.commits_in_all), (1, 2), "one pull request with two commits");
        let cut = CommitSummary::from_pending(
            &PendingCommits { ahead_by: 304, commits, ..PendingCommits::default() },
            checkout,
        );
        assert_eq!((cut.commits.len(), cut.commits_in_all), (1, 302));
    }

    #[test]
    fn files_are_counted_and_the_most_changed_relevant_ones_are_listed() {
        let catalogue = sample::catalogue();
        let mailer = catalogue.find_artefact("mailer").unwrap();
        let mut changed = vec![file("mailer/b.rs", 2), file("storefront/a.rs", 50), file("mailer/a.rs", 9)];
        changed.extend((0..20).map(|number| file(&format!("mailer/{number:02}.rs"), 1)));
        let summary = FileSummary::from_files(&ChangedFiles { changed, cut: false }, mailer);
        assert_eq!((summary.files, summary.concern, summary.additions, summary.deletions), (23, Some(22), 81, 23));
        let paths: Vec<_> = summary.most.iter().map(|file| file.path.as_str()).take(3).collect();
        assert_eq!((summary.most.len(), paths), (10, vec!["mailer/a.rs", "mailer/b.rs", "mailer/00.rs"]));
    }
}
