//! Helpers of tests on rollbacks by branch: trees, parents, cards, and commits replaced by names.

use std::collections::BTreeMap;

use gantry::domain::model::version::Sha;

use crate::harness::world::{World, redact_origin_and_ids};

pub(crate) const REPOSITORY: &str = "acme/checkout";

pub(crate) fn head(world: &World, branch: &str) -> Sha {
    world.sim.github.head(REPOSITORY, branch).expect("a branch")
}

pub(crate) fn parents(world: &World, commit_sha: &Sha) -> Vec<Sha> {
    let graph = world.sim.github.graph(REPOSITORY, 1000);
    graph.into_iter().find(|commit| commit.sha == *commit_sha).expect("a commit").parents
}

/// All files of a commit with the hashes of their contents.
pub(crate) fn tree(world: &World, commit: &Sha) -> BTreeMap<String, Sha> {
    world.sim.github.files(REPOSITORY, commit).expect("a commit")
}

/// The text of the artefact's file in a commit.
pub(crate) fn text(world: &World, commit: &Sha) -> String {
    world.sim.github.read_file(REPOSITORY, commit, "src/checkout.txt").expect("the file")
}

/// Replaces these commits by names, because Gantry's commits differ in each run.
pub(crate) fn redact_commits(world: &World, text: &str, shas: &[(&Sha, &str)]) -> String {
    let text = shas.iter().fold(text.to_owned(), |text, (sha, name)| {
        text.replace(sha.as_str(), &format!("<{name}>")).replace(sha.short(), &format!("<{name}>"))
    });
    redact_origin_and_ids(world, &text)
}

/// The newest card in a channel.
pub(crate) fn card(world: &World, channel: &str) -> String {
    let cards = world.public_messages(channel).into_iter().rfind(|text| text.contains("asked by"));
    cards.unwrap_or_else(|| panic!("no card in {channel}: {:#?}", world.public_messages(channel)))
}

/// The number of Gantry's rollback commits.
pub(crate) fn rollbacks(world: &World) -> usize {
    let graph = world.sim.github.graph(REPOSITORY, 1000);
    graph.iter().filter(|commit| commit.subject.starts_with("Roll checkout back to ")).count()
}
