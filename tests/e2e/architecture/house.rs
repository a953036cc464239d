//! House rules: a library's types stay in one folder, the top level stays small, each file has a module doc, and spans
//! have the highest level. `architecture.rs` has the rules on imports and names.

use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

pub(crate) fn all_sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    sources(&root().join("src"), &mut found);
    assert!(found.len() > 40, "the sources are where this test looks");
    found
}

/// The part of the program that a file belongs to, as in `slack` for `src/adapters/slack/render/list.rs`.
pub(crate) fn top_module(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).unwrap();
    let mut names = below.components().map(|name| name.as_os_str().to_str().unwrap());
    let part = names.find(|name| *name != "adapters").unwrap();
    part.trim_end_matches(".rs").to_owned()
}

#[test]
fn types_of_a_library_are_used_only_in_the_folder_that_wraps_it() {
    let homes = [
        ("slack_morphism", "slack"),
        ("octocrab", "github"),
        ("kube", "cluster"),
        ("k8s_openapi", "cluster"),
        ("oci_client", "registry"),
        ("sqlx", "store"),
        ("git2", "sim"),
        ("prometheus_client", "telemetry"),
    ];
    let mut wrong = Vec::new();
    for path in all_sources() {
        let part = top_module(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        for (library, home) in homes {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let used = code.clone().any(|line| line.contains(&format!("{library}::")));
            if used && part != home && part != "sim" {
                wrong.push(format!("{} uses {library}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_has_a_module_doc() {
    let mut all = all_sources();
    all.retain(|path| !std::fs::read_to_string(path).unwrap().starts_with("//!"));
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn the_top_level_has_only_the_expected_files() {
    let expected = [
        ".ci",
        ".git",
        ".github",
        ".gitignore",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "clippy.toml",
        "config",
        "deny.toml",
        "deploy",
        "docs",
        // A failed property test leaves this folder behind; Git ignores it.
        "proptest-regressions",
        "rust-toolchain.toml",
        "rustfmt.toml",
        "src",
        "target",
        "tests",
    ];
    let here = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let surplus: Vec<_> = here.filter(|name| !expected.contains(&name.as_str())).collect();
    assert!(surplus.is_empty(), "{surplus:?} do not belong at the top");
}

/// The ids of a log line come from the spans around it. A span that a filter removes takes its ids away from the lines
/// that pass the filter.
#[test]
fn every_span_has_the_highest_level() {
    for path in all_sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for lower in ["warn_span!", "info_span!", "debug_span!", "trace_span!"] {
            assert!(!code.contains(lower), "{}: {lower}", path.display());
        }
    }
}

/// A write to Git that must not happen twice is called in one file only, and each function there consumes a
/// `WriteAhead`.
#[test]
fn every_write_to_git_takes_a_write_ahead() {
    let writes = ["merge_into_branch(", "merge_pull_request(", "fast_forward(", "create_tag("];
    let home = root().join("src/workflow/changes/git_writes.rs");
    let mut wrong = Vec::new();
    for path in all_sources().into_iter().filter(|path| top_module(path) == "workflow") {
        let text = std::fs::read_to_string(&path).unwrap();
        for write in writes {
            let is_called = text.contains(&format!(".github.{write}"));
            if is_called != (path == home) {
                wrong.push(format!("{}: {write}", path.display()));
            }
        }
        for function in text.split("pub(crate) async fn ").skip(1).filter(|_| path == home) {
            let signature = function.split_once('{').map_or(function, |(signature, _)| signature);
            if !signature.contains("WriteAhead") {
                wrong.push(format!("{}: {signature}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A path in `docs/architecture.md` is relative to the project, `src`, `src/workflow`, `src/adapters` or
/// `src/adapters/slack`.
#[test]
fn the_architecture_page_names_only_files_that_exist() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let is_path = |name: &&str| name.contains('/') && !name.contains(['<', ' ']) && !name.starts_with('/');
    let named: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_path).collect();
    let folders = ["", "src", "src/workflow", "src/adapters", "src/adapters/slack"];
    let exists = |name: &str| {
        folders
            .iter()
            .map(|folder| root().join(folder).join(name))
            .any(|path| path.exists() || path.with_extension("rs").exists())
    };
    let missing: Vec<&str> = named.iter().copied().filter(|name| !exists(name)).collect();
    assert!(missing.is_empty() && named.len() > 50, "docs/architecture.md names files that do not exist: {missing:?}");
}
