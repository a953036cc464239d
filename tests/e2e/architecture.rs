//! Enforces the architecture: which module may import which, and figures on cycles, names and comments that may only
//! fall.

mod codebase;
mod comments;
pub(crate) mod house;
mod self_check;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use codebase::{Codebase, SourceFile, is_below};

use crate::architecture::house::{all_sources, root};

/// The figures of today, each with its goal. They may only fall: a change that improves one lowers its limit here.
const LIMITS: &[RatchetLimit] = &[
    RatchetLimit { figure: Figure::FilesInCycles("crate::workflow"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::domain"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::adapters::store"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::adapters::slack"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::adapters::github"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::adapters::cluster"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::adapters::registry"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::adapters::reports"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::config"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::app"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCycles("crate::telemetry"), limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::FilesInCyclesElsewhere, limit: 0, goal: NO_LARGE_CYCLE },
    RatchetLimit { figure: Figure::BrokenLaws, limit: 0, goal: "0" },
    RatchetLimit { figure: Figure::ContextMethods, limit: 1, goal: "10" },
    RatchetLimit { figure: Figure::RepeatedTypeNames, limit: 0, goal: "0" },
    RatchetLimit { figure: Figure::OneWordFunctions, limit: 58, goal: "under 40 %" },
    RatchetLimit { figure: Figure::VagueCommentLines, limit: 0, goal: "under 3 %" },
    RatchetLimit { figure: Figure::LongModuleDocs, limit: 0, goal: "0" },
    RatchetLimit { figure: Figure::LongFiles, limit: 0, goal: "0" },
];

const NO_LARGE_CYCLE: &str = "no cycle of more than two files";

/// The import rules of `lib.rs`. A rule is about imports of modules below `within`: of these, a file in a module of
/// `of` may import only that module and the modules in `may_import`. Of several rules with the same `within`, the one
/// with the longest module in `of` decides. A path is judged as it is written and as it resolves through re-exports;
/// both must be allowed. Unit tests keep the rules, too.
const IMPORT_RULES: &[ImportRule] = &[
    ImportRule { of: &["crate::domain", "crate::clock", "crate::http"], within: "crate", may_import: &[] },
    ImportRule { of: &["crate::telemetry"], within: "crate", may_import: &["crate::clock"] },
    ImportRule { of: &["crate::config"], within: "crate", may_import: &["crate::domain"] },
    ImportRule { of: &["crate::adapters"], within: "crate", may_import: &[] },
    ImportRule {
        of: &[
            "crate::adapters::slack",
            "crate::adapters::github",
            "crate::adapters::cluster",
            "crate::adapters::controller",
            "crate::adapters::registry",
            "crate::adapters::reports",
            "crate::adapters::store",
        ],
        within: "crate",
        may_import: &["crate::domain", "crate::clock", "crate::config", "crate::http", "crate::telemetry"],
    },
    ImportRule {
        of: &["crate::workflow"],
        within: "crate",
        may_import: &[
            "crate::domain",
            "crate::clock",
            "crate::config",
            "crate::http",
            "crate::telemetry",
            "crate::adapters::slack",
            "crate::adapters::github",
            "crate::adapters::cluster",
            "crate::adapters::controller",
            "crate::adapters::registry",
            "crate::adapters::reports",
            "crate::adapters::store",
        ],
    },
    // Only these build clients, so they may import everything.
    ImportRule { of: &["crate::app", "crate::main", "crate::sim"], within: "crate", may_import: &["crate"] },
];

/// The laws inside `domain` and `workflow`: which folders and files may use which others. An edge is counted as for
/// cycles, so that a call of a method of the context counts, too. The edges that still break a law are a figure of the
/// ratchet.
const LAWS: &[ImportRule] = &[
    // Each folder of `domain` uses only those before it in this list.
    ImportRule { of: &["crate::domain::model"], within: "crate::domain", may_import: &[] },
    ImportRule { of: &["crate::domain::git"], within: "crate::domain", may_import: &["crate::domain::model"] },
    ImportRule {
        of: &["crate::domain::runtime"],
        within: "crate::domain",
        may_import: &["crate::domain::model", "crate::domain::git"],
    },
    ImportRule {
        of: &["crate::domain::rules"],
        within: "crate::domain",
        may_import: &["crate::domain::model", "crate::domain::git", "crate::domain::runtime"],
    },
    ImportRule {
        of: &["crate::domain::change"],
        within: "crate::domain",
        may_import: &["crate::domain::model", "crate::domain::git", "crate::domain::runtime", "crate::domain::rules"],
    },
    ImportRule {
        of: &["crate::domain::command"],
        within: "crate::domain",
        may_import: &[
            "crate::domain::model",
            "crate::domain::git",
            "crate::domain::runtime",
            "crate::domain::rules",
            "crate::domain::change",
        ],
    },
    ImportRule {
        of: &["crate::domain::view", "crate::domain::doctor"],
        within: "crate::domain",
        may_import: &[
            "crate::domain::model",
            "crate::domain::git",
            "crate::domain::runtime",
            "crate::domain::rules",
            "crate::domain::change",
            "crate::domain::command",
        ],
    },
    // The context holds lookups, caches and counters of all folders.
    ImportRule { of: &["crate::workflow::context"], within: "crate::workflow", may_import: &["crate::workflow"] },
    ImportRule {
        of: &[
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::ttl_cache",
            "crate::workflow::metrics",
            "crate::workflow::activity",
            "crate::workflow::worker",
        ],
        within: "crate::workflow",
        may_import: &[],
    },
    // A lookup has its own clients: the context holds it, and it does not know the context.
    ImportRule {
        of: &["crate::workflow::facts"],
        within: "crate::workflow",
        may_import: &["crate::workflow::error", "crate::workflow::ttl_cache", "crate::workflow::metrics"],
    },
    // Questions that several folders ask, as functions over the context. The context holds none of them.
    ImportRule {
        of: &[
            "crate::workflow::facts::authors",
            "crate::workflow::facts::locks",
            "crate::workflow::facts::manifests",
            "crate::workflow::facts::merged_result",
            "crate::workflow::facts::message_links",
            "crate::workflow::facts::rollout_check",
            "crate::workflow::facts::running_code",
        ],
        within: "crate::workflow",
        may_import: &["crate::workflow::context", "crate::workflow::error", "crate::workflow::facts"],
    },
    ImportRule {
        of: &["crate::workflow::requests::reply"],
        within: "crate::workflow",
        may_import: &["crate::workflow::error", "crate::workflow::message_keys"],
    },
    ImportRule {
        of: &["crate::workflow::requests::inbox"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::worker",
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
            "crate::workflow::requests::dispatch",
            "crate::workflow::requests::reply",
        ],
    },
    ImportRule {
        of: &["crate::workflow::requests::dispatch", "crate::workflow::requests::acknowledge"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
            "crate::workflow::commands",
            "crate::workflow::requests::reply",
        ],
    },
    ImportRule {
        of: &["crate::workflow::commands"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
            "crate::workflow::planning",
            "crate::workflow::changes::begin",
            "crate::workflow::changes::open_changes",
            "crate::workflow::changes::transition",
            "crate::workflow::requests::reply",
        ],
    },
    ImportRule {
        of: &["crate::workflow::planning"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
            "crate::workflow::changes::open_changes",
        ],
    },
    // The context holds a value of its type, so this file does not know the context.
    ImportRule {
        of: &["crate::workflow::changes::open_changes"],
        within: "crate::workflow",
        may_import: &["crate::workflow::error", "crate::workflow::metrics", "crate::workflow::facts"],
    },
    // Only the runner calls the stage handlers.
    ImportRule {
        of: &["crate::workflow::changes::runner"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::worker",
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::metrics",
            "crate::workflow::changes",
        ],
    },
    ImportRule {
        of: &["crate::workflow::changes::runner"],
        within: "crate::workflow::changes",
        may_import: &["crate::workflow::changes"],
    },
    // Stage handlers and their parts: neither uses a handler.
    ImportRule {
        of: &["crate::workflow::changes"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
            "crate::workflow::planning",
        ],
    },
    // The one place that writes a change also notifies its subscribers.
    ImportRule {
        of: &["crate::workflow::changes::transition"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
            "crate::workflow::planning",
            "crate::workflow::changes",
            "crate::workflow::notifications::subscriptions",
        ],
    },
    ImportRule {
        of: &["crate::workflow::changes"],
        within: "crate::workflow::changes",
        may_import: &[
            "crate::workflow::changes::transition",
            "crate::workflow::changes::begin",
            "crate::workflow::changes::pull_request",
            "crate::workflow::changes::build_commit",
            "crate::workflow::changes::after_merge",
            "crate::workflow::changes::auto_rollback",
            "crate::workflow::changes::move_branch",
            "crate::workflow::changes::git_writes",
            "crate::workflow::changes::stall_diagnosis",
            "crate::workflow::changes::tag",
            "crate::workflow::changes::trigger",
            "crate::workflow::changes::clean_up",
            "crate::workflow::changes::open_changes",
        ],
    },
    ImportRule {
        of: &["crate::workflow::deployments"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::worker",
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
            "crate::workflow::changes::open_changes",
            "crate::workflow::notifications",
        ],
    },
    ImportRule {
        of: &["crate::workflow::notifications"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::worker",
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::message_keys",
            "crate::workflow::metrics",
            "crate::workflow::facts",
        ],
    },
    // A refresh renders the Home as a request for it does.
    ImportRule {
        of: &["crate::workflow::notifications::home_refresh"],
        within: "crate::workflow",
        may_import: &[
            "crate::workflow::worker",
            "crate::workflow::context",
            "crate::workflow::error",
            "crate::workflow::facts",
            "crate::workflow::commands::home",
        ],
    },
];

/// Modules that only a few others may import, even where `IMPORT_RULES` allow it.
const IMPORTED_ONLY_BY: &[(&str, &[&str])] =
    &[("crate::app", &["crate::main", "crate::sim"]), ("crate::sim", &["crate::main"])];

/// Type names that each module may define for itself.
const REPEATABLE_TYPE_NAMES: [&str; 4] = ["Client", "Inner", "Row", "Error"];

/// Files with a longer module doc: the map of the crate, and the grammar of commands.
const LONG_DOC_FILES: [&str; 2] = ["lib.rs", "domain/command/grammar.rs"];

const MAX_DOC_LINES: usize = 3;
const MAX_LINES: usize = 500;

/// A share may lie less than one percentage point below its limit, because unrelated edits move it a little.
const TOLERANCE_IN_TENTHS: usize = 10;

struct ImportRule {
    of: &'static [&'static str],
    within: &'static str,
    may_import: &'static [&'static str],
}

