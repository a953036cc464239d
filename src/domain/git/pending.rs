//! The commits that a branch would get, and the commits that only this branch has.

use std::collections::BTreeSet;

use super::comparison::{ChangedFiles, Comparison, ListedCommit};
use crate::domain::model::version::{Commit, Sha};

/// The difference between the commit to promote and the target's branch, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingCommits {
    pub ahead_by: u64,
    /// The commits that the target would get, newest first. GitHub lists at most 250.
    pub commits: Vec<ListedCommit>,
    pub files: ChangedFiles,
    /// The head of the target's branch.
    pub head: Option<Sha>,
    pub behind_by: u64,
    /// The commits that only the target has, newest first.
    pub only_in_target: Vec<ListedCommit>,
    /// One of the commits that the target would get is a rollback.
    pub carries_rollback: bool,
    /// The commit to promote is itself a rollback.
    pub is_rollback: bool,
    /// The commit to promote and, if it is a merge, the commit that it merged, and so on down to a commit that is no
    /// merge.
    pub sources: Vec<Sha>,
    /// The tree of the commit to promote.
    pub tree: Option<Sha>,
    pub url: Option<String>,
}

impl PendingCommits {
    /// `forward` compares the target with the commit to promote. `backward` is the reverse, if the target has commits of
    /// its own.
    pub fn from_comparisons(forward: Comparison, backward: Option<Comparison>) -> Self {
        let mut sources = vec![forward.head.clone()];
        for ListedCommit { commit, parents, .. } in &forward.commits {
            // The list is sorted newest first: a merged commit comes after its merge.
            if sources.last() == Some(&commit.sha)
                && let [_, merged] = parents.as_slice()
            {
                sources.push(merged.clone());
            }
        }
        let to_promote = forward.commits.iter().find(|listed| listed.commit.sha == forward.head);
        Self {
            tree: to_promote.and_then(|listed| listed.tree.clone()),
            is_rollback: to_promote.is_some_and(ListedCommit::is_rollback),
            carries_rollback: forward.commits.iter().any(ListedCommit::is_rollback),
            sources,
            ahead_by: forward.ahead_by,
            commits: forward.commits,
            files: forward.files,
            head: Some(forward.base),
            behind_by: forward.behind_by,
            only_in_target: backward.map(|backward| backward.commits).unwrap_or_default(),
            url: forward.url,
        }
    }

