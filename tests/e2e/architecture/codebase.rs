//! The crate as files, modules and the edges between them: resolves each path to the module and the file that it leads
//! to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::comments::{CommentLines, count_comment_lines};
use super::syntax::{SyntaxFacts, read_syntax};

/// No path has more steps from alias to alias. The limit ends the search where two aliases name each other.
const MAX_ALIASES: usize = 8;

/// All files that were read, and the modules in them. A module's path begins with `crate`; `main.rs` is `crate::main`.
pub(super) struct Codebase {
    pub(super) files: Vec<SourceFile>,
    modules: HashMap<String, ModuleEntry>,
    context_methods: HashMap<String, BTreeSet<usize>>,
}

pub(super) struct SourceFile {
    /// Below `src`, as `workflow/merge.rs`.
    pub(super) path: String,
    /// Empty until a `mod` item declares the file.
    pub(super) module: String,
    /// The file is compiled for tests only, or not at all, so it counts in no figure.
    pub(super) is_test: bool,
    /// The lines of `//!` at its top.
    pub(super) doc_lines: usize,
    /// The lines before its module of tests.
    pub(super) lines: usize,
    pub(super) comments: CommentLines,
    pub(super) syntax: SyntaxFacts,
}

struct ModuleEntry {
    file: usize,
    /// The names that its `use` items bring in, with the paths as written.
    aliases: HashMap<String, Vec<String>>,
}

/// A path that a file names: as it is written, and where it leads to through aliases and re-exports.
pub(super) struct ResolvedPath {
    pub(super) written: String,
    pub(super) defined: String,
    pub(super) is_test: bool,
    is_reexport: bool,
    file: usize,
}

impl SourceFile {
    pub(super) fn from_text(path: &str, text: &str) -> Self {
        let production = cut_off_tests(text);
        Self {
            path: path.to_owned(),
            module: String::new(),
            is_test: true,
            doc_lines: text.lines().take_while(|line| line.starts_with("//!")).count(),
            lines: production.trim_end().lines().count(),
            comments: count_comment_lines(production),
            syntax: read_syntax(text).unwrap_or_else(|error| panic!("src/{path} cannot be parsed: {error}")),
        }
    }

    pub(super) fn is_below(&self, module: &str) -> bool {
        is_below(&self.module, module)
    }
}

/// The text before the module of tests at the end of a file.
fn cut_off_tests(text: &str) -> &str {
    let mut starts = text.match_indices("#[cfg(test)]\n").map(|(at, _)| at);
    let start = starts.find(|at| {
        let mut after = text[*at..].lines().skip_while(|line| line.starts_with("#["));
        after.next().is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    });
    &text[..start.unwrap_or(text.len())]
}

/// Whether a path is that module or lies below it.
pub(super) fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

impl Codebase {
    /// Follows the `mod` items from `lib.rs` and `main.rs`. They give the modules, and the files that are for tests
    /// only.
    pub(super) fn from_files(files: Vec<SourceFile>) -> Self {
        let by_path: BTreeMap<String, usize> =
            files.iter().enumerate().map(|(index, file)| (file.path.clone(), index)).collect();
        let mut codebase = Self { files, modules: HashMap::new(), context_methods: HashMap::new() };
        let mut open = vec![("lib.rs".to_owned(), "crate".to_owned(), false)];
        open.push(("main.rs".to_owned(), "crate::main".to_owned(), false));
        while let Some((path, module, is_test)) = open.pop() {
            if let Some(file) = by_path.get(&path) {
                open.extend(codebase.add_modules(*file, &module, is_test, &by_path));
            }
        }
        for (index, file) in codebase.files.iter().enumerate().filter(|(_, file)| !file.is_test) {
            for method in &file.syntax.context_methods {
                codebase.context_methods.entry(method.clone()).or_default().insert(index);
            }
        }
        codebase
    }

    /// Enters the modules of one file, and returns the files of its `mod name;` with their modules.
    fn add_modules(
        &mut self,
        index: usize,
        module: &str,
        is_test: bool,
        by_path: &BTreeMap<String, usize>,
    ) -> Vec<(String, String, bool)> {
        let file = &mut self.files[index];
        module.clone_into(&mut file.module);
        file.is_test = is_test;
        let new = || ModuleEntry { file: index, aliases: HashMap::new() };
        self.modules.insert(module.to_owned(), new());
        let mut children = Vec::new();
        let path = Path::new(&file.path);
        let beside = path.parent().unwrap();
        let holds_folder = ["lib.rs", "main.rs", "mod.rs"].iter().any(|name| path.ends_with(name));
        for declared in &file.syntax.modules {
            let child = join_segments(
                &[&[module.to_owned()], &declared.scope[..], std::slice::from_ref(&declared.name)].concat(),
            );
            if declared.is_inline {
                self.modules.insert(child, new());
                continue;
            }
            let mut folder = if holds_folder { beside.to_owned() } else { path.with_extension("") };
            folder.extend(&declared.scope);
            let candidates = match &declared.file {
                Some(name) => vec![beside.join(name)],
                None => vec![folder.join(format!("{}.rs", declared.name)), folder.join(&declared.name).join("mod.rs")],
            };
            let candidates = candidates.iter().map(|path| path.to_str().unwrap().to_owned());
            let found = candidates.filter(|path| by_path.contains_key(path));
            children.extend(found.map(|path| (path, child.clone(), is_test || declared.is_test)));
        }
        for import in &file.syntax.imports {
            let scope = join_segments(&[&[module.to_owned()], &import.scope[..]].concat());
            if let (Some(alias), Some(entry)) = (&import.alias, self.modules.get_mut(&scope)) {
                entry.aliases.insert(alias.clone(), import.path.clone());
            }
        }
        children
    }

