//! The answer to `where` from the smallest to the largest size.

use insta::assert_snapshot;
use jiff::Timestamp;

use super::*;
use crate::domain::change::PullRequestRef;
use crate::domain::model::actor::PersonId;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::sample;
use crate::domain::view::where_is::Tally;

#[expect(clippy::unnecessary_wraps, reason = "as the answers have it")]
fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp::from_second(1_763_283_600 + seconds).unwrap())
}

fn rung(environment: &str, standing: CommitPresence) -> EnvironmentPresence {
    EnvironmentPresence { environment: EnvironmentName::new(environment), presence: standing, unreadable: None }
}

fn places(artefact: &str, rungs: Vec<EnvironmentPresence>, waits: Option<(&str, Prerequisite)>) -> ArtefactLocations {
    let waits = waits.map(|(environment, waits)| (EnvironmentName::new(environment), waits));
    ArtefactLocations { artefact: ArtefactName::new(artefact), environments: rungs, prerequisite: waits }
}

fn found(subject: &str, artefacts: Vec<ArtefactLocations>) -> CommitLocations {
    let commit = sample::commit('a', subject);
    CommitLocations {
        repository: "acme/checkout".parse().unwrap(),
        sha: commit.sha.clone(),
        commit: Some(commit),
        artefacts,
        tally: None,
    }
}

fn runs(seconds: i64) -> CommitPresence {
    CommitPresence::Present { since: at(seconds), problem: None }
}

fn not() -> CommitPresence {
    CommitPresence::Absent { removal: None }
}

/// An artefact with the commit in the lower environments only.
fn climbing(artefact: &str) -> ArtefactLocations {
    let waits = Prerequisite::Promotion { below: EnvironmentName::new("qa"), problem: None };
    let rungs = vec![rung("development", runs(0)), rung("qa", runs(3600)), rung("staging", not()), rung("prod", not())];
    places(artefact, rungs, Some(("staging", waits)))
}