struct RatchetLimit {
    figure: Figure,
    /// A number, or tenths of a percent for a share.
    limit: usize,
    goal: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    FilesInCycles(&'static str),
    /// Files in cycles outside of all folders with a row of their own.
    FilesInCyclesElsewhere,
    BrokenLaws,
    ContextMethods,
    RepeatedTypeNames,
    OneWordFunctions,
    VagueCommentLines,
    LongModuleDocs,
    LongFiles,
}

/// A figure as it is now, and the places that make it up.
struct Measurement {
    value: usize,
    places: Vec<String>,
}

impl Figure {
    fn is_share(self) -> bool {
        matches!(self, Self::OneWordFunctions | Self::VagueCommentLines)
    }

    fn describe(self) -> String {
        match self {
            Self::FilesInCycles(folder) => format!("files in import cycles of {folder}"),
            Self::FilesInCyclesElsewhere => "files in import cycles outside of the folders of LIMITS".to_owned(),
            Self::BrokenLaws => "edges that break the laws of domain and workflow".to_owned(),
            Self::ContextMethods => "methods of the context object".to_owned(),
            Self::RepeatedTypeNames => "type names defined more than once".to_owned(),
            Self::OneWordFunctions => "share of function names that are one word".to_owned(),
            Self::VagueCommentLines => "share of comment lines with what/whoever/whatever/whom/whose".to_owned(),
            Self::LongModuleDocs => format!("files with a `//!` of more than {MAX_DOC_LINES} lines"),
            Self::LongFiles => format!("files of more than {MAX_LINES} lines before their tests"),
        }
    }

