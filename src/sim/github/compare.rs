//! The comparison of two commits: their distance, commits and files. Also the graph of all commits.

use std::collections::BTreeMap;

use git2::{Delta, Diff, DiffFindOptions, DiffOptions, Oid, Patch};
use jiff::Timestamp;

use super::GraphCommit;
use super::objects::{Repo, sha};

/// GitHub leaves out a patch that is too long to show.
const MAX_PATCH_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) base: Oid,
    pub(super) head: Oid,
    pub(super) merge_base: Oid,
    pub(super) behind_by: usize,
    /// The commits that only the head has, oldest first.
    pub(super) commits: Vec<Oid>,
}

impl Comparison {
    pub(super) fn status(&self) -> &'static str {
        match (self.commits.is_empty(), self.behind_by == 0) {
            (true, true) => "identical",
            (false, true) => "ahead",
            (true, false) => "behind",
            (false, false) => "diverged",
        }
    }
}

#[derive(Debug)]
pub(super) struct FileDiff {
    pub(super) path: String,
    pub(super) previous: Option<String>,
    pub(super) status: &'static str,
    pub(super) blob: Oid,
    pub(super) additions: usize,
    pub(super) deletions: usize,
    pub(super) patch: Option<String>,
}

impl Repo {
    /// `None` if the two have no common ancestor.
    pub(super) fn compare(&self, base: Oid, head: Oid) -> Result<Option<Comparison>, git2::Error> {
        let merge_base = match self.git.merge_base(base, head) {
            Ok(merge_base) => merge_base,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut commits = self.history(&[head], &[base])?;
        commits.reverse();
        let behind_by = self.history(&[base], &[head])?.len();
        Ok(Some(Comparison { base, head, merge_base, behind_by, commits }))
    }

    /// The files that differ; `from` is `None` for a root commit.
    pub(super) fn files_between(&self, from: Option<Oid>, to: Oid) -> Result<Vec<FileDiff>, git2::Error> {
        let from = from.map(|id| self.tree_of(id)).transpose()?;
        let to = self.tree_of(to)?;
        let mut diff = self.git.diff_tree_to_tree(from.as_ref(), Some(&to), Some(&mut DiffOptions::new()))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        (0..diff.deltas().len()).filter_map(|index| file_diff(&diff, index).transpose()).collect()
    }

    /// Whether this commit changes `path` or a path below it, compared with each of its parents.
    pub(super) fn touches(&self, commit: Oid, path: &str) -> Result<bool, git2::Error> {
        let commit = self.commit_at(commit)?;
        let path = std::path::Path::new(path);
        let entry_of = |tree: git2::Tree<'_>| tree.get_path(path).ok().map(|entry| (entry.id(), entry.filemode()));
        let own_entry = entry_of(commit.tree()?);
        for parent in commit.parents() {
            if entry_of(parent.tree()?) == own_entry {
                return Ok(false);
            }
        }
        Ok(commit.parent_count() > 0 || own_entry.is_some())
    }

    pub(super) fn graph(&self, limit: usize) -> Result<Vec<GraphCommit>, git2::Error> {
        let mut names: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
        for space in ["refs/heads/", "refs/tags/"] {
            for (name, id) in self.refs.under(space) {
                if let Some(commit) = self.peel(id) {
                    names.entry(commit).or_default().push(name.to_owned());
                }
            }
        }
        let heads: Vec<Oid> = self.refs.under("refs/heads/").map(|(_, id)| id).collect();
        let newest = self.history(&heads, &[])?.into_iter().take(limit);
        newest
            .map(|id| {
                let commit = self.commit_at(id)?;
                Ok(GraphCommit {
                    sha: sha(id),
                    parents: commit.parent_ids().map(sha).collect(),
                    subject: String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned(),
                    author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
                    at: Timestamp::from_second(commit.time().seconds()).unwrap_or(Timestamp::UNIX_EPOCH),
                    refs: names.remove(&id).unwrap_or_default(),
                })
            })
            .collect()
    }
}

fn file_diff(diff: &Diff<'_>, index: usize) -> Result<Option<FileDiff>, git2::Error> {
    let Some(delta) = diff.get_delta(index) else { return Ok(None) };
    let (old, new) = (delta.old_file(), delta.new_file());
    let name = |file: &git2::DiffFile<'_>| String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned();
    let status = match delta.status() {
        Delta::Added => "added",
        Delta::Deleted => "removed",
        Delta::Renamed => "renamed",
        Delta::Copied => "copied",
        Delta::Typechange => "changed",
        _ if old.id() == new.id() => "changed",
        _ => "modified",
    };
    let is_deleted = delta.status() == Delta::Deleted;
    let mut file = FileDiff {
        path: name(if is_deleted { &old } else { &new }),
        previous: (status == "renamed").then(|| name(&old)),
        status,
        blob: if is_deleted { old.id() } else { new.id() },
        additions: 0,
        deletions: 0,
        patch: None,
    };
    if let Some(patch) = Patch::from_diff(diff, index)? {
        (_, file.additions, file.deletions) = patch.line_stats()?;
        file.patch = hunks(&patch)?;
    }
    Ok(Some(file))
}

/// GitHub's patch has only the hunks: no header, no newline at the end.
fn hunks(patch: &Patch<'_>) -> Result<Option<String>, git2::Error> {
    let mut text = Vec::new();
    for hunk in 0..patch.num_hunks() {
        let (header, lines) = patch.hunk(hunk)?;
        text.extend_from_slice(header.header());
        for line in 0..lines {
            let line = patch.line_in_hunk(hunk, line)?;
            // The other origins mark a missing newline at the end of a file. Their content is the whole line of the
            // patch.
            if matches!(line.origin(), ' ' | '+' | '-') {
                text.extend_from_slice(line.origin().encode_utf8(&mut [0; 4]).as_bytes());
            }
            text.extend_from_slice(line.content());
        }
        if text.len() > MAX_PATCH_BYTES {
            return Ok(None);
        }
    }
    let text = String::from_utf8_lossy(&text);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok((!text.is_empty()).then(|| text.to_owned()))
}