fn render_text(said: Rendered) -> String {
    let blocks = said
        .into_message(crate::domain::model::message::Destination::Edit {
            key: crate::domain::model::message::MessageKey::new("x"),
        })
        .blocks;
    let text = |value: &serde_json::Value| value["text"].as_str().unwrap_or_default().to_owned();
    let lines = blocks.iter().map(|block| match block["type"].as_str() {
        Some("section") => text(&block["text"]),
        Some("context") => text(&block["elements"][0]),
        _ => {
            let labels = block["elements"].as_array().into_iter().flatten();
            labels.map(|one| format!("[{} -> {}]", text(&one["text"]), one["value"])).collect::<Vec<_>>().join(" ")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_nowhere_is_one_line() {
    let waits = Prerequisite::Push { branch: "develop".to_owned() };
    let rungs = vec![rung("development", not()), rung("qa", not())];
    let said = render_where_is(&CommitLocations {
        commit: None,
        ..found("", vec![places("checkout", rungs, Some(("development", waits)))])
    });
    assert_eq!(said.text, "aaaaaaa is nowhere yet (checkout)");
    assert_snapshot!(render_text(said), @"
    `aaaaaaa`
    in `acme/checkout`
    *checkout*: in no environment yet: it waits to be merged into `develop` and deployed from there
    ");
}

#[test]
fn what_climbs_says_since_when_and_what_it_waits_for() {
    let said = render_where_is(&found("Round totals (#42)", vec![climbing("checkout")]));
    assert_eq!(said.text, "aaaaaaa is in development, qa (checkout)");
    assert_snapshot!(render_text(said), @"
    <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa> Round totals · Alice Adler · <https://github.com/acme/checkout/pull/42|#42>
    in `acme/checkout`
    *checkout*
    :white_check_mark: in *development* since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    :white_check_mark: in *qa* since <!date^1763287200^{date_short_pretty} {time}|2025-11-16 10:00 UTC>
    :heavy_minus_sign: not in *staging* yet: it waits for `/promote checkout staging`, which takes what runs well in *qa*
    :heavy_minus_sign: not in *prod* yet
    ");
}

#[test]
fn every_standing_and_every_wait_has_its_words() {
    let id = ChangeId::parse("01939f3e-5c00-7000-8000-00000badcafe").unwrap();
    let other = ChangeId::parse("01939f3e-5c00-7000-8000-00000badbeef").unwrap();
    let back = CodeRemoval {
        by: Some(PersonId::new("U0BOB")),
        at: at(7200),
        reason: Some("totals <!channel> are wrong.".to_owned()),
    };
    let trouble = Some("CrashLoopBackOff".to_owned());
    let environment = EnvironmentName::new;
    let all = vec![
        places(
            "a",
            vec![
                rung("one", CommitPresence::Present { since: None, problem: trouble.clone() }),
                rung("two", CommitPresence::RollingOut { ready: 1, wanted: 3 }),
                rung("three", CommitPresence::NoWorkload),
            ],
            Some(("three", Prerequisite::Promotion { below: environment("two"), problem: trouble.clone() })),
        ),
        places(
            "b",
            vec![rung("one", runs(0)), rung("two", CommitPresence::Absent { removal: Some(back) })],
            Some(("two", Prerequisite::Repair { below: environment("one") })),
        ),
        places(
            "c",
            vec![
                rung("one", not()),
                rung("two", CommitPresence::Absent { removal: Some(CodeRemoval::default()) }),
                rung("three", runs(0)),
            ],
            Some(("one", Prerequisite::BackMerge { branch: "develop".to_owned() })),
        ),
        places(
            "d",
            vec![
                EnvironmentPresence { unreadable: Some("connection refused".to_owned()), ..rung("one", runs(0)) },
                rung("two", CommitPresence::Unknown { why: "nothing tells which commit build-7 is of".to_owned() }),
                rung("three", not()),
            ],
            Some((
                "three",
                Prerequisite::Change { id, stage_text: "waiting for approval", contains_commit: Some(true) },
            )),
        ),
        places(
            "e",
            vec![rung("one", runs(0)), rung("two", not())],
            Some(("two", Prerequisite::Change { id: other, stage_text: "stalled", contains_commit: None })),
        ),
    ];
    let both = found("Round totals", all.clone());
    assert_eq!(both.find_single_change(), None, "two cards cannot be linked to");
    assert_snapshot!(render_text(render_where_is(&both)), @"
    <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa> Round totals · Alice Adler
    in `acme/checkout`
    *a*
    :red_circle: in *one*, where it does not run as it should: CrashLoopBackOff
    :hourglass_flowing_sand: rolling out in *two*, 1 of 3 ready
    :heavy_minus_sign: not in *three*, where nothing runs: it waits to run well in *two* (CrashLoopBackOff), then for `/promote a three`
    *b*
    :white_check_mark: in *one* since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    :leftwards_arrow_with_hook: not in *two*: it was rolled back there by <@U0BOB> <!date^1763290800^{date_short_pretty} {time}|2025-11-16 11:00 UTC> (totals &lt;!channel&gt; are wrong). It waits for a repair that runs in *one*, with which `/promote b two` brings it back
    *c*
    :heavy_minus_sign: not in *one*: it came past it, and waits to be merged into `develop` as well
    :leftwards_arrow_with_hook: not in *two*: it was rolled back there
    :white_check_mark: in *three* since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    *d*
    :white_check_mark: in *one* since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC> (what was last seen: the cluster cannot be read now, connection refused)
    :grey_question: not known for *two*: nothing tells which commit build-7 is of
    :heavy_minus_sign: not in *three* yet: change `0badcafe` brings it and is waiting for approval
    *e*
    :white_check_mark: in *one* since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    :heavy_minus_sign: not in *two* yet: change `0badbeef`, which may bring it, is stalled
    ");
    let one = found("Round totals", all[3..4].to_vec());
    assert_eq!(one.find_single_change(), Some(id));
    assert!(render_text(render_where_is(&one)).contains("(<{link}|its card>)"));
}

#[test]
fn a_long_answer_is_cut_and_says_so() {
    let subject = format!("<!channel> \u{202e}Округлити підсумки 🧮 {}", "довго ".repeat(400));
    let mut many = found(&subject, (0..12).map(|nth| climbing(&format!("part-{nth:03}"))).collect());
    let rungs = ["development", "qa", "staging", "prod"];
    many.tally = Some(Tally {
        artefacts: 200,
        environments: rungs
            .iter()
            .enumerate()
            .map(|(at, name)| (EnvironmentName::new(name), 200 - at * 40, 200))
            .collect(),
    });
    let text = render_text(render_where_is(&many));
    let lines: Vec<&str> = text.lines().collect();
    assert_snapshot!([&lines[..7], &["..."], &lines[lines.len() - 2..]].concat().join("\n"), @"
    <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa> &lt;!channel&gt; Округлити підсумки 🧮 довго довго довго довго довго довго довго…го довго довго довго довго довго довго довго довго довго довго довго довго  · Alice Adler
    in `acme/checkout`
    *part-000*
    :white_check_mark: in *development* since <!date^1763283600^{date_short_pretty} {time}|2025-11-16 09:00 UTC>
    :white_check_mark: in *qa* since <!date^1763287200^{date_short_pretty} {time}|2025-11-16 10:00 UTC>
    :heavy_minus_sign: not in *staging* yet: it waits for `/promote part-000 staging`, which takes what runs well in *qa*
    :heavy_minus_sign: not in *prod* yet
    ...
    :heavy_minus_sign: not in *prod* yet
    12 of 200 artefacts are shown; of all, as far as I know without asking GitHub, have it: 200 of 200 in development, 160 of 200 in qa, 120 of 200 in staging, 80 of 200 in prod. One of them: `/gantry where aaaaaaa &lt;artefact&gt;`
    ");
}

#[test]
fn whoever_means_one_of_several_is_asked() {
    let shop: Repository = "acme/shop".parse().unwrap();
    let commit = |digit: char, subject: &str| QueryMatch::Commit {
        repository: shop.clone(),
        sha: sample::sha(digit),
        commit: Some(sample::commit(digit, subject)),
    };
    let pull = PullRequestRef { number: 42, url: "https://github.com/acme/shop/pull/42".to_owned() };
    let open = QueryMatch::Unmerged {
        repository: shop.clone(),
        pull,
        title: "Ask <!here> twice".to_owned(),
        is_closed: false,
    };
    let all = [commit('a', "One (#42)"), commit('b', "Two"), open.clone(), commit('c', "Three")];
    assert_snapshot!(render_text(render_candidate_choice("42", &all, 3, Some(&ArtefactName::new("mailer")))), @r#"
    Which `42` is meant?
    1. <https://github.com/acme/checkout/commit/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|aaaaaaa> One · Alice Adler · <https://github.com/acme/checkout/pull/42|#42> in `acme/shop`
    2. <https://github.com/acme/checkout/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb|bbbbbbb> Two · Alice Adler in `acme/shop`
    3. <https://github.com/acme/shop/pull/42|acme/shop#42> Ask &lt;!here&gt; twice (not merged)
    [1. aaaaaaa in shop -> "where acme/shop@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa mailer"] [2. bbbbbbb in shop -> "where acme/shop@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb mailer"] [3. #42 in shop -> "where acme/shop#42 mailer"]
    and 1 more: name an artefact, or more digits, as in `/gantry where 4f1c2ab &lt;artefact&gt;`
    "#);
    assert_snapshot!(render_text(render_unmerged(&open)), @"<https://github.com/acme/shop/pull/42|acme/shop#42> Ask &lt;!here&gt; twice is not merged: it is nowhere yet.");
}

#[test]
fn what_is_not_found_says_what_to_do() {
    let mailer = ArtefactName::new("mailer");
    let shop: Repository = "acme/shop".parse().unwrap();
    assert_snapshot!(render_text(render_not_found("<!channel>", None, 3)), @"
    I find no commit, pull request or tag `&lt;!channel&gt;` in the 3 repositories that artefacts are built from.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    assert_snapshot!(render_text(render_not_found("4f1c2ab", Some(&mailer), 1)), @"
    I find no commit, pull request or tag `4f1c2ab` in the repository of *mailer*.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    assert_snapshot!(render_text(render_unparsable("https://example.com")), @"
    I can make no commit, pull request or tag of `https://example.com`.
    Next: `/gantry where 4f1c2ab`, `/gantry where #42 &lt;artefact&gt;`, or paste the address of the pull request or the commit.
    ");
    assert_snapshot!(render_text(render_commit_unknown("build-7", &mailer)), @"
    `build-7` is an image of *mailer* that I have seen, but nothing tells which commit it was built from.
    Next: name the commit itself; `/list mailer` shows what runs.
    ");
    assert_snapshot!(render_text(render_foreign_repository(Some(&shop), None)), @"
    No artefact is built from `acme/shop`.
    Next: `/list` shows which artefacts there are.
    ");
    assert_snapshot!(render_text(render_foreign_repository(Some(&shop), Some(&mailer))), @"
    *mailer* is not built from `acme/shop`.
    Next: `/list` shows which artefacts there are.
    ");
}
