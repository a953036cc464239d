//! Finds the files that one side of a merge moved, as far as they matter to the other side, and the moved directories.
//! The order is the one that Git documents: the same content, then the same name, then the most similar content.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use git2::Oid;

use super::merge::{Entry, Files};
use super::objects::Repo;

/// Similarity is counted in units of 1/60,000. Half of a file must be the same.
const MAX_SIMILARITY: usize = 60_000;
const MIN_SIMILARITY: usize = MAX_SIMILARITY / 2;
/// Files with a name that is unique on both sides are paired at this similarity, without a look at other files.
const MIN_SIMILARITY_OF_SAME_NAME: usize = MAX_SIMILARITY / 4 * 3;
/// The number of sources that are kept for a target. A fifth one would almost never be used.
const MAX_CANDIDATES: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Renames {
    forward: BTreeMap<String, String>,
    back: BTreeMap<String, String>,
}

impl Renames {
    /// The new path of the file at `source`.
    pub(super) fn target_of(&self, source: &str) -> Option<&str> {
        self.forward.get(source).map(String::as_str)
    }

    /// The old path of the file at `target`.
    pub(super) fn source_of(&self, target: &str) -> Option<&str> {
        self.back.get(target).map(String::as_str)
    }

    fn add(&mut self, source: &str, target: &str) {
        self.forward.insert(source.to_owned(), target.to_owned());
        self.back.insert(target.to_owned(), source.to_owned());
    }
}

impl Repo {
    /// The files that `side` moved. A moved file with the same content is always found. A moved file with other content
    /// is searched for in two cases: the other side changed it too, or it shows the new place of a directory to which
    /// the other side added files.
    pub(super) fn renames(&self, base: &Files, side: &Files, other: &Files) -> Result<Renames, git2::Error> {
        let empty = Oid::hash_object(git2::ObjectType::Blob, &[])?;
        let missing_files = |from: &Files, to: &Files| -> Vec<(String, Entry)> {
            let missing = from.iter().filter(|(path, entry)| !to.contains_key(*path) && entry.id != empty);
            missing.map(|(path, entry)| (path.clone(), *entry)).collect()
        };
        let (mut sources, mut targets) = (missing_files(base, side), missing_files(side, base));
        let mut found = Renames::default();
        if sources.is_empty() || targets.is_empty() {
            return Ok(found);
        }
        match_exact(&sources, &targets, &mut found);
        let wanted = RemovedDirectories::new(base, side, other);
        sources.retain(|(path, _)| {
            found.target_of(path).is_none() && (base.get(path) != other.get(path) || wanted.is_relevant(path))
        });
        sources.retain(|(_, entry)| entry.is_regular());
        targets.retain(|(path, entry)| found.source_of(path).is_none() && entry.is_regular());
        let mut texts = SimilarityCache { repo: self, chunks_by_blob: HashMap::new() };
        match_by_name(&mut texts, &wanted, &sources, &targets, &mut found)?;
        sources.retain(|(path, _)| found.target_of(path).is_none());
        targets.retain(|(path, _)| found.source_of(path).is_none());
        match_by_content(&mut texts, &sources, &targets, &mut found)?;
        Ok(found)
    }
}

fn match_exact(sources: &[(String, Entry)], targets: &[(String, Entry)], found: &mut Renames) {
    for (target, entry) in targets {
        let same = |(path, other): &&(String, Entry)| {
            other.id == entry.id && other.kind() == entry.kind() && found.target_of(path).is_none()
        };
        let same_name = sources.iter().filter(same).find(|(path, _)| name(path) == name(target));
        if let Some((source, _)) = same_name.or_else(|| sources.iter().find(same)) {
            let source = source.clone();
            found.add(&source, target);
        }
    }
}