    fn suggest_fix(self) -> &'static str {
        match self {
            Self::FilesInCycles(_) | Self::FilesInCyclesElsewhere => {
                "Move the shared type or function into a file that imports neither, or pass it as a parameter"
            }
            Self::BrokenLaws => "LAWS says what the file may use: move the shared part into a folder that both may use",
            Self::ContextMethods => "Write a free function that takes the context, or a method of a smaller struct",
            Self::RepeatedTypeNames => "Give the new type a name that no other type of the crate has",
            Self::OneWordFunctions => "Name the new functions by a verb phrase",
            Self::VagueCommentLines => "Rewrite the new comments with a concrete noun as the subject of each sentence",
            Self::LongModuleDocs => "Shorten the module doc; reasons belong to the items",
            Self::LongFiles => "Split the file by subject",
        }
    }

    /// The value as a person reads it.
    fn format_value(self, value: usize) -> String {
        if self.is_share() { format!("{}.{} %", value / 10, value % 10) } else { value.to_string() }
    }

    fn measure(self, code: &Codebase) -> Measurement {
        match self {
            Self::FilesInCycles(folder) => measure_cycles(code, |file| file.is_below(folder)),
            Self::FilesInCyclesElsewhere => measure_cycles(code, |file| {
                !LIMITS.iter().any(|row| matches!(row.figure, Self::FilesInCycles(folder) if file.is_below(folder)))
            }),
            Self::BrokenLaws => measure_places(code, |file| find_broken_laws(code, file, LAWS)),
            Self::ContextMethods => measure_places(code, |file| file.syntax.context_methods.clone()),
            Self::RepeatedTypeNames => measure_repeated_types(code),
            Self::OneWordFunctions => {
                let all = select_counted_files(code).map(|file| file.syntax.functions.len()).sum();
                measure_places(code, find_one_word_functions).into_share_of(all)
            }
            Self::VagueCommentLines => {
                let all = select_counted_files(code).map(|file| file.comments.all).sum();
                let lines = |file: &SourceFile| file.comments.vague.iter().map(ToString::to_string).collect();
                measure_places(code, lines).into_share_of(all)
            }
            Self::LongModuleDocs => measure_long_files(code, MAX_DOC_LINES, |file| {
                if LONG_DOC_FILES.contains(&file.path.as_str()) { 0 } else { file.doc_lines }
            }),
            Self::LongFiles => measure_long_files(code, MAX_LINES, |file| file.lines),
        }
    }
}

