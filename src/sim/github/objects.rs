//! One repository: Git objects in memory, and the names that resolve to them. It knows no HTTP and no JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use git2::{Commit, ObjectType, Odb, Oid, Signature, Sort, Time, Tree};
use jiff::Timestamp;

use super::checks::Checks;
use super::people::People;
use super::pulls::PullRequest;
use super::refs::Refs;
use super::rules::Protection;
use super::{Author, BranchMove, Event, Sha};

pub(super) const EXECUTABLE: i32 = 0o100_755;
pub(super) const FILE: i32 = 0o100_644;
pub(super) const TREE: i32 = 0o040_000;

/// A change to one path of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    Put(Oid, i32),
    Delete,
}

pub(super) struct Repo {
    pub(super) full_name: String,
    pub(super) number: usize,
    pub(super) default_branch: String,
    pub(super) created: Timestamp,
    pub(super) api_url: Arc<str>,
    pub(super) people: People,
    pub(super) git: git2::Repository,
    pub(super) refs: Refs,
    pub(super) checks: Checks,
    /// By number, starting at 1.
    pub(super) pulls: Vec<PullRequest>,
    pub(super) protection: Protection,
    /// The number of reviews and comments so far.
    pub(super) last_feedback_id: u64,
    pub(super) events: Vec<Event>,
    /// Every commit ever written. The in-memory store cannot search by the prefix of an id.
    commits: BTreeSet<Oid>,
    moves: Vec<BranchMove>,
    tagged: bool,
}

impl Repo {
    pub(super) fn new(
        full_name: &str,
        number: usize,
        default_branch: &str,
        created: Timestamp,
        api_url: Arc<str>,
        people: People,
    ) -> Result<Self, git2::Error> {
        let odb = Odb::new()?;
        odb.add_new_mempack_backend(1)?;
        Ok(Self {
            full_name: full_name.to_owned(),
            number,
            default_branch: default_branch.to_owned(),
            created,
            api_url,
            people,
            git: git2::Repository::from_odb(odb)?,
            refs: Refs::default(),
            checks: Checks::default(),
            pulls: Vec::new(),
            protection: Protection::default(),
            last_feedback_id: 0,
            events: Vec::new(),
            commits: BTreeSet::new(),
            moves: Vec::new(),
            tagged: false,
        })
    }

    pub(super) fn short_name(&self) -> &str {
        self.full_name.split_once('/').map_or(self.full_name.as_str(), |(_, name)| name)
    }

    pub(super) fn owner(&self) -> &str {
        self.full_name.split_once('/').map_or("", |(owner, _)| owner)
    }

    /// The branch moves since the last call. They are announced after the lock is released.
    pub(super) fn take_moves(&mut self) -> Vec<BranchMove> {
        std::mem::take(&mut self.moves)
    }

    /// Points a reference at an object. For a new name, the caller has checked [`Refs::creation_error`].
    pub(super) fn point(&mut self, full_name: &str, target: Oid) {
        let before = self.refs.insert(full_name, target);
        if let Some(branch) = full_name.strip_prefix("refs/heads/")
            && before != Some(target)
        {
            self.moves.push(BranchMove {
                repository: self.full_name.clone(),
                branch: branch.to_owned(),
                before: before.map(sha),
                after: sha(target),
            });
        }
        self.tagged |= full_name.starts_with("refs/tags/");
    }

    /// Whether a tag was created since the last call.
    pub(super) fn take_tagged(&mut self) -> bool {
        std::mem::take(&mut self.tagged)
    }

    pub(super) fn branch(&self, name: &str) -> Option<Oid> {
        self.refs.find(&format!("refs/heads/{name}"))
    }

    pub(super) fn exists(&self, id: Oid) -> bool {
        self.kind(id).is_some()
    }

    pub(super) fn kind(&self, id: Oid) -> Option<ObjectType> {
        self.git.odb().and_then(|odb| odb.read_header(id)).ok().map(|(_, kind)| kind)
    }