    pub(super) fn has_module(&self, module: &str) -> bool {
        self.modules.contains_key(module)
    }

    /// The paths within this crate that a file names.
    pub(super) fn resolve_paths(&self, file: &SourceFile) -> Vec<ResolvedPath> {
        let imports = file.syntax.imports.iter();
        let imports = imports.map(|import| (&import.scope, &import.path, import.is_test, import.is_reexport));
        let paths = file.syntax.paths.iter().map(|named| (&named.scope, &named.path, named.is_test, false));
        let resolve = |(scope, path, is_test, is_reexport): (&Vec<String>, &Vec<String>, bool, bool)| {
            let scope = join_segments(&[std::slice::from_ref(&file.module), &scope[..]].concat());
            let written = self.make_absolute(&scope, path, 0)?;
            let (module, defined) = self.follow_reexports(written.clone(), 0);
            let is_test = is_test || file.is_test;
            let (written, defined) = (join_segments(&written), join_segments(&defined));
            Some(ResolvedPath { written, defined, is_test, is_reexport, file: self.modules[&module].file })
        };
        imports.chain(paths).filter_map(resolve).collect()
    }

    /// The path from `crate` on, or none if it leads out of this crate or to a local name.
    fn make_absolute(&self, scope: &str, path: &[String], aliases: usize) -> Option<Vec<String>> {
        let (head, rest) = path.split_first()?;
        let mut base: Vec<String> = scope.split("::").map(str::to_owned).collect();
        let is_child = |name: &str| self.modules.contains_key(&format!("{scope}::{name}"));
        match head.as_str() {
            "crate" => base.truncate(1),
            "self" => {}
            "super" => base.truncate(base.len() - 1),
            child if is_child(child) => base.push(child.to_owned()),
            alias if self.modules.get(scope)?.aliases.contains_key(alias) && aliases < MAX_ALIASES => {
                base = self.make_absolute(scope, &self.modules[scope].aliases[alias], aliases + 1)?;
            }
            // `main.rs` is a separate crate, which refers to this one by its name.
            "gantry" => base.truncate(1),
            _ => return None,
        }
        // More `super` may follow.
        let supers = rest.iter().take_while(|name| *name == "super").count();
        base.truncate(base.len().saturating_sub(supers));
        base.extend_from_slice(&rest[supers..]);
        Some(base)
    }

    /// Walks down the modules of an absolute path, through re-exports: the module it ends in, and the whole path there.
    /// A name from a glob re-export counts as defined in the module with the glob.
    fn follow_reexports(&self, path: Vec<String>, aliases: usize) -> (String, Vec<String>) {
        let mut module = "crate".to_owned();
        for (at, name) in path.iter().enumerate().skip(1) {
            let child = format!("{module}::{name}");
            if self.modules.contains_key(&child) {
                module = child;
                continue;
            }
            let alias = self.modules[&module].aliases.get(name).filter(|_| aliases < MAX_ALIASES);
            if let Some(mut next) = alias.and_then(|alias| self.make_absolute(&module, alias, aliases + 1)) {
                next.extend_from_slice(&path[at + 1..]);
                return self.follow_reexports(next, aliases + 1);
            }
            break;
        }
        (module, path)
    }

    /// The files that one file depends on.
    ///
    /// An edge is a private `use`, a path in code, or a call of a method that an `impl` of the context in the other
    /// file defines. It leads to the file of the definition, past re-exports. Neither `mod child;` nor `pub use` is an
    /// edge: a folder's `mod.rs` may present its children without depending on them.
    pub(super) fn find_edges(&self, file: &SourceFile) -> BTreeSet<usize> {
        let paths = self.resolve_paths(file).into_iter().filter(|path| !path.is_test && !path.is_reexport);
        let calls = file.syntax.context_calls.iter().filter_map(|method| self.context_methods.get(method));
        paths.map(|path| path.file).chain(calls.flatten().copied()).collect()
    }

    /// The groups of more than one file that depend on each other, among the files that `belongs` selects.
    pub(super) fn find_cycles(&self, belongs: impl Fn(&SourceFile) -> bool) -> Vec<Vec<&str>> {
        let files = self.files.iter().enumerate().filter(|(_, file)| !file.is_test && belongs(file));
        let edges: BTreeMap<usize, BTreeSet<usize>> = files.map(|(at, file)| (at, self.find_edges(file))).collect();
        let reach: BTreeMap<usize, BTreeSet<usize>> =
            edges.keys().map(|at| (*at, find_reachable(&edges, *at))).collect();
        let groups: BTreeSet<Vec<usize>> = reach
            .iter()
            .map(|(at, to)| to.iter().copied().filter(|other| reach[other].contains(at)).collect::<Vec<_>>())
            .filter(|group| group.len() > 1)
            .collect();
        let name = |at: usize| self.files[at].path.as_str();
        groups.into_iter().map(|group| group.into_iter().map(name).collect()).collect()
    }
}

fn find_reachable(edges: &BTreeMap<usize, BTreeSet<usize>>, from: usize) -> BTreeSet<usize> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(edges[&at].iter().filter(|next| edges.contains_key(next) && found.insert(**next)));
    }
    found
}

fn join_segments(segments: &[String]) -> String {
    segments.join("::")
}