fn match_by_name(
    texts: &mut SimilarityCache<'_>,
    wanted: &RemovedDirectories,
    sources: &[(String, Entry)],
    targets: &[(String, Entry)],
    found: &mut Renames,
) -> Result<(), git2::Error> {
    let index_unique_names = |files: &[(String, Entry)]| {
        let mut names: HashMap<String, Option<usize>> = HashMap::new();
        for (index, (path, _)) in files.iter().enumerate() {
            names.entry(name(path).to_owned()).and_modify(|unique| *unique = None).or_insert(Some(index));
        }
        names
    };
    let (only_source, only_target) = (index_unique_names(sources), index_unique_names(targets));
    let target_indexes: HashMap<&str, usize> =
        targets.iter().enumerate().map(|(index, (path, _))| (path.as_str(), index)).collect();
    let guesses = wanted.guesses(found);
    for (source, entry) in sources {
        let name = name(source);
        let is_only = only_source.get(name).is_some_and(Option::is_some);
        let target = match only_target.get(name) {
            Some(Some(index)) if is_only => Some(*index),
            // An ambiguous name is looked up in the directory to which the rest of its directory went.
            Some(_) => {
                guesses.get(directory(source)).and_then(|to| target_indexes.get(join(to, name).as_str()).copied())
            }
            None => None,
        };
        let Some((target, other)) = target.map(|index| &targets[index]) else { continue };
        if found.source_of(target).is_none() && texts.similarity(entry.id, other.id)? >= MIN_SIMILARITY_OF_SAME_NAME {
            found.add(source, target);
        }
    }
    Ok(())
}

fn match_by_content(
    texts: &mut SimilarityCache<'_>,
    sources: &[(String, Entry)],
    targets: &[(String, Entry)],
    found: &mut Renames,
) -> Result<(), git2::Error> {
    let mut pairs = Vec::new();
    for (target, entry) in targets {
        let mut candidates = Vec::new();
        for (source, other) in sources {
            let score = texts.similarity(other.id, entry.id)?;
            candidates.push((score, name(source) == name(target), source, target));
        }
        candidates.sort_by_key(|(score, alike, ..)| std::cmp::Reverse((*score, *alike)));
        candidates.truncate(MAX_CANDIDATES);
        pairs.extend(candidates);
    }
    pairs.sort_by_key(|(score, alike, ..)| std::cmp::Reverse((*score, *alike)));
    for (score, _, source, target) in pairs {
        if score >= MIN_SIMILARITY && found.target_of(source).is_none() && found.source_of(target).is_none() {
            found.add(source, target);
        }
    }
    Ok(())
}

/// The similarity of files: the part of the larger file that consists of pieces of both. A piece is a line, or 64
/// bytes of a longer line.
struct SimilarityCache<'a> {
    repo: &'a Repo,
    chunks_by_blob: HashMap<Oid, (usize, HashMap<Vec<u8>, usize>)>,
}

impl SimilarityCache<'_> {
    fn similarity(&mut self, first: Oid, second: Oid) -> Result<usize, git2::Error> {
        for id in [first, second] {
            if !self.chunks_by_blob.contains_key(&id) {
                let blob = self.repo.git.find_blob(id)?;
                self.chunks_by_blob.insert(id, (blob.size(), pieces(blob.content())));
            }
        }
        let ((first_size, first), (second_size, second)) =
            (&self.chunks_by_blob[&first], &self.chunks_by_blob[&second]);
        let shared: usize =
            first.iter().map(|(piece, bytes)| (*bytes).min(second.get(piece).copied().unwrap_or_default())).sum();
        Ok(shared * MAX_SIMILARITY / (*first_size).max(*second_size).max(1))
    }
}

/// The pieces of a text, each with its total number of bytes.
fn pieces(text: &[u8]) -> HashMap<Vec<u8>, usize> {
    let mut pieces = HashMap::new();
    let mut add = |piece: &[u8]| *pieces.entry(piece.to_vec()).or_insert(0) += piece.len();
    let is_text = !text.iter().take(8000).any(|byte| *byte == 0);
    let mut piece = Vec::new();
    for (index, byte) in text.iter().enumerate() {
        if is_text && *byte == b'\r' && text.get(index + 1) == Some(&b'\n') {
            continue;
        }
        piece.push(*byte);
        if *byte == b'\n' || piece.len() == 64 {
            add(&piece);
            piece.clear();
        }
    }
    if !piece.is_empty() {
        add(&piece);
    }
    pieces
}

