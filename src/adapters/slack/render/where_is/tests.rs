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

fn in_environment(environment: &str, presence: CommitPresence) -> EnvironmentPresence {
    EnvironmentPresence { environment: EnvironmentName::new(environment), presence, unreadable: None }
}

fn artefact_locations(
    artefact: &str,
    environments: Vec<EnvironmentPresence>,
    prerequisite: Option<(&str, Prerequisite)>,
) -> ArtefactLocations {
    let prerequisite =
        prerequisite.map(|(environment, prerequisite)| (EnvironmentName::new(environment), prerequisite));
    ArtefactLocations { artefact: ArtefactName::new(artefact), environments, prerequisite }
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

fn present(seconds: i64) -> CommitPresence {
    CommitPresence::Present { since: at(seconds), problem: None }
}

fn absent() -> CommitPresence {
    CommitPresence::Absent { removal: None }
}

/// An artefact with the commit in the lower environments only.
fn partly_promoted(artefact: &str) -> ArtefactLocations {
    let prerequisite = Prerequisite::Promotion { below: EnvironmentName::new("qa"), problem: None };
    let environments = vec![
        in_environment("development", present(0)),
        in_environment("qa", present(3600)),
        in_environment("staging", absent()),
        in_environment("prod", absent()),
    ];
    artefact_locations(artefact, environments, Some(("staging", prerequisite)))
}

fn render_text(rendered: Rendered) -> String {
    let blocks = rendered
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
fn a_commit_in_no_environment_is_one_line() {
    let prerequisite = Prerequisite::Push { branch: "develop".to_owned() };
    let environments = vec![in_environment("development", absent()), in_environment("qa", absent())];
    let rendered = render_where_is(&CommitLocations {
        commit: None,
        ..found("", vec![artefact_locations("checkout", environments, Some(("development", prerequisite)))])
    });
    assert_eq!(rendered.text, "aaaaaaa is nowhere yet (checkout)");
    assert_snapshot!(render_text(rendered), @"
    `aaaaaaa`
    in `acme/checkout`
    *checkout*: in no environment yet: it waits to be merged into `develop` and deployed from there
    ");
}

#[test]
fn a_commit_in_some_environments_shows_times_and_the_next_step() {
    let rendered = render_where_is(&found("Round totals (#42)", vec![partly_promoted("checkout")]));
    assert_eq!(rendered.text, "aaaaaaa is in development, qa (checkout)");
    assert_snapshot!(render_text(rendered), @"
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
fn every_presence_and_every_prerequisite_has_a_text() {
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
        artefact_locations(
            "a",
            vec![
                in_environment("one", CommitPresence::Present { since: None, problem: trouble.clone() }),
                in_environment("two", CommitPresence::RollingOut { ready: 1, wanted: 3 }),
                in_environment("three", CommitPresence::NoWorkload),
            ],
            Some(("three", Prerequisite::Promotion { below: environment("two"), problem: trouble.clone() })),
        ),
        artefact_locations(
            "b",
            vec![
                in_environment("one", present(0)),
                in_environment("two", CommitPresence::Absent { removal: Some(back) }),
            ],
            Some(("two", Prerequisite::Repair { below: environment("one") })),
        ),
        artefact_locations(
            "c",
            vec![
                in_environment("one", absent()),
                in_environment("two", CommitPresence::Absent { removal: Some(CodeRemoval::default()) }),
                in_environment("three", present(0)),
            ],
            Some(("one", Prerequisite::BackMerge { branch: "develop".to_owned() })),
        ),
        artefact_locations(
            "d",
            vec![
                EnvironmentPresence {
                    unreadable: Some("connection refused".to_owned()),
                    ..in_environment("one", present(0))
                },
                in_environment(
                    "two",
                    CommitPresence::Unknown { reason: "nothing tells which commit build-7 is of".to_owned() },
                ),
                in_environment("three", absent()),
            ],
            Some((
                "three",
                Prerequisite::Change { id, stage_text: "waiting for approval", contains_commit: Some(true) },
            )),
        ),
        artefact_locations(
            "e",
            vec![in_environment("one", present(0)), in_environment("two", absent())],
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
fn a_long_answer_is_truncated_with_a_note() {
    let subject = format!("<!channel> \u{202e}Округлити підсумки 🧮 {}", "довго ".repeat(400));
    let mut many = found(&subject, (0..12).map(|nth| partly_promoted(&format!("part-{nth:03}"))).collect());
    let environments = ["development", "qa", "staging", "prod"];
    many.tally = Some(Tally {
        artefacts: 200,
        environments: environments
            .iter()
            .enumerate()
            .map(|(index, name)| (EnvironmentName::new(name), 200 - index * 40, 200))
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
fn several_matches_lead_to_a_choice() {
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
fn a_failed_search_has_the_next_step() {
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
