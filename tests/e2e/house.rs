//! The house rules: who may import whom, what stands at the top, and that each file says what it is for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
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

/// The first name below `src`, as in `slack` for `src/slack/render/list.rs`.
pub(crate) fn part(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).unwrap();
    let first = below.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The parts of this crate that a file names, in `use` lines and in paths.
fn named(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            if let Some(group) = rest.strip_prefix('{') {
                let inner = group.split('}').next().unwrap_or_default();
                named.extend(inner.split(',').filter_map(|one| one.trim().split("::").next()).map(str::to_owned));
            } else {
                named.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
        }
    }
    named.remove("");
    named
}

const ADAPTERS: [&str; 7] = ["slack", "github", "cluster", "controller", "registry", "reports", "store"];

fn may_name(part: &str) -> Option<Vec<&'static str>> {
    let neutral = ["domain", "clock", "config", "http", "telemetry"];
    Some(match part {
        "domain" => vec!["domain"],
        "clock" | "http" => vec![],
        "telemetry" => vec!["clock", "telemetry"],
        "config" => vec!["domain", "config"],
        "workflow" => [&neutral[..], &ADAPTERS, &["workflow"]].concat(),
        // Only these build clients, so they may name everything.
        "app" | "main" | "sim" | "lib" => return None,
        adapter => {
            let own = ADAPTERS.iter().find(|known| **known == adapter);
            let own = own.unwrap_or_else(|| panic!("`src/{adapter}` has no rule: say in lib.rs who may import it"));
            [&neutral[..], &[own]].concat()
        }
    })
}

#[test]
fn nobody_imports_whom_they_must_not_know() {
    let mut wrong = Vec::new();
    for path in all_sources() {
        let part = part(&path);
        let Some(allowed) = may_name(&part) else { continue };
        for name in named(&std::fs::read_to_string(&path).unwrap()) {
            if !allowed.contains(&name.as_str()) {
                wrong.push(format!("{} names `{name}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_librarys_types_stay_in_the_folder_that_wraps_it() {
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
        let part = part(&path);
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
fn every_file_says_what_it_is_for() {
    let mut all = all_sources();
    all.retain(|path| !std::fs::read_to_string(path).unwrap().starts_with("//!"));
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn the_top_level_stays_small() {
    let expected = [
        ".ci",
        ".git",
        ".github",
        ".gitignore",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "clippy.toml",
        "config",
        "deny.toml",
        "deploy",
        // What a failed property test leaves behind; Git ignores it.
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

/// The ids of a line come from the spans around it: one that a filter leaves out takes them away from what it lets through.
#[test]
fn every_span_is_of_the_highest_level() {
    for path in all_sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for lower in ["warn_span!", "info_span!", "debug_span!", "trace_span!"] {
            assert!(!code.contains(lower), "{}: {lower}", path.display());
        }
    }
}
