//! The commits that a branch would get, and those that only the branch has.

use std::collections::BTreeSet;

use super::comparison::{ChangedFiles, Comparison, ListedCommit};
use crate::domain::model::version::{Commit, Sha};

/// What of one branch another does not have, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingCommits {
    pub ahead_by: u64,
    /// What would come, newest first; GitHub names 250 at most.
    pub commits: Vec<ListedCommit>,
    pub files: ChangedFiles,
    /// The head of the target's branch.
    pub head: Option<Sha>,
    pub behind_by: u64,
    /// What only the target has, newest first.
    pub only_in_target: Vec<ListedCommit>,
    /// A rollback is among what would come.
    pub carries_rollback: bool,
    /// What would come is a rollback itself.
    pub is_rollback: bool,
    /// What would come and, where that is a merge, what was merged, down to what is no merge.
    pub sources: Vec<Sha>,
    /// The tree of what would come.
    pub tree: Option<Sha>,
    pub url: Option<String>,
}

impl PendingCommits {
    /// From how the pinned commit stands to the target, and the target to it where that has something of its own.
    pub fn from_comparisons(there: Comparison, back: Option<Comparison>) -> Self {
        let mut sources = vec![there.head.clone()];
        for ListedCommit { commit, parents, .. } in &there.commits {
            // Newest first: what was merged comes behind its merge.
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

    /// The target has code that came to it by an earlier merge and that is not in what would be merged now.
    pub fn is_target_newer(&self) -> bool {
        let find = |sha: &Sha| self.only_in_target.iter().find(|lone| lone.commit.sha == *sha);
        let (mut own, mut merged) = (BTreeSet::new(), Vec::new());
        let mut at = self.head.as_ref().and_then(find);
        while let Some(lone) = at {
            own.insert(&lone.commit.sha);
            merged.extend(lone.parents.iter().skip(1));
            at = lone.parents.first().and_then(find);
        }
        // The result of a promotion, and what undid a rollback, are merged as well: what counts is what they bring.
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

    /// A rollback may be open on the target's branch: then it has to be looked at.
    pub fn may_be_rolled_back(&self) -> bool {
        let is_truncated = self.behind_by > self.only_in_target.len() as u64;
        is_truncated || self.only_in_target.iter().any(ListedCommit::is_rollback)
    }

    /// Commits that only the target has and that people made; merges are the promotions before.
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

    /// `0` is contained in what would be merged, everything else only in the target.
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
        // The promotion `a`, its rollback `b`, a hotfix `c`, and the next result: `d` undoes, `e` and `f` are merges.
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
