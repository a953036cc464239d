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
    /// `there` compares the target with the commit to promote. `back` is the reverse, if the target has commits of its
    /// own.
    pub fn from_comparisons(there: Comparison, back: Option<Comparison>) -> Self {
        let mut sources = vec![there.head.clone()];
        for ListedCommit { commit, parents, .. } in &there.commits {
            // The list is sorted newest first: a merged commit comes after its merge.
            if sources.last() == Some(&commit.sha)
                && let [_, merged] = parents.as_slice()
            {
                sources.push(merged.clone());
            }
        }
        let pinned = there.commits.iter().find(|lone| lone.commit.sha == there.head);
        Self {
            tree: pinned.and_then(|lone| lone.tree.clone()),
            is_rollback: pinned.is_some_and(ListedCommit::is_rollback),
            carries_rollback: there.commits.iter().any(ListedCommit::is_rollback),
            sources,
            ahead_by: there.ahead_by,
            commits: there.commits,
            files: there.files,
            head: Some(there.base),
            behind_by: there.behind_by,
            only_in_target: back.map(|back| back.commits).unwrap_or_default(),
            url: there.url,
        }
    }

    /// Whether an earlier merge brought code to the target that the commit to promote does not have.
    pub fn is_target_newer(&self) -> bool {
        let find = |sha: &Sha| self.only_in_target.iter().find(|lone| lone.commit.sha == *sha);
        let (mut own, mut merged) = (BTreeSet::new(), Vec::new());
        let mut at = self.head.as_ref().and_then(find);
        while let Some(lone) = at {
            own.insert(&lone.commit.sha);
            merged.extend(lone.parents.iter().skip(1));
            at = lone.parents.first().and_then(find);
        }
        // A merge by Gantry may merge another commit by Gantry. Only the commits that people made count.
        while let Some(sha) = merged.pop() {
            match find(sha) {
                Some(lone) if own.insert(sha) => {
                    if !lone.is_gantry_commit() {
                        return true;
                    }
                    merged.extend(&lone.parents);
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a rollback may be open on the target's branch. The branch must be read if so.
    pub fn may_be_rolled_back(&self) -> bool {
        let is_truncated = self.behind_by > self.only_in_target.len() as u64;
        is_truncated || self.only_in_target.iter().any(ListedCommit::is_rollback)
    }

    /// The commits that only the target has and that people made. Merges are earlier promotions.
    pub fn iter_hotfixes(&self) -> impl Iterator<Item = &Commit> {
        self.only_in_target.iter().filter(|lone| lone.is_human_commit()).map(|lone| &lone.commit)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::domain::git::trailer::Trailers;
    use crate::domain::model::ids::ChangeId;
    use crate::domain::sample::{self, sha};

    fn lone(digit: char, parents: &[char]) -> ListedCommit {
        ListedCommit::new(sample::commit(digit, ""), parents.iter().map(|parent| sha(*parent)).collect(), None, None)
    }

    fn ours(digit: char, parents: &[char], trailers: &Trailers) -> ListedCommit {
        let ListedCommit { commit, parents, .. } = lone(digit, parents);
        ListedCommit::new(commit, parents, None, Some(trailers.clone()))
    }

    fn pending(head: char, only_there: Vec<ListedCommit>) -> PendingCommits {
        PendingCommits { head: Some(sha(head)), only_in_target: only_there, ..PendingCommits::default() }
    }

    /// The commit to promote contains `0`. Only the target contains the other commits.
    #[test]
    fn a_target_is_newer_if_an_earlier_merge_brought_more() {
        let promoted = pending('a', vec![lone('a', &['0', '0'])]);
        assert!(!promoted.is_target_newer(), "the same was merged before");
        let hotfixed = pending('b', vec![lone('b', &['a']), lone('a', &['0', '0'])]);
        assert!(!hotfixed.is_target_newer(), "a hotfix is no promotion");
        assert_eq!(hotfixed.iter_hotfixes().count(), 1);
        let newer = pending('a', vec![lone('a', &['0', 'c']), lone('c', &['0'])]);
        assert!(newer.is_target_newer());
        let buried = pending('b', vec![lone('b', &['a']), lone('a', &['0', 'c']), lone('c', &['0'])]);
        assert!(buried.is_target_newer(), "also below a hotfix");
        assert!(!PendingCommits::default().is_target_newer());
    }

    #[test]
    fn what_we_made_ourselves_is_neither_a_hotfix_nor_newer() {
        let (change, rollback) = (ChangeId::new(Timestamp::UNIX_EPOCH), ChangeId::new(Timestamp::UNIX_EPOCH));
        let promotion = Trailers::Change(change);
        let back = Trailers::Rollback { change: rollback, restores: Some(sha('0')) };
        let again = Trailers::Reinstates { change, rollback };
        // The promotion `a`, its rollback `b`, a hotfix `c`, and the next result: `d` undoes the rollback, `e` and `f`
        // are merges.
        let until_hotfix = || vec![lone('c', &['b']), ours('b', &['a'], &back), ours('a', &['0', '0'], &promotion)];
        let result = || {
            let made = [ours('f', &['e', '0'], &promotion), ours('e', &['c', 'd'], &again), ours('d', &['b'], &again)];
            made.into_iter().chain(until_hotfix()).collect::<Vec<_>>()
        };
        let by_pull = || std::iter::once(lone('9', &['c', 'f'])).chain(result()).collect::<Vec<_>>();
        for (head, only_there) in [('c', until_hotfix()), ('f', result()), ('9', by_pull())] {
            let pending = pending(head, only_there);
            assert_eq!(pending.iter_hotfixes().map(|commit| &commit.sha).collect::<Vec<_>>(), [&sha('c')], "{head}");
            assert!(!pending.is_target_newer(), "{head}");
        }
        let mut brought_more = by_pull();
        brought_more.push(lone('8', &['0']));
        brought_more[1].parents[1] = sha('8');
        assert!(pending('9', brought_more).is_target_newer(), "our own merge brought it");
        let copied = pending('7', vec![ours('7', &['0'], &promotion)]);
        assert_eq!(copied.iter_hotfixes().count(), 1, "somebody took our message over");
    }
}