    /// Whether an earlier merge brought code to the target that the commit to promote does not have.
    pub fn is_target_newer(&self) -> bool {
        let find = |sha: &Sha| self.only_in_target.iter().find(|listed| listed.commit.sha == *sha);
        let (mut visited, mut merged) = (BTreeSet::new(), Vec::new());
        let mut next = self.head.as_ref().and_then(find);
        while let Some(listed) = next {
            visited.insert(&listed.commit.sha);
            merged.extend(listed.parents.iter().skip(1));
            next = listed.parents.first().and_then(find);
        }
        // A merge by Gantry may merge another commit by Gantry. Only the commits that people made count.
        while let Some(sha) = merged.pop() {
            match find(sha) {
                Some(listed) if visited.insert(sha) => {
                    if !listed.is_gantry_commit() {
                        return true;
                    }
                    merged.extend(&listed.parents);
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a rollback may be open on the target's branch. If so, the caller must read the branch.
    pub fn may_be_rolled_back(&self) -> bool {
        let is_truncated = self.behind_by > self.only_in_target.len() as u64;
        is_truncated || self.only_in_target.iter().any(ListedCommit::is_rollback)
    }

    /// The commits that only the target has and that people made. Merges are earlier promotions.
    pub fn iter_hotfixes(&self) -> impl Iterator<Item = &Commit> {
        self.only_in_target.iter().filter(|listed| listed.is_human_commit()).map(|listed| &listed.commit)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::domain::git::trailer::Trailers;
    use crate::domain::model::ids::ChangeId;
    use crate::domain::sample::{self, sha};

    fn listed_commit(digit: char, parents: &[char]) -> ListedCommit {
        ListedCommit::new(sample::commit(digit, ""), parents.iter().map(|parent| sha(*parent)).collect(), None, None)
    }

    fn gantry_commit(digit: char, parents: &[char], trailers: &Trailers) -> ListedCommit {
        let ListedCommit { commit, parents, .. } = listed_commit(digit, parents);
        ListedCommit::new(commit, parents, None, Some(trailers.clone()))
    }

    fn pending(head: char, only_in_target: Vec<ListedCommit>) -> PendingCommits {
        PendingCommits { head: Some(sha(head)), only_in_target, ..PendingCommits::default() }
    }

    /// The commit to promote contains `0`. Only the target contains the other commits.
    #[test]
    fn a_target_is_newer_if_an_earlier_merge_brought_more() {
        let promoted = pending('a', vec![listed_commit('a', &['0', '0'])]);
        assert!(!promoted.is_target_newer(), "the same was merged before");
        let hotfixed = pending('b', vec![listed_commit('b', &['a']), listed_commit('a', &['0', '0'])]);
        assert!(!hotfixed.is_target_newer(), "a hotfix is no promotion");
        assert_eq!(hotfixed.iter_hotfixes().count(), 1);
        let newer = pending('a', vec![listed_commit('a', &['0', 'c']), listed_commit('c', &['0'])]);
        assert!(newer.is_target_newer());
        let buried =
            pending('b', vec![listed_commit('b', &['a']), listed_commit('a', &['0', 'c']), listed_commit('c', &['0'])]);
        assert!(buried.is_target_newer(), "also below a hotfix");
        assert!(!PendingCommits::default().is_target_newer());
    }

    #[test]
    fn a_commit_by_gantry_is_neither_a_hotfix_nor_newer_code() {
        let (change, rollback) = (ChangeId::new(Timestamp::UNIX_EPOCH), ChangeId::new(Timestamp::UNIX_EPOCH));
        let promotion = Trailers::Change(change);
        let rolled_back = Trailers::Rollback { change: rollback, restores: Some(sha('0')) };
        let reinstates = Trailers::Reinstates { change, rollback };
        // The promotion `a`, its rollback `b`, a hotfix `c`, and the next result: `d` undoes the rollback, `e` and `f`
        // are merges.
        let until_hotfix = || {
            vec![
                listed_commit('c', &['b']),
                gantry_commit('b', &['a'], &rolled_back),
                gantry_commit('a', &['0', '0'], &promotion),
            ]
        };
        let result = || {
            let gantry_commits = [
                gantry_commit('f', &['e', '0'], &promotion),
                gantry_commit('e', &['c', 'd'], &reinstates),
                gantry_commit('d', &['b'], &reinstates),
            ];
            gantry_commits.into_iter().chain(until_hotfix()).collect::<Vec<_>>()
        };
        let by_pull_request = || std::iter::once(listed_commit('9', &['c', 'f'])).chain(result()).collect::<Vec<_>>();
        for (head, only_in_target) in [('c', until_hotfix()), ('f', result()), ('9', by_pull_request())] {
            let pending = pending(head, only_in_target);
            assert_eq!(pending.iter_hotfixes().map(|commit| &commit.sha).collect::<Vec<_>>(), [&sha('c')], "{head}");
            assert!(!pending.is_target_newer(), "{head}");
        }
        let mut brought_more = by_pull_request();
        brought_more.push(listed_commit('8', &['0']));
        brought_more[1].parents[1] = sha('8');
        assert!(pending('9', brought_more).is_target_newer(), "a merge by Gantry brought it");
        let copied = pending('7', vec![gantry_commit('7', &['0'], &promotion)]);
        assert_eq!(copied.iter_hotfixes().count(), 1, "a person copied Gantry's message");
    }
}
