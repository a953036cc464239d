//! `rollback` by branch, as the one who types it sees it, and as Git and the cluster then hold it.

use std::collections::BTreeMap;

use gantry::domain::version::Sha;
use gantry::sim::faults::Fault;
use gantry::sim::github::{When, Whim};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::town::{Town, has_button, plain, shown};

const REPOSITORY: &str = "acme/checkout";

fn head(town: &Town, branch: &str) -> Sha {
    town.sim.github.head(REPOSITORY, branch).expect("a branch")
}

fn parents(town: &Town, of: &Sha) -> Vec<Sha> {
    let graph = town.sim.github.graph(REPOSITORY, 100);
    graph.into_iter().find(|commit| commit.sha == *of).expect("a commit").parents
}

/// What the artefact's own file holds at a commit.
fn text(town: &Town, at: &Sha) -> String {
    town.sim.github.read_file(REPOSITORY, at, "src/checkout.txt").expect("the file")
}

/// With our own commits masked: their names are chance.
fn masked(town: &Town, text: &str, shas: &[(&Sha, &str)]) -> String {
    let text = shas.iter().fold(text.to_owned(), |text, (sha, name)| {
        text.replace(sha.as_str(), &format!("<{name}>")).replace(sha.short(), &format!("<{name}>"))
    });
    plain(town, &text)
}

#[tokio::test]
async fn a_rollback_brings_back_the_code_that_ran_before() {
    let town = Town::open().await;
    let good = head(&town, "qa");
    town.alice().types("/promote checkout qa").await;
    let bad = head(&town, "qa");

    let ack = town.bob().types("/rollback checkout qa --reason totals are wrong").await;
    assert_eq!(ack, "Looking at what ran before of *checkout* in *qa*...");

    let result = head(&town, "qa");
    assert_eq!(parents(&town, &result), [bad.clone()], "one forward commit");
    assert_eq!(text(&town, &result), text(&town, &good), "with the tree of what ran before");
    assert!(town.running("checkout", "qa").ends_with(result.short()), "and the cluster runs it");

    let told = town.channel("deploys");
    let card = told.iter().find(|card| card.contains("'s code")).expect("the card");
    assert_snapshot!(masked(&town, card, &[(&result, "result"), (&bad, "bad")]), @"
    :large_green_circle: *checkout* `qa-6cff9ae`'s code, restored as `qa-<result>`: running in *qa*, 2 of 2 ready
    :white_check_mark: restored on `qa` as <http://town/sim/github/acme/checkout/commit/<result>|<result>> · 0 s
    :white_check_mark: tagged `qa/2026.11.16-2` · 0 s
    :white_check_mark: rolled out · 5 s · known by the image's tag
    `qa-<bad>` → `qa-6cff9ae`, commit `6cff9ae` · <http://town/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...<bad>|compare>
    I saw it run well there from <!date^1794744000^{date_short_pretty} {time}|2026-11-15 12:00 UTC> to <!date^1794819602^{date_short_pretty} {time}|2026-11-16 09:00 UTC>, for 21 h
    *Reason:* totals are wrong
    *Lost by it:* 1 commit:
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · Alice Adler
    Quarantined: `qa-<bad>` does not come back here or above before `/gantry release checkout qa-<bad>`. The next promotion asks once more.
    asked by <@U0BOB> · <!date^1794819605^{date_short_pretty} {time}|2026-11-16 09:00 UTC> · change `<id>`
    ");
    let lost = told.iter().find(|said| said.contains("your commits")).expect("a word to the authors");
    assert_snapshot!(plain(&town, lost), @"
    <@U0ALICE> your commits do not run in *qa* any more: *checkout* was rolled back to `qa-6cff9ae`. Reason: totals are wrong.
    Next: push a repair; once it runs below, `/promote checkout qa` brings your commits back together with it.
    ");
    let promoted = told.iter().find(|card| card.contains("Rolled back")).expect("the card of the promotion");
    assert!(!promoted.contains("[Roll back]"), "{promoted}");
}
