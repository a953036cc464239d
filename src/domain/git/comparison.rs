//! The comparison of two commits. Its result never changes, so GitHub is asked once and the answer is kept for ever.

use std::collections::{BTreeSet, HashMap};

use super::trailer::Trailers;
use crate::domain::model::artefact::Artefact;
use crate::domain::model::version::{Commit, Sha};

/// The commits and files that the head has and the base does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub base: Sha,
    pub head: Sha,
    pub ahead_by: u64,
    /// The number of commits that only the base has.
    pub behind_by: u64,
    /// Newest first. GitHub lists at most 250.
    pub commits: Vec<ListedCommit>,
    /// The files that the head changed since the merge base.
    pub files: ChangedFiles,
    pub url: Option<String>,
}

impl Comparison {
    /// The comparison of a commit with itself.
    pub fn with_itself(sha: &Sha) -> Self {
        let (base, head) = (sha.clone(), sha.clone());
        let (commits, files) = (Vec::new(), ChangedFiles::default());
        Self { base, head, ahead_by: 0, behind_by: 0, commits, files, url: None }
    }

    /// Whether the list has all commits.
    pub fn is_complete(&self) -> bool {
        self.commits.len() as u64 == self.ahead_by
    }

    pub fn has_commit(&self, sha: &Sha) -> bool {
        self.commits.iter().any(|listed| listed.commit.sha == *sha)
    }

    /// The comparison of the base with an earlier commit of the head's history; `None` if the list is incomplete. The
    /// files are still those of the head: a caller that needs the exact files must ask GitHub.
    #[must_use]
    pub fn restrict_to_ancestor(&self, sha: &Sha) -> Option<Self> {
        if !self.is_complete() {
            return None;
        }
        let reachable = find_reachable(&self.commits, std::iter::once(sha));
        let commits: Vec<ListedCommit> =
            self.commits.iter().filter(|listed| reachable.contains(&listed.commit.sha)).cloned().collect();
        let ahead_by = commits.len() as u64;
        Some(Self { head: sha.clone(), ahead_by, commits, ..self.clone() })
    }
}

/// A commit that only one side has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCommit {
    pub commit: Commit,
    pub parents: Vec<Sha>,
    pub tree: Option<Sha>,
    /// The trailers of its message, if they are plausible.
    trailers: Option<Trailers>,
}

impl ListedCommit {
    pub fn new(commit: Commit, parents: Vec<Sha>, tree: Option<Sha>, trailers: Option<Trailers>) -> Self {
        // A cherry-pick keeps the trailers of the original commit. A copy has only one parent, so trailers that do not
        // fit the number of parents are dropped.
        let trailers = trailers.filter(|trailers| match (trailers, parents.len()) {
            (Trailers::Change(_), parents) => parents > 1,
            (Trailers::Rollback { restores, .. }, parents) => restores.is_some() && parents == 1,
            (Trailers::Reinstates { .. }, parents) => parents > 0,
        });
        let is_plain_merge = parents.len() > 1 && commit.parse_pull_request().is_none();
        // Implausible trailers were dropped above, so that a person's work never counts as a commit by Gantry.
        let commit = Commit { only_moves: trailers.is_some() || is_plain_merge, ..commit };
        Self { commit, parents, tree, trailers }
    }

    pub fn trailers(&self) -> Option<&Trailers> {
        self.trailers.as_ref()
    }

    /// Whether Gantry made the commit: a promotion, a rollback, or the commit that undid a rollback.
    pub fn is_gantry_commit(&self) -> bool {
        self.trailers.is_some()
    }

    pub fn is_rollback(&self) -> bool {
        matches!(self.trailers, Some(Trailers::Rollback { .. }))
    }

    /// For a rollback: the commit with the restored code.
    pub fn restored_commit(&self) -> Option<&Sha> {
        match &self.trailers {
            Some(Trailers::Rollback { restores, .. }) => restores.as_ref(),
            _ => None,
        }
    }

    /// Whether a person made the commit on this side: it is neither a merge nor a commit by Gantry.
    pub fn is_human_commit(&self) -> bool {
        self.parents.len() < 2 && !self.is_gantry_commit()
    }
}

/// The files that a merge would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    pub changed: Vec<ChangedFile>,
    /// GitHub listed only the first 300.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// The path before the file was moved.
    pub previous: Option<String>,
    pub additions: u64,
    pub deletions: u64,
}

impl ChangedFile {
    fn iter_paths(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.path.as_str()).chain(self.previous.as_deref())
    }

    pub fn is_relevant_to(&self, artefact: &Artefact) -> bool {
        artefact.paths.is_empty() || self.iter_paths().any(|path| artefact.is_concerned_by(path))
    }
}

impl ChangedFiles {
    /// An unknown set of files, which may affect every artefact.
    pub fn new_unknown() -> Self {
        Self { changed: Vec::new(), cut: true }
    }

    pub fn may_be_relevant_to(&self, artefact: &Artefact) -> bool {
        artefact.paths.is_empty() || self.cut || self.changed.iter().any(|file| file.is_relevant_to(artefact))
    }

    pub fn iter_paths(&self) -> impl Iterator<Item = &str> {
        self.changed.iter().flat_map(ChangedFile::iter_paths)
    }
}