impl Measurement {
    /// The share in tenths of a percent.
    fn into_share_of(self, all: usize) -> Self {
        Self { value: self.value * 1000 / all.max(1), ..self }
    }
}

/// The files that count in figures. Tests do not count, and the simulation is not read at all.
fn select_counted_files(code: &Codebase) -> impl Iterator<Item = &SourceFile> {
    code.files.iter().filter(|file| !file.is_test)
}

/// A constructor is `new` by convention, so that it does not count.
fn find_one_word_functions(file: &SourceFile) -> Vec<String> {
    let is_one_word = |name: &&String| !name.trim_matches('_').contains('_') && *name != "new";
    file.syntax.functions.iter().filter(is_one_word).cloned().collect()
}

fn measure_cycles(code: &Codebase, belongs: impl Fn(&SourceFile) -> bool) -> Measurement {
    let cycles = code.find_cycles(belongs);
    let places = cycles.iter().map(|cycle| format!("cycle of {}: {}", cycle.len(), cycle.join(" "))).collect();
    Measurement { value: cycles.iter().map(Vec::len).sum(), places }
}

fn measure_repeated_types(code: &Codebase) -> Measurement {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in select_counted_files(code) {
        for name in &file.syntax.types {
            places.entry(name).or_default().push(&file.path);
        }
    }
    places.retain(|name, files| files.len() > 1 && !REPEATABLE_TYPE_NAMES.contains(name));
    let list = places.iter().map(|(name, files)| format!("{name}: {}", files.join(" "))).collect();
    Measurement { value: places.len(), places: list }
}

/// Counts the names or lines that `find` finds in each file.
fn measure_places(code: &Codebase, find: impl Fn(&SourceFile) -> Vec<String>) -> Measurement {
    let found = select_counted_files(code).map(|file| (file, find(file))).filter(|(_, places)| !places.is_empty());
    let found: Vec<_> = found.collect();
    Measurement {
        value: found.iter().map(|(_, places)| places.len()).sum(),
        places: found.iter().map(|(file, places)| format!("src/{}: {}", file.path, places.join(" "))).collect(),
    }
}

