//! The effects of `git push`, as methods for the world and for tests: commits, branches, merges and tags.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::merge::MergeResult;
use super::objects::{Edit, FILE, oid, sha, signature};
use super::rules::push_refused_message;
use super::{Author, DEFAULT_LOGIN, GitHub, NewCommit, Sha, WriteError, is_path, routes};

impl GitHub {
    #[expect(clippy::needless_pass_by_value, reason = "the caller gives up the new commit")]
    pub fn commit(&self, new: NewCommit) -> Result<Sha, WriteError> {
        self.0.people.register(&new.author);
        let author = signature(&new.author, new.at)?;
        self.write(&new.repository, new.author.login_or_name(), |repo| {
            let full_name = format!("refs/heads/{}", new.branch);
            if repo.protection.forbids_pushes(&full_name) {
                return Err(WriteError::Refused(push_refused_message(false)));
            }
            let head = repo.refs.find(&full_name);
            if head.is_none()
                && let Some(reason) = repo.refs.creation_error(&full_name)
            {
                return Err(WriteError::Refused(reason));
            }
            let parent = head.or_else(|| repo.branch(&repo.default_branch));
            let base = parent.map(|parent| repo.tree_of(parent).map(|tree| tree.id())).transpose()?;
            let mut edits = BTreeMap::new();
            for (path, content) in &new.files {
                if !is_path(path) {
                    return Err(WriteError::Refused(format!("`{path}` cannot be the path of a file in Git.")));
                }
                let edit = match content {
                    Some(content) => Edit::Put(repo.git.blob(content.as_bytes())?, FILE),
                    None => Edit::Delete,
                };
                edits.insert(path.clone(), edit);
            }
            let tree = repo.edit_tree(base, &edits)?;
            let parents: Vec<_> = parent.into_iter().collect();
            let id = repo.write_commit(tree, &parents, &new.message, &author, &author)?;
            repo.point(&full_name, id);
            Ok(sha(id))
        })
    }

    pub fn create_branch(&self, repository: &str, name: &str, commit: &Sha) -> Result<(), WriteError> {
        self.write(repository, DEFAULT_LOGIN, |repo| {
            let full_name = format!("refs/heads/{name}");
            if let Some(reason) = repo.refs.creation_error(&full_name) {
                return Err(WriteError::Refused(reason));
            }
            if !repo.is_commit(oid(commit)) {
                return Err(WriteError::Refused(format!("There is no commit {commit} in {repository}.")));
            }
            repo.point(&full_name, oid(commit));
            Ok(())
        })
    }

    /// Merges with a merge commit, never with a fast-forward. If the branch contains `head` already, it does not move
    /// and its head is returned.
    pub fn merge(
        &self,
        repository: &str,
        base: &str,
        head: &Sha,
        message: &str,
        author: &Author,
        at: Timestamp,
    ) -> Result<Sha, WriteError> {
        self.0.people.register(author);
        let by = author.login_or_name();
        let author = signature(author, at)?;
        self.write(repository, by, |repo| {
            if repo.protection.forbids_pushes(&format!("refs/heads/{base}")) {
                return Err(WriteError::Refused(push_refused_message(false)));
            }
            let base_head = repo
                .branch(base)
                .ok_or_else(|| WriteError::Refused(format!("There is no branch `{base}` in {repository}.")))?;
            if !repo.is_commit(oid(head)) {
                return Err(WriteError::Refused(format!("There is no commit {head} in {repository}.")));
            }
            match repo.merge(base_head, oid(head))? {
                MergeResult::Conflict => Err(WriteError::Conflict),
                MergeResult::AlreadyMerged => Ok(sha(base_head)),
                MergeResult::Tree(tree) => {
                    let id = repo.write_commit(tree, &[base_head, oid(head)], message, &author, &author)?;
                    repo.point(&format!("refs/heads/{base}"), id);
                    Ok(sha(id))
                }
            }
        })
    }

    /// Creates an annotated tag.
    pub fn tag(&self, repository: &str, name: &str, commit: &Sha, message: &str) -> Result<(), WriteError> {
        let tagger = signature(&routes::bot(), self.0.clock.now())?;
        self.write(repository, routes::BOT, |repo| {
            let full_name = format!("refs/tags/{name}");
            if let Some(reason) = repo.refs.creation_error(&full_name) {
                return Err(WriteError::Refused(reason));
            }
            let id = {
                let target = repo.git.find_object(oid(commit), None)?;
                repo.git.tag_annotation_create(name, &target, &tagger, message)?
            };
            repo.point(&full_name, id);
            Ok(())
        })
    }
}