/// All listed commits that are reachable from the given ones.
fn find_reachable<'a>(commits: &'a [ListedCommit], from: impl Iterator<Item = &'a Sha>) -> BTreeSet<&'a Sha> {
    let by_sha: HashMap<&Sha, &ListedCommit> = commits.iter().map(|listed| (&listed.commit.sha, listed)).collect();
    let mut reachable = BTreeSet::new();
    let mut unvisited: Vec<&Sha> = from.collect();
    while let Some(sha) = unvisited.pop() {
        if let Some(listed) = by_sha.get(sha)
            && reachable.insert(&listed.commit.sha)
        {
            unvisited.extend(&listed.parents);
        }
    }
    reachable
}

/// The commits as people read them: the merge of a pull request stands for the commits that it brought, and commits
/// that only move code are left out.
pub fn collapse_merges(commits: &[ListedCommit]) -> Vec<Commit> {
    let mut merge_of: HashMap<&Sha, &Sha> = HashMap::new();
    for listed in commits {
        if let [first, merged @ ..] = listed.parents.as_slice()
            && !merged.is_empty()
            && !listed.commit.only_moves
        {
            let reachable_before = find_reachable(commits, std::iter::once(first));
            for sha in find_reachable(commits, merged.iter()).difference(&reachable_before) {
                // The list begins with the newest merge, so commits that a pull request merged into its own branch
                // belong to that pull request.
                merge_of.entry(sha).or_insert(&listed.commit.sha);
            }
        }
    }
    let mut commits_of: HashMap<&Sha, Vec<Commit>> = HashMap::new();
    for listed in commits.iter().filter(|listed| !listed.commit.only_moves) {
        if let Some(merge) = merge_of.get(&listed.commit.sha) {
            commits_of.entry(merge).or_default().push(listed.commit.clone());
        }
    }
    let visible =
        commits.iter().filter(|listed| !listed.commit.only_moves && !merge_of.contains_key(&listed.commit.sha));
    visible
        .map(|listed| Commit {
            brings: commits_of.remove(&listed.commit.sha).unwrap_or_default(),
            ..listed.commit.clone()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample::{self, sha};

    fn listed_commit(name: char, subject: &str, parents: &[char]) -> ListedCommit {
        let commit = Commit { only_moves: subject.starts_with("Promote"), ..sample::commit(name, subject) };
        ListedCommit::new(commit, parents.iter().map(|name| sha(*name)).collect(), None, None)
    }

    fn summarise(commits: &[Commit]) -> Vec<(char, String)> {
        let first_digit = |commit: &Commit| commit.sha.as_str().chars().next().unwrap_or_default();
        commits.iter().map(|commit| (first_digit(commit), commit.brings.iter().map(first_digit).collect())).collect()
    }

    #[test]
    fn a_pull_request_stands_for_its_commits_and_plain_merges_are_left_out() {
        let straight = [listed_commit('b', "Two", &['a']), listed_commit('a', "One", &['0'])];
        assert_eq!(summarise(&collapse_merges(&straight)), [('b', String::new()), ('a', String::new())]);
        let by_pull = [
            listed_commit('d', "Round (#42)", &['c', 'b']),
            listed_commit('c', "Mine", &['0']),
            listed_commit('b', "Two", &['a']),
            listed_commit('a', "One", &['0']),
        ];
        assert_eq!(summarise(&collapse_merges(&by_pull)), [('d', "ba".to_owned()), ('c', String::new())]);
        let promoted = [vec![listed_commit('e', "Promote it", &['9', 'd'])], by_pull.to_vec()].concat();
        assert_eq!(summarise(&collapse_merges(&promoted)), [('d', "ba".to_owned()), ('c', String::new())]);
        // The branch of the pull request was brought up to date before the merge.
        let updated = [
            listed_commit('f', "Round (#42)", &['c', 'e']),
            listed_commit('e', "Two", &['d']),
            listed_commit('d', "Promote main into it", &['a', 'c']),
            listed_commit('c', "Mine", &['0']),
            listed_commit('a', "One", &['0']),
        ];
        assert_eq!(summarise(&collapse_merges(&updated)), [('f', "ea".to_owned()), ('c', String::new())]);
    }

    #[test]
    fn a_complete_comparison_can_be_restricted_to_an_ancestor() {
        let commits = vec![
            listed_commit('c', "Three", &['b']),
            listed_commit('b', "Two", &['0']),
            listed_commit('a', "Other", &['0']),
        ];
        let comparison = Comparison {
            base: sha('0'),
            head: sha('c'),
            ahead_by: 3,
            behind_by: 0,
            commits,
            files: ChangedFiles::default(),
            url: None,
        };
        let earlier = comparison.restrict_to_ancestor(&sha('b')).unwrap();
        assert_eq!(
            (
                earlier.ahead_by,
                earlier.has_commit(&sha('b')),
                earlier.has_commit(&sha('c')),
                earlier.has_commit(&sha('a'))
            ),
            (1, true, false, false)
        );
        assert_eq!(comparison.restrict_to_ancestor(&sha('0')).unwrap().ahead_by, 0, "the base has this commit too");
        assert_eq!(
            Comparison { ahead_by: 300, ..comparison }.restrict_to_ancestor(&sha('b')),
            None,
            "the list is incomplete"
        );
    }
}