fn measure_long_files(code: &Codebase, limit: usize, count: impl Fn(&SourceFile) -> usize) -> Measurement {
    let counts = select_counted_files(code).map(|file| (file, count(file))).filter(|(_, lines)| *lines > limit);
    let places: Vec<String> = counts.map(|(file, lines)| format!("src/{}: {lines} lines", file.path)).collect();
    Measurement { value: places.len(), places }
}

/// The message for a measurement that breaks its limit, with the fix.
fn check_limit(row: &RatchetLimit, measured: &Measurement) -> Result<(), String> {
    let RatchetLimit { figure, limit, goal } = row;
    let (name, was, is) = (figure.describe(), figure.format_value(*limit), figure.format_value(measured.value));
    if measured.value > *limit {
        let mut message = format!("{name} rose from {was} to {is} (goal: {goal}). {}. Found:", figure.suggest_fix());
        for place in &measured.places {
            let _ = write!(message, "\n  {place}");
        }
        return Err(message);
    }
    let tolerance = if figure.is_share() { TOLERANCE_IN_TENTHS } else { 1 };
    if measured.value + tolerance <= *limit {
        let value = measured.value;
        return Err(format!(
            "{name} fell from {was} to {is} (goal: {goal}): lower the limit to {value} in this commit, in LIMITS of \
             tests/e2e/architecture.rs"
        ));
    }
    Ok(())
}

/// A message for each import that breaks a rule.
fn find_forbidden_imports(code: &Codebase, rules: &[ImportRule], only_by: &[(&str, &[&str])]) -> BTreeSet<String> {
    let mut wrong = BTreeSet::new();
    for file in code.files.iter().filter(|file| !["", "crate"].contains(&file.module.as_str())) {
        let rules = select_rules(file, rules);
        if !rules.iter().any(|(_, rule)| rule.within == "crate") {
            wrong.insert(format!("src/{} has no rule: add a row to IMPORT_RULES and a line to lib.rs", file.path));
        }
        for path in code.resolve_paths(file) {
            let forms = BTreeSet::from([&path.written, &path.defined]);
            for (target, (own, rule)) in forms.iter().flat_map(|form| rules.iter().map(move |rule| (form, rule))) {
                let is_allowed = |allowed: &&str| is_below(target, allowed);
                if is_below(target, rule.within) && !is_allowed(own) && !rule.may_import.iter().any(is_allowed) {
                    wrong.insert(format!(
                        "src/{} must not import `{target}`: the rule for {own} in IMPORT_RULES",
                        file.path
                    ));
                }
            }
            for (target, (module, importers)) in
                forms.iter().flat_map(|form| only_by.iter().map(move |row| (form, row)))
            {
                let is_importer = importers.iter().chain([module]).any(|importer| file.is_below(importer));
                if is_below(target, module) && !is_importer {
                    wrong.insert(format!("src/{} must not import `{target}`: only {importers:?} may", file.path));
                }
            }
        }
    }
    wrong
}

/// The modules that a file uses against the laws.
fn find_broken_laws(code: &Codebase, file: &SourceFile, laws: &[ImportRule]) -> Vec<String> {
    let rules = select_rules(file, laws);
    let is_broken = |target: &str| {
        rules.iter().any(|(own, rule)| {
            // A law for a whole folder does not restrict the edges inside it, unless `within` is that folder.
            let is_own = if *own == rule.within { target == file.module } else { is_below(target, own) };
            is_below(target, rule.within) && !is_own && !rule.may_import.iter().any(|allowed| is_below(target, allowed))
        })
    };
    let targets = code.find_edges(file).into_iter().map(|at| code.files[at].module.clone());
    targets.filter(|target| is_broken(target)).collect()
}