    pub(super) fn is_commit(&self, id: Oid) -> bool {
        self.commits.contains(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Follows tags to the object that they point to; `None` if that is not a commit.
    pub(super) fn peel(&self, id: Oid) -> Option<Oid> {
        let commit = self.git.find_object(id, None).ok()?.peel(ObjectType::Commit).ok()?;
        Some(commit.id())
    }

    /// The commit that a branch, a tag, a full SHA or a prefix of a SHA names.
    pub(super) fn resolve(&self, name: &str) -> Option<Oid> {
        if let Some(id) = full_oid(name) {
            return self.peel(id);
        }
        if name == "HEAD" {
            return self.branch(&self.default_branch);
        }
        let name = name.strip_prefix("refs/").unwrap_or(name);
        ["refs/heads/", "refs/tags/", "refs/"]
            .iter()
            .find_map(|space| self.refs.find(&format!("{space}{name}")))
            .map_or_else(|| self.by_prefix(name), |id| self.peel(id))
    }

    fn by_prefix(&self, digits: &str) -> Option<Oid> {
        if !(4..40).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let digits = digits.to_ascii_lowercase();
        let from = Oid::from_str(&format!("{digits:0<40}")).ok()?;
        let mut found = self.commits.range(from..).take_while(|id| id.to_string().starts_with(&digits));
        match (found.next(), found.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    pub(super) fn commit_at(&self, id: Oid) -> Result<Commit<'_>, git2::Error> {
        self.git.find_commit(id)
    }

    pub(super) fn tree_of(&self, id: Oid) -> Result<Tree<'_>, git2::Error> {
        self.git.find_commit(id)?.tree()
    }

    pub(super) fn read(&self, commit: Oid, path: &str) -> Option<Vec<u8>> {
        let entry = self.tree_of(commit).ok()?.get_path(Path::new(path)).ok()?;
        let blob = self.git.find_blob(entry.id()).ok()?;
        Some(blob.content().to_vec())
    }

    pub(super) fn write_commit(
        &mut self,
        tree: Oid,
        parents: &[Oid],
        message: &str,
        author: &Signature<'_>,
        committer: &Signature<'_>,
    ) -> Result<Oid, git2::Error> {
        let id = {
            let tree = self.git.find_tree(tree)?;
            let parents = parents.iter().map(|id| self.git.find_commit(*id)).collect::<Result<Vec<_>, _>>()?;
            self.git.commit(None, author, committer, message, &tree, &parents.iter().collect::<Vec<_>>())?
        };
        self.commits.insert(id);
        Ok(id)
    }

    /// Applies `edits` to the tree `base`. Directories are created and removed with their files, as in Git.
    pub(super) fn edit_tree(&self, base: Option<Oid>, edits: &BTreeMap<String, Edit>) -> Result<Oid, git2::Error> {
        let edits: Vec<_> = edits.iter().map(|(path, edit)| (path.as_str(), *edit)).collect();
        match self.edit_level(base, &edits)? {
            Some(tree) => Ok(tree),
            None => self.git.treebuilder(None)?.write(),
        }
    }

    fn edit_level(&self, base: Option<Oid>, edits: &[(&str, Edit)]) -> Result<Option<Oid>, git2::Error> {
        let base = base.map(|id| self.git.find_tree(id)).transpose()?;
        let mut level = self.git.treebuilder(base.as_ref())?;
        let mut below: BTreeMap<&str, Vec<(&str, Edit)>> = BTreeMap::new();
        for (path, edit) in edits {
            match (path.split_once('/'), edit) {
                (Some((directory, rest)), _) => below.entry(directory).or_default().push((rest, *edit)),
                (None, Edit::Put(id, mode)) => {
                    level.insert(*path, *id, *mode)?;
                }
                (None, Edit::Delete) => {
                    if level.get(*path)?.is_some() {
                        level.remove(*path)?;
                    }
                }
            }
        }
        for (directory, edits) in below {
            let old = level.get(directory)?.filter(|entry| entry.filemode() == TREE).map(|entry| entry.id());
            match self.edit_level(old, &edits)? {
                Some(tree) => {
                    level.insert(directory, tree, TREE)?;
                }
                None if old.is_some() => level.remove(directory)?,
                None => {}
            }
        }
        if level.is_empty() { Ok(None) } else { level.write().map(Some) }
    }

    /// The history of `heads` without the commits that `hidden` reaches, children before parents, newest first.
    pub(super) fn history(&self, heads: &[Oid], hidden: &[Oid]) -> Result<Vec<Oid>, git2::Error> {
        let mut walk = self.git.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        for head in heads {
            walk.push(*head)?;
        }
        for id in hidden {
            walk.hide(*id)?;
        }
        walk.collect()
    }

    pub(super) fn contains(&self, commit: Oid, ancestor: Oid) -> Result<bool, git2::Error> {
        Ok(commit == ancestor || self.git.graph_descendant_of(commit, ancestor)?)
    }
}

pub(super) fn sha(id: Oid) -> Sha {
    let text = id.to_string();
    #[expect(clippy::expect_used, reason = "libgit2 writes exactly 40 hex digits")]
    text.parse().expect("an object's name is 40 hex digits")
}

pub(super) fn oid(sha: &Sha) -> Oid {
    Oid::from_str(sha.as_str()).unwrap_or(Oid::ZERO_SHA1)
}

/// libgit2 also accepts shorter names and pads them with zeros. Those do not name objects here.
pub(super) fn full_oid(text: &str) -> Option<Oid> {
    (text.len() == 40).then(|| Oid::from_str(text).ok()).flatten()
}

pub(super) fn signature(author: &Author, at: Timestamp) -> Result<Signature<'static>, git2::Error> {
    Signature::new(&author.name, &author.email, &Time::new(at.as_second(), 0))
}
