//! Merges two commits with the same result as `git merge-tree`. libgit2 merges the lines of a file. This file pairs
//! renamed files, because libgit2 does not detect directory renames and computes similarity differently from Git.

use std::collections::{BTreeMap, BTreeSet};

use git2::{MergeFileInput, MergeFileOptions, ObjectType, Oid, TreeWalkMode, TreeWalkResult};

use super::objects::{Edit, Repo};
use super::renames::{Renames, moved_directories_conflict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeResult {
    AlreadyMerged,
    Tree(Oid),
    Conflict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: i32,
    pub(super) id: Oid,
}

impl Entry {
    pub(super) fn is_regular(self) -> bool {
        self.kind() == 0o100_000
    }

    /// File, link or submodule. The executable bit is ignored.
    pub(super) fn kind(self) -> i32 {
        self.mode & 0o170_000
    }
}

/// All files of a tree by path.
pub(super) type Files = BTreeMap<String, Entry>;

/// The maximum depth to which merge bases of merge bases are merged. Beyond it, the first base is used.
const MAX_BASE_DEPTH: u16 = 20;

/// The files of a merge. If it is not clean, they are the files that Git would use as the base of another merge.
struct Outcome {
    files: Files,
    clean: bool,
}

impl Repo {
    pub(super) fn merge(&self, ours: Oid, theirs: Oid) -> Result<MergeResult, git2::Error> {
        if self.contains(ours, theirs)? {
            return Ok(MergeResult::AlreadyMerged);
        }
        // Git refuses to merge unrelated histories. GitHub reports that as a conflict.
        let Some(base) = self.common_files(ours, theirs, 0)? else { return Ok(MergeResult::Conflict) };
        let (ours, theirs) = (self.tree_of(ours)?, self.tree_of(theirs)?);
        let merged = self.merge_files(&base, &self.files(ours.id())?, &self.files(theirs.id())?, 0)?;
        if merged.clean { self.write_files(&merged.files).map(MergeResult::Tree) } else { Ok(MergeResult::Conflict) }
    }

    /// The files of the merge base. Several merge bases are merged into one, as Git does, with their conflicts.
    fn common_files(&self, first: Oid, second: Oid, depth: u16) -> Result<Option<Files>, git2::Error> {
        let mut bases = match self.git.merge_bases(first, second) {
            Ok(bases) => bases.to_vec(),
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        bases.sort_by_key(|id| self.git.find_commit(*id).map_or(0, |commit| commit.time().seconds()));
        let mut bases = bases.into_iter();
        let Some(mut merged) = bases.next() else { return Ok(None) };
        if depth < MAX_BASE_DEPTH {
            for next in bases {
                merged = self.virtual_ancestor(merged, next, depth + 1)?;
            }
        }
        self.files(self.tree_of(merged)?.id()).map(Some)
    }

    /// The merge of two merge bases, as a commit outside all histories, so that its own merge bases can be computed.
    fn virtual_ancestor(&self, first: Oid, second: Oid, depth: u16) -> Result<Oid, git2::Error> {
        let base = self.common_files(first, second, depth)?.unwrap_or_default();
        let (ours, theirs) = (self.tree_of(first)?, self.tree_of(second)?);
        let merged = self.merge_files(&base, &self.files(ours.id())?, &self.files(theirs.id())?, depth)?;
        let tree = self.git.find_tree(self.write_files(&merged.files)?)?;
        let (first, second) = (self.commit_at(first)?, self.commit_at(second)?);
        self.git.commit(None, &first.author(), &first.committer(), "merged common ancestors", &tree, &[&first, &second])
    }

    pub(super) fn files_of(&self, commit: Oid) -> Result<Files, git2::Error> {
        self.files(self.tree_of(commit)?.id())
    }

    fn files(&self, tree: Oid) -> Result<Files, git2::Error> {
        let mut files = Files::new();
        self.git.find_tree(tree)?.walk(TreeWalkMode::PreOrder, |directory, entry| {
            // Names that are not UTF-8 cannot be created through a JSON API.
            if entry.kind() != Some(ObjectType::Tree)
                && let Ok(name) = entry.name()
            {
                files.insert(format!("{directory}{name}"), Entry { mode: entry.filemode(), id: entry.id() });
            }
            TreeWalkResult::Ok
        })?;
        Ok(files)
    }

    fn write_files(&self, files: &Files) -> Result<Oid, git2::Error> {
        let edits = files.iter().map(|(path, entry)| (path.clone(), Edit::Put(entry.id, entry.mode))).collect();
        self.edit_tree(None, &edits)
    }

    fn merge_files(&self, base: &Files, ours: &Files, theirs: &Files, depth: u16) -> Result<Outcome, git2::Error> {
        if ours == theirs || base == theirs {
            return Ok(Outcome { files: ours.clone(), clean: true });
        }
        if base == ours {
            return Ok(Outcome { files: theirs.clone(), clean: true });
        }
        let our_renames = self.renames(base, ours, theirs)?;
        let their_renames = self.renames(base, theirs, ours)?;
        let directories_conflict =
            depth == 0 && moved_directories_conflict(base, [ours, theirs], [&our_renames, &their_renames]);
        let merge = Merge { repo: self, base, ours, theirs, our_renames, their_renames, depth };
        let mut outcome = merge.run()?;
        outcome.clean &= !directories_conflict;
        Ok(outcome)
    }
}

struct Merge<'a> {
    repo: &'a Repo,
    base: &'a Files,
    ours: &'a Files,
    theirs: &'a Files,
    our_renames: Renames,
    their_renames: Renames,
    depth: u16,
}

/// The merged entry of one path, and whether it merged without a conflict.
type Decision = (Option<Entry>, bool);

impl Merge<'_> {
    fn run(&self) -> Result<Outcome, git2::Error> {
        let mut outcome = Outcome { files: Files::new(), clean: true };
        let mut paths: BTreeSet<&String> = BTreeSet::new();
        for files in [self.base, self.ours, self.theirs] {
            paths.extend(files.keys());
        }
        for path in paths {
            let (entry, clean) = self.decide(path)?;
            outcome.clean &= clean;
            if let Some(entry) = entry {
                outcome.files.insert(path.clone(), entry);
            }
        }
        outcome.clean &= Self::drop_files_under_files(&mut outcome.files);
        Ok(outcome)
    }

    fn decide(&self, path: &str) -> Result<Decision, git2::Error> {
        match (self.our_renames.source_of(path), self.their_renames.source_of(path)) {
            (None, None) => {}
            (ours, theirs) => return self.decide_target(path, ours, theirs),
        }
        match (self.our_renames.target_of(path), self.their_renames.target_of(path)) {
            (None, None) => self.blend_sides(
                path,
                self.base.get(path).copied(),
                self.ours.get(path).copied(),
                self.theirs.get(path).copied(),
            ),
            (Some(ours), Some(theirs)) => {
                // Both sides moved the file. Two different targets are a conflict. A common target is merged when its
                // own path is decided.
                let same = ours == theirs;
                Ok((if same { None } else { self.base_entry(path) }, same))
            }
            (Some(_), None) => Ok((None, self.theirs.contains_key(path))),
            (None, Some(_)) => Ok((None, self.ours.contains_key(path))),
        }
    }

    /// A path to which one side, or both, moved a file.
    fn decide_target(&self, path: &str, ours: Option<&str>, theirs: Option<&str>) -> Result<Decision, git2::Error> {
        if let (Some(first), Some(second)) = (ours, theirs)
            && first == second
        {
            let (ours, theirs) = (self.ours.get(path).copied(), self.theirs.get(path).copied());
            return self.blend_sides(path, self.base.get(first).copied(), ours, theirs);
        }
        let (mut clean, mut sides) = (true, [self.ours.get(path).copied(), self.theirs.get(path).copied()]);
        let renames = [(ours, &self.their_renames, self.theirs), (theirs, &self.our_renames, self.ours)];
        for (side, (source, other_renames, other)) in renames.into_iter().enumerate() {
            let Some(source) = source else { continue };
            // The other side still has the file at the source, so that version is merged into the target. If the other
            // side deleted or moved the file, the conflict is reported at the source.
            let (Some(moved), Some(unmoved)) = (sides[side], other.get(source).copied()) else { continue };
            if other_renames.target_of(source).is_some() {
                continue;
            }
            let base = self.base.get(source).copied();
            let (first, second) = if side == 0 { (moved, unmoved) } else { (unmoved, moved) };
            let (blended, ok) = self.blend(path, base, first, second)?;
            sides[side] = Some(blended);
            clean &= ok;
        }
        let (entry, ok) = match sides {
            [Some(first), Some(second)] => {
                let (entry, ok) = self.blend(path, None, first, second)?;
                (Some(entry), ok)
            }
            [first, second] => (first.or(second), true),
        };
        Ok((entry, clean && ok))
    }

    fn base_entry(&self, path: &str) -> Option<Entry> {
        self.base.get(path).copied()
    }

    fn blend_sides(
        &self,
        path: &str,
        base: Option<Entry>,
        ours: Option<Entry>,
        theirs: Option<Entry>,
    ) -> Result<Decision, git2::Error> {
        if ours == theirs || theirs == base {
            return Ok((ours, true));
        }
        if ours == base {
            return Ok((theirs, true));
        }
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                let (entry, clean) = self.blend(path, base, ours, theirs)?;
                Ok((Some(entry), clean))
            }
            // One side deleted the file and the other changed it.
            _ => Ok((base, false)),
        }
    }

    /// Merges two entries of one path, in mode and content.
    fn blend(&self, path: &str, base: Option<Entry>, ours: Entry, theirs: Entry) -> Result<(Entry, bool), git2::Error> {
        if ours.kind() != theirs.kind() {
            return Ok((ours, false));
        }
        let base_mode = base.map(|base| base.mode);
        let (mode, mode_clean) = if ours.mode == theirs.mode || Some(ours.mode) == base_mode {
            (theirs.mode, true)
        } else {
            (ours.mode, Some(theirs.mode) == base_mode)
        };
        let base_id = base.map(|base| base.id);
        let (id, clean) = if ours.id == theirs.id || Some(ours.id) == base_id {
            (theirs.id, true)
        } else if Some(theirs.id) == base_id {
            (ours.id, true)
        } else if ours.is_regular() {
            self.blend_lines(path, base.filter(|base| base.is_regular()), ours, theirs)?
        } else {
            (base_id.unwrap_or(ours.id), false)
        };
        Ok((Entry { mode, id }, mode_clean && clean))
    }

    fn blend_lines(
        &self,
        path: &str,
        base: Option<Entry>,
        ours: Entry,
        theirs: Entry,
    ) -> Result<(Oid, bool), git2::Error> {
        let git = &self.repo.git;
        let base_blob = base.map(|base| git.find_blob(base.id)).transpose()?;
        let (our_blob, their_blob) = (git.find_blob(ours.id)?, git.find_blob(theirs.id)?);
        let base_text = base_blob.as_ref().map_or(&[][..], |blob| blob.content());
        let texts = [base_text, our_blob.content(), their_blob.content()];
        if texts.iter().any(|text| is_binary(text)) {
            return Ok((base.map_or(ours.id, |base| base.id), false));
        }
        let [base, ours, theirs] = texts.map(|text| {
            let mut input = MergeFileInput::new();
            input.content(text).path(path);
            input
        });
        let mut options = MergeFileOptions::new();
        // Git uses these labels and longer markers in a virtual ancestor, so that its markers differ from this merge's.
        options.our_label("Temporary merge branch 1").their_label("Temporary merge branch 2");
        options.marker_size(7 + 2 * self.depth);
        let merged = git2::merge_file(&base, &ours, &theirs, Some(&mut options))?;
        Ok((git.blob(merged.content())?, merged.is_automergeable()))
    }

    /// If a file has the path of a directory, the directory's files stay. Returns whether there was no such file.
    fn drop_files_under_files(files: &mut Files) -> bool {
        let directories: BTreeSet<String> =
            files.keys().flat_map(|path| path.match_indices('/').map(|(end, _)| path[..end].to_owned())).collect();
        let before = files.len();
        files.retain(|path, _| !directories.contains(path));
        files.len() == before
    }
}

/// Git looks for a zero byte in the first 8,000 bytes.
fn is_binary(text: &[u8]) -> bool {
    text.iter().take(8000).any(|byte| *byte == 0)
}