/// The rules that hold for a file, each with the file's own module in it: for each `within`, the most specific one.
fn select_rules<'a>(file: &SourceFile, rules: &'a [ImportRule]) -> Vec<(&'static str, &'a ImportRule)> {
    let mut found: BTreeMap<&str, (&'static str, &ImportRule)> = BTreeMap::new();
    for rule in rules {
        for own in rule.of.iter().filter(|own| file.is_below(own)) {
            let entry = found.entry(rule.within).or_insert((own, rule));
            if own.len() > entry.0.len() {
                *entry = (own, rule);
            }
        }
    }
    found.into_values().collect()
}

/// The sources, read once for all tests. The simulation is left out: it may import everything, and counts in no figure.
static CODE: LazyLock<Codebase> = LazyLock::new(|| {
    let source = root().join("src");
    let mut paths = all_sources();
    paths.retain(|path| !path.starts_with(source.join("sim")) && *path != source.join("sim.rs"));
    paths.sort();
    let read = |path: &PathBuf| {
        let below = path.strip_prefix(&source).unwrap().to_str().unwrap();
        SourceFile::from_text(below, &std::fs::read_to_string(path).unwrap())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let files = std::thread::scope(|scope| {
        let parts = paths.chunks(paths.len().div_ceil(threads));
        let workers: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(read).collect::<Vec<_>>())).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    Codebase::from_files(files)
});

/// Checks the rows of `LIMITS` that `concerns` selects, and reports all of them that fail.
fn check_limits(concerns: impl Fn(Figure) -> bool) {
    let rows = LIMITS.iter().filter(|row| concerns(row.figure));
    let results: Vec<_> = rows.map(|row| check_limit(row, &row.figure.measure(&CODE))).collect();
    assert!(!results.is_empty(), "LIMITS has no row for this figure");
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_import_only_the_modules_that_they_may_import() {
    let wrong = find_forbidden_imports(&CODE, IMPORT_RULES, IMPORTED_ONLY_BY);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_is_declared_as_a_module() {
    let files = CODE.files.iter().filter(|file| file.module.is_empty());
    let lost: Vec<&str> = files.map(|file| file.path.as_str()).collect();
    assert!(lost.is_empty(), "no `mod` declares these files below src: declare or delete them: {lost:?}");
}

#[test]
fn the_rules_name_modules_and_files_that_exist() {
    let rules =
        IMPORT_RULES.iter().chain(LAWS).flat_map(|rule| rule.of.iter().chain([&rule.within]).chain(rule.may_import));
    let only_by = IMPORTED_ONLY_BY.iter().flat_map(|(module, importers)| importers.iter().chain([module]));
    let folders = LIMITS.iter().filter_map(|row| match &row.figure {
        Figure::FilesInCycles(folder) => Some(folder),
        _ => None,
    });
    for module in rules.chain(only_by).chain(folders).filter(|module| **module != "crate::sim") {
        assert!(CODE.has_module(module), "{module} does not exist: rename or remove its rows in this file");
    }
    for path in LONG_DOC_FILES {
        assert!(CODE.files.iter().any(|file| file.path == path), "src/{path} does not exist: correct LONG_DOC_FILES");
    }
}

#[test]
fn the_number_of_files_in_import_cycles_only_falls() {
    check_limits(|figure| matches!(figure, Figure::FilesInCycles(_) | Figure::FilesInCyclesElsewhere));
}

#[test]
fn the_number_of_edges_that_break_a_law_only_falls() {
    check_limits(|figure| figure == Figure::BrokenLaws);
}

#[test]
fn the_number_of_methods_of_the_context_only_falls() {
    check_limits(|figure| figure == Figure::ContextMethods);
}

#[test]
fn a_type_name_is_defined_once() {
    check_limits(|figure| figure == Figure::RepeatedTypeNames);
}

#[test]
fn the_share_of_one_word_function_names_only_falls() {
    check_limits(|figure| figure == Figure::OneWordFunctions);
}

#[test]
fn the_share_of_comment_lines_with_a_vague_word_only_falls() {
    check_limits(|figure| figure == Figure::VagueCommentLines);
}

#[test]
fn a_module_doc_has_at_most_three_lines() {
    check_limits(|figure| figure == Figure::LongModuleDocs);
}

#[test]
fn a_file_has_at_most_500_lines_before_its_tests() {
    check_limits(|figure| figure == Figure::LongFiles);
}
