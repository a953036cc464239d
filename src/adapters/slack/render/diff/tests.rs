//! The answers to `diff` at their smallest, usual and largest size.

use insta::assert_snapshot;

use super::*;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::domain::git::commit_summary::FileSummary;
use crate::domain::git::comparison::ChangedFile;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::version::{Commit, Version};
use crate::domain::sample;

fn now() -> Timestamp {
    Timestamp::from_second(1_763_283_600).unwrap()
}

fn side(environment: &str, digit: char, git: GitState) -> DiffSide {
    let tag = format!("{environment}-{}", sample::sha(digit).short());
    DiffSide {
        environment: EnvironmentName::new(environment),
        running: Some(Version { tag: Some(tag.as_str().into()), digest: None, commit: Some(sample::sha(digit)) }),
        state: RolloutState::Running { ready: 2 },
        since: Some(now() - jiff::SignedDuration::from_hours(5)),
        git,
    }
}

fn branch(branch: &str, digit: char, undeployed: UndeployedCommits) -> GitState {
    GitState::Branch { branch: branch.to_owned(), head: sample::sha(digit), undeployed }
}

fn diff(result: DiffResult) -> Diff {
    let source = side("staging", 'a', branch("staging", 'a', UndeployedCommits::Nothing));
    let next = result
        .behind_environment()
        .map(|behind| NextPromotion { environment: behind.clone(), version: source.running.clone() });
    let target = side("prod", 'b', branch("prod", 'b', UndeployedCommits::Nothing));
    let artefact = ArtefactName::new("checkout");
    Diff { artefact, source, target, result, next_promotion: next, compared_commits: None, manifest_diff: None }
}

fn differs(drift: CommitSummary) -> DiffResult {
    let behind = (drift.commits_in_all > 0).then(|| EnvironmentName::new("prod"));
    DiffResult::Different { behind, drift: Box::new(drift), upper_is_newer: false }
}

fn usual() -> CommitSummary {
    let brings = vec![sample::commit('3', "Round"), sample::commit('4', "Round again")];
    CommitSummary {
        commits: vec![
            Commit { brings, login: Some("alice".to_owned()), ..sample::commit('c', "Round totals (#42)") },
            sample::commit('d', "Виправити суми \u{1f680}"),
        ],
        commits_in_all: 3,
        hotfixes: vec![Commit { author: "Bob".to_owned(), ..sample::commit('e', "Stop the bleeding") }],
        hotfixes_in_all: 1,
        hotfixes_cut: false,
        files: FileSummary {
            files: 3,
            additions: 12,
            deletions: 4,
            most: vec![ChangedFile { path: "src/totals.rs".to_owned(), previous: None, additions: 10, deletions: 4 }],
            concern: Some(1),
            cut: false,
        },
        url: Some("https://github.com/acme/checkout/compare/bbb...aaa".to_owned()),
    }
}

/// 250 commits of 2,000 characters each, 300 files, and attempts to inject mark-up.
fn largest() -> CommitSummary {
    let evil = "<!channel> <@U0EVIL> <http://evil|x> & *b* `c` \u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f9e8} Їжак "
        .repeat(40);
    let subject: String = evil.chars().take(2000).collect();
    let one = Commit { author: evil.chars().take(300).collect(), ..sample::commit('f', &subject) };
    CommitSummary {
        commits: vec![one.clone(); 20],
        commits_in_all: 250,
        hotfixes: vec![one; 20],
        hotfixes_in_all: 250,
        hotfixes_cut: true,
        files: FileSummary {
            files: 300,
            additions: 1_000_000,
            deletions: 1_000_000,
            cut: true,
            concern: None,
            most: (0..10)
                .map(|index| ChangedFile {
                    path: format!("{}/{index}", "дуже/довгий/шлях<!here>".repeat(20)),
                    previous: None,
                    additions: 100_000,
                    deletions: 100_000,
                })
                .collect(),
        },
        url: Some(format!("https://github.com/acme/checkout/compare/{}", "a".repeat(300))),
    }
}