/// The directories that one side of a merge removed, and those of them to which the other side added files.
struct RemovedDirectories {
    removed: BTreeSet<String>,
    /// Those into which the other side directly put a file. The directories below them matter too.
    with_new_files: BTreeSet<String>,
}

impl RemovedDirectories {
    fn new(base: &Files, side: &Files, other: &Files) -> Self {
        let (side_directories, other_directories) = (directories(side), directories(other));
        let removed: BTreeSet<String> =
            directories(base).into_iter().filter(|directory_path| !side_directories.contains(directory_path)).collect();
        let with_new_files = other
            .keys()
            .filter(|path| !base.contains_key(*path) && !side.contains_key(*path))
            .map(|path| directory(path))
            .filter(|directory_path| removed.contains(*directory_path) && other_directories.contains(*directory_path))
            .map(str::to_owned)
            .collect();
        Self { removed, with_new_files }
    }

    /// Whether the path is below a directory that must be followed to its new place.
    fn is_relevant(&self, path: &str) -> bool {
        ancestors(path).any(|ancestor| self.with_new_files.contains(ancestor))
    }

    /// For each of these directories, the number of files that went to each new directory.
    fn counts<'a>(&self, renames: &'a Renames) -> BTreeMap<&'a str, BTreeMap<&'a str, usize>> {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (source, target) in &renames.forward {
            let (mut from, mut to) = (directory(source), directory(target));
            let mut is_first = true;
            while self.removed.contains(from) {
                // A file also counts for the directories above it, as long as the path below them stayed the same.
                if self.with_new_files.contains(from) || (is_first && self.is_relevant(source)) {
                    *counts.entry(from).or_default().entry(to).or_default() += 1;
                }
                is_first = false;
                if name(from) != name(to) || from.is_empty() || to.is_empty() {
                    break;
                }
                (from, to) = (directory(from), directory(to));
            }
        }
        counts
    }

    /// The most likely new place of each of these directories.
    fn guesses(&self, renames: &Renames) -> BTreeMap<String, String> {
        let best = |to: BTreeMap<&str, usize>| Some(to.into_iter().max_by_key(|(_, count)| *count)?.0.to_owned());
        self.counts(renames).into_iter().filter_map(|(from, to)| Some((from.to_owned(), best(to)?))).collect()
    }
}

/// Whether one side moved a directory while the other added files to it. Git then reports a conflict.
pub(super) fn moved_directories_conflict(base: &Files, sides: [&Files; 2], renames: [&Renames; 2]) -> bool {
    let mut moved: [BTreeMap<&str, &str>; 2] = Default::default();
    for (side, moved) in moved.iter_mut().enumerate() {
        let wanted = RemovedDirectories::new(base, sides[side], sides[1 - side]);
        for (from, to) in wanted.counts(renames[side]) {
            let most = to.values().max().copied().unwrap_or_default();
            let mut best = to.into_iter().filter(|(_, count)| *count == most);
            match (best.next(), best.next()) {
                (Some((to, _)), None) => {
                    moved.insert(from, to);
                }
                // Equal numbers of its files went to two directories.
                _ => return true,
            }
        }
    }
    let both: Vec<&str> = moved[0].keys().filter(|from| moved[1].contains_key(*from)).copied().collect();
    for from in both {
        for moved in &mut moved {
            moved.remove(from);
        }
    }
    (0..2).any(|side| {
        let new = sides[1 - side].keys().filter(|path| !base.contains_key(*path));
        let mut targets = new.filter_map(|path| ancestors(path).find_map(|ancestor| moved[side].get(ancestor)));
        // Files are not moved into a directory that the other side moved too.
        targets.any(|to| !moved[1 - side].contains_key(to))
    })
}

fn directories(files: &Files) -> BTreeSet<String> {
    files.keys().flat_map(|path| ancestors(path).map(str::to_owned)).collect()
}

/// The directories above a path, nearest first, without the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(end, _)| &path[..end])
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
