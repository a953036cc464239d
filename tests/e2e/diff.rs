//! `diff`: what differs between two environments, and what to do about it.

use std::collections::BTreeMap;

use gantry::sim::faults::Fault;
use insta::assert_snapshot;

use crate::town::{Town, plain};

fn file(name: &str, text: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(name.to_owned(), Some(text.to_owned()))])
}

#[tokio::test]
async fn the_commits_between_two_environments_are_shown_with_what_to_do() {
    let town = Town::open().await;
    town.alice().types("/diff development qa checkout").await;
    assert_snapshot!(plain(&town, &town.alice().sees()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://town/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    ");
}

#[tokio::test]
async fn asked_the_other_way_round_it_says_which_is_behind() {
    let town = Town::open().await;
    town.alice().types("/diff qa development checkout").await;
    assert_snapshot!(plain(&town, &town.alice().sees()), @"
    *checkout*: *qa* is behind *development* by 1 commit.
    *qa* runs `qa-6cff9ae` for 21 h · branch `qa` is at `6cff9ae`
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://town/sim/github/acme/checkout/compare/6cff9aebe9cfa6bf18e82fa05218364d77b382eb...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    ");
}

#[tokio::test]
async fn all_artefacts_are_shown_in_lines() {
    let town = Town::open().await;
    town.alice().types("/diff development prod").await;
    assert_snapshot!(plain(&town, &town.alice().sees()), @"
    1 of 4 artefacts differs between *development* and *prod*.
    artefact | development in Git | runs in development | runs in prod | between
    checkout | d6c66c2 | develop-d6c66c2 · 23 h | prod-0702d4d · 19 h | 3 commits, 1 file
    The same in both: mailer, search, storefront
    To bring them up to date: `/promote checkout qa`
    One in full: `/diff development prod checkout`
    ");
}

#[tokio::test]
async fn nothing_different_is_one_line() {
    let town = Town::open().await;
    town.alice().types("/diff qa staging search").await;
    assert_snapshot!(plain(&town, &town.alice().sees()), @"*search*: *qa* and *staging* run the same code.");
    town.alice().types("/diff qa qa").await;
    assert_snapshot!(plain(&town, &town.alice().sees()), @"*qa* is the same as itself. Name two environments: `/diff staging prod`.");
}

#[tokio::test]
async fn what_is_merged_and_not_deployed_is_seen() {
    let town = Town::open().await;
    town.sim.faults.arm(Fault::SlowRollout, 1, Some("checkout".into()), Some("development".into()));
    town.push("checkout", "Round totals (#42)");
    town.alice().types("/diff development qa checkout").await;
    assert_snapshot!(plain(&town, &town.alice().sees()), @"
    :large_green_circle: *checkout* `develop-755103f` runs in *development*
    <http://town/sim/github/acme/checkout/commit/755103f1c0406360cb6390db6cc771f15bb1aba0|755103f> Round totals (#42) · Alice Adler · rolled out in 30 s
    Next: `/promote checkout qa`
    [Promote]
    ");
}

#[tokio::test]
async fn hotfixes_that_only_the_target_has_are_shown() {
    let town = Town::open().await;
    town.sim.push("checkout", "qa", "Stop the bleeding <!channel>", file("hotfix.txt", "x"), "bob").unwrap();
    town.settle().await;
    town.alice().types("/diff development qa checkout").await;
    assert_snapshot!(plain(&town, &town.alice().sees()), @"
    *checkout*: 1 commit is in *development* and not in *qa*.
    *development* runs `develop-d6c66c2` for 23 h · branch `develop` is at `d6c66c2`
    *qa* runs `qa-f5d0030` for 0 s · branch `qa` is at `f5d0030`
    • <http://town/sim/github/acme/checkout/commit/d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|d6c66c2> Retry the payment provider once · <@U0ALICE>
    <http://town/sim/github/acme/checkout/compare/f5d00300020823dff0bc6de64b42017cf417c776...d6c66c2f13606f6cbdb09fd7d44aa81134ac7fbf|compare on GitHub>
    :warning: 1 hotfix is only in *qa*, and not below
    • <http://town/sim/github/acme/checkout/commit/f5d00300020823dff0bc6de64b42017cf417c776|f5d0030> Stop the bleeding &lt;!channel&gt; · <@U0BOB>
    1 file, +1 −0
    • `src/checkout.txt` +1 −0
    To bring it there: `/promote checkout qa`
    ");
}