fn read(rendered: &Rendered) -> String {
    let mut text = String::new();
    for block in rendered
        .clone()
        .into_message(crate::domain::model::message::Destination::Edit {
            key: crate::domain::model::message::MessageKey::new("x"),
        })
        .blocks
    {
        for pointer in ["/text/text", "/elements/0/text"] {
            if let Some(line) = block.pointer(pointer).and_then(|it| it.as_str()) {
                text += line;
                text.push('\n');
            }
        }
        for row in block["rows"].as_array().into_iter().flatten() {
            let cells: Vec<&str> =
                row.as_array().into_iter().flatten().filter_map(|cell| cell["text"].as_str()).collect();
            text += &cells.join(" | ");
            text.push('\n');
        }
    }
    text
}

fn render_one(diff: &Diff) -> String {
    let authors = Authors::from([("alice".to_owned(), crate::domain::model::actor::PersonId::new("U0ALICE"))]);
    read(&render_artefact_diff(diff, None, &sample::catalogue().ladder, &authors, now()).rendered)
}

#[test]
fn the_smallest_answer_is_one_line() {
    assert_snapshot!(render_one(&diff(DiffResult::Same)), @"*checkout*: *staging* and *prod* run the same code.");
    assert_snapshot!(render_one(&diff(DiffResult::NotInEnvironment(EnvironmentName::new("prod")))), @"*checkout* is not in *prod*.");
}

#[test]
fn the_usual_answer_has_commits_hotfixes_files_and_the_command() {
    assert_snapshot!(render_one(&diff(differs(usual()))), @"
    *checkout*: 3 commits are in *staging* and not in *prod*.
    *staging* runs `staging-aaaaaaa` for 5 h · branch `staging` is at `aaaaaaa`
    *prod* runs `prod-bbbbbbb` for 5 h · branch `prod` is at `bbbbbbb`
    • <https://github.com/acme/checkout/commit/cccccccccccccccccccccccccccccccccccccccc|ccccccc> Round totals · <@U0ALICE> · <https://github.com/acme/checkout/pull/42|#42> · 2 commits
    • <https://github.com/acme/checkout/commit/dddddddddddddddddddddddddddddddddddddddd|ddddddd> Виправити суми 🚀 · Alice Adler
    <https://github.com/acme/checkout/compare/bbb...aaa|compare on GitHub>
    :warning: 1 hotfix is only in *prod*, and not below
    • <https://github.com/acme/checkout/commit/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee|eeeeeee> Stop the bleeding · Bob
    3 files, +12 −4, of which 1 concerns it
    • `src/totals.rs` +10 −4
    To bring it there: `/promote checkout prod`
    ");
}

#[test]
fn commits_only_in_the_upper_environment_suggest_no_promotion() {
    let only = CommitSummary { commits: Vec::new(), commits_in_all: 0, files: FileSummary::default(), ..usual() };
    assert_snapshot!(render_one(&diff(differs(only))), @"
    *checkout*: *prod* has all of *staging*; 1 commit is only in *prod*.
    *staging* runs `staging-aaaaaaa` for 5 h · branch `staging` is at `aaaaaaa`
    *prod* runs `prod-bbbbbbb` for 5 h · branch `prod` is at `bbbbbbb`
    :warning: 1 hotfix is only in *prod*, and not below
    • <https://github.com/acme/checkout/commit/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee|eeeeeee> Stop the bleeding · Bob
    ");
}

#[test]
fn merged_commits_that_are_not_deployed_are_shown() {
    let mut waits = diff(DiffResult::Same);
    waits.source.git = branch("staging", 'c', UndeployedCommits::Commits(2));
    waits.target.git = GitState::Manifest {
        file: "envs/prod/kustomization.yaml".to_owned(),
        specified: Version { tag: Some("1.5".into()), ..Version::default() },
        is_running: false,
    };
    assert_snapshot!(render_one(&waits), @"
    *checkout*: *staging* and *prod* run the same code.
    *staging* runs `staging-aaaaaaa` for 5 h · branch `staging` is at `ccccccc`, :hourglass_flowing_sand: 2 commits merged, not deployed
    *prod* runs `prod-bbbbbbb` for 5 h · `envs/prod/kustomization.yaml` says `1.5`, :hourglass_flowing_sand: not deployed
    ");
    waits.source.git = branch("staging", 'c', UndeployedCommits::Diverged);
    waits.target.git = GitState::NoBranch { branch: "prod".to_owned() };
    waits.target.state = RolloutState::RollingOut { ready: 1, wanted: 3, delayed_by: None };
    assert_snapshot!(render_one(&waits), @"
    *checkout*: *staging* and *prod* run the same code.
    *staging* runs `staging-aaaaaaa` for 5 h · branch `staging` is at `ccccccc`, which is not what runs
    *prod* runs `prod-bbbbbbb`, rolling out 1/3 · there is no branch `prod`
    ");
}

#[test]
fn the_largest_answer_is_truncated_and_has_a_link() {
    let text = render_one(&diff(differs(largest())));
    let begins = |line: &str| line.chars().take(140).collect::<String>();
    let mut lines: Vec<String> = text.lines().map(begins).collect();
    lines.dedup();
    assert_snapshot!(lines.join("\n"), @"
    *checkout*: 250 commits are in *staging* and not in *prod*.
    *staging* runs `staging-aaaaaaa` for 5 h · branch `staging` is at `aaaaaaa`
    *prod* runs `prod-bbbbbbb` for 5 h · branch `prod` is at `bbbbbbb`
    • <https://github.com/acme/checkout/commit/ffffffffffffffffffffffffffffffffffffffff|fffffff> &lt;!channel&gt; &lt;@U0EVIL&gt; &lt;http://evi
    and 235 more · <https://github.com/acme/checkout/compare/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    :warning: 250 hotfixes are only in *prod*, and not below
    • <https://github.com/acme/checkout/commit/ffffffffffffffffffffffffffffffffffffffff|fffffff> &lt;!channel&gt; &lt;@U0EVIL&gt; &lt;http://evi
    and 247 more
    <https://github.com/acme/checkout/compare/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    300 files and more, which GitHub does not name, +1000000 −1000000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/0` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/1` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/2` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/3` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/4` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/5` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/6` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/7` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/8` +100000 −100000
    • `дуже/довгий/шлях&lt;!here&gt;дуже/довгий/шлях…гий/шлях&lt;!here&gt;дуже/довгий/шлях&lt;!here&gt;/9` +100000 −100000
    and 290 more
    To bring it there: `/promote checkout prod`
    ");
    assert!(text.contains("more · <https://github.com/acme/checkout/compare/"), "{text}");
    assert!(text.contains("300 files and more, which GitHub does not name"), "{text}");
}

#[test]
fn all_artefacts_have_rows() {
    let pair = (&EnvironmentName::new("staging"), &EnvironmentName::new("prod"));
    let ladder = sample::catalogue().ladder;
    let render = |diffs: &[Diff], count| read(&render_all_diffs(diffs, count, pair, 0, Viewer::Person, &ladder, now()));
    assert_snapshot!(render(&[], 0), @"Nothing is meant to be in *staging* and *prod*.");
    assert_snapshot!(render(&[diff(DiffResult::Same)], 1), @"*staging* and *prod* run the same code of 1 artefact.");
    let some = [diff(differs(usual())), diff(DiffResult::Same), diff(DiffResult::Unknown("GitHub is away".to_owned()))];
    assert_snapshot!(render(&some, 3), @"
    2 of 3 artefacts differ between *staging* and *prod*.
    artefact | staging in Git | runs in staging | runs in prod | between
    checkout | aaaaaaa | staging-aaaaaaa · 5 h | prod-bbbbbbb · 5 h | 3 commits, 1 only in prod, 3 files
    checkout | aaaaaaa | staging-aaaaaaa · 5 h | prod-bbbbbbb · 5 h | could not be compared
    The same in both: checkout
    To bring them up to date: `/promote checkout prod`
    One in full: `/diff staging prod checkout`
    ");
    assert_snapshot!(render(&some, 20), @"
    3 of 20 compared between *staging* and *prod*; the others follow.
    artefact | staging in Git | runs in staging | runs in prod | between
    checkout | aaaaaaa | staging-aaaaaaa · 5 h | prod-bbbbbbb · 5 h | 3 commits, 1 only in prod, 3 files
    checkout | aaaaaaa | staging-aaaaaaa · 5 h | prod-bbbbbbb · 5 h | could not be compared
    The same in both: checkout
    To bring them up to date: `/promote checkout prod`
    One in full: `/diff staging prod checkout`
    ");
}
