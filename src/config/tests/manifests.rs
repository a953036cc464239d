//! Tests of the settings for manifests and rollbacks, valid and invalid, with the exact messages.

use super::{SMALL, problems, problems_after_replacing};
use crate::config::Config;
use crate::domain::model::artefact::Delivery;
use crate::domain::model::environment::PromotionMethod;
use crate::domain::model::version::Pin;

const WORKLOAD: &str = "    workload: deployment/checkout";
const FILE: &str = "repository: acme/gitops, file: 'envs/{environment}/app.yaml'";

/// The problems of the small file with these additional keys under `delivery.manifest`.
fn manifest_problems(extra_keys: &str) -> String {
    let line = format!("{WORKLOAD}\n    delivery:\n      manifest: {{ {FILE}{extra_keys} }}");
    problems_after_replacing(WORKLOAD, &line).replace("gantry.yaml:", "")
}

fn parse_delivery(extra_keys: &str) -> Delivery {
    let line = format!("{WORKLOAD}\n    delivery:\n      manifest: {{ {FILE}{extra_keys} }}");
    let config = Config::parse("gantry.yaml", &SMALL.replace(WORKLOAD, &line)).unwrap();
    config.catalogue.find_artefact("checkout").unwrap().delivery.clone()
}

#[test]
fn branch_path_and_pin_of_a_manifest_are_read() {
    let cases = [
        ("", None, None, Pin::Tag),
        (", pin: tag", None, None, Pin::Tag),
        (", pin: digest", None, None, Pin::Digest),
        (", path: image.tag", None, Some("image.tag"), Pin::Tag),
        (", path: 'images[0].newTag', branch: live", Some("live"), Some("images[0].newTag"), Pin::Tag),
        (", path: image.digest, pin: digest", None, Some("image.digest"), Pin::Digest),
    ];
    for (extra_keys, expected_branch, expected_path, expected_pin) in cases {
        let Delivery::Manifest { branch, path, pin, .. } = parse_delivery(extra_keys) else { panic!("{extra_keys}") };
        assert_eq!(
            (branch.as_deref(), path.as_deref(), pin),
            (expected_branch, expected_path, expected_pin),
            "{extra_keys}"
        );
    }
}

#[test]
fn problems_of_a_manifest_have_a_position() {
    let cases = [
        ", pin: sha",
        ", pin: Digest",
        ", pin: true",
        ", path: ''",
        ", path: image..tag",
        ", path: 'images[x].newTag'",
        ", path: [image, tag]",
        ", branch: 'no branch'",
        ", tag: latest",
    ];
    let messages: Vec<_> =
        cases.iter().map(|extra_keys| format!("{extra_keys}: {}", manifest_problems(extra_keys))).collect();
    insta::assert_snapshot!(messages.join("\n"), @r#"
    , pin: sha: 16:86: `pin` cannot be `sha`: use `tag` or `digest`
    , pin: Digest: 16:86: `pin` cannot be `Digest`: did you mean `digest`?
    , pin: true: 16:86: `pin` cannot be `true`: write `tag` or `digest`
    , path: '': 16:87: `` is not a path inside a file: write keys separated by dots and indices in brackets, for example `image.tag` or `images[0].newTag`
    , path: image..tag: 16:87: `image..tag` is not a path inside a file: write keys separated by dots and indices in brackets, for example `image.tag` or `images[0].newTag`
    , path: 'images[x].newTag': 16:87: `images[x].newTag` is not a path inside a file: write keys separated by dots and indices in brackets, for example `image.tag` or `images[0].newTag`
    , path: [image, tag]: 16:87: `path` cannot be a list: write text (in quotes if YAML would read it as another type), for example "image.tag"
    , branch: 'no branch': 16:89: `no branch` cannot be a branch: write its name as Git shows it, for example `develop`
    , tag: latest: 16:81: unknown key `tag`: the keys here are `branch`, `file`, `path`, `pin` and `repository`
    "#);
}

#[test]
fn rollback_settings_are_read_and_validated() {
    let read_policy = |extra_keys: &str| {
        let text = SMALL.replace("    branch: prod\n", &format!("    branch: prod\n{extra_keys}"));
        let config = Config::parse("gantry.yaml", &text).unwrap();
        let policy = &config.catalogue.ladder.find("prod").unwrap().policy;
        (policy.rollback_method, policy.auto_rollback)
    };
    assert_eq!(read_policy(""), (PromotionMethod::Merge, false));
    assert_eq!(read_policy("    rollback: direct\n    auto_rollback: false\n"), (PromotionMethod::Merge, false));
    assert_eq!(
        read_policy("    rollback: pull_request\n    auto_rollback: true\n"),
        (PromotionMethod::PullRequest, true)
    );

    let wrong = [
        ("prod", "rollback: merge"),
        ("prod", "rollback: pull-request"),
        ("prod", "auto_rollback: maybe"),
        ("prod", "auto_rollback: 1"),
        ("prod", "autorollback: true"),
        ("develop", "rollback: pull_request"),
        ("develop", "auto_rollback: true"),
        ("develop", "auto_rollback: false"),
    ];
    let messages: Vec<_> = wrong
        .iter()
        .map(|(branch, key)| {
            let line = format!("    branch: {branch}\n");
            let text = SMALL.replace(&line, &format!("{line}    {key}\n"));
            format!("{branch} {key}: {}", problems(&text).replace("gantry.yaml:", ""))
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"), @"
    prod rollback: merge: 9:15: `rollback` cannot be `merge`: use `direct` or `pull_request`
    prod rollback: pull-request: 9:15: `rollback` cannot be `pull-request`: did you mean `pull_request`?
    prod auto_rollback: maybe: 9:20: `auto_rollback` cannot be the text `maybe`: write `true` or `false`
    prod auto_rollback: 1: 9:20: `auto_rollback` cannot be the number 1: write `true` or `false`
    prod autorollback: true: 9:5: unknown key `autorollback`: did you mean `auto_rollback`?
    develop rollback: pull_request: 5:15: `rollback` has no effect on `development`, the lowest environment: remove it: pushes feed this environment, and nothing is promoted into it
    develop auto_rollback: true: 5:20: `auto_rollback` has no effect on `development`, the lowest environment: remove it: pushes feed this environment, and nothing is promoted into it
    develop auto_rollback: false: 5:20: `auto_rollback` has no effect on `development`, the lowest environment: remove it: pushes feed this environment, and nothing is promoted into it
    ");
}

#[test]
fn the_example_has_rollback_settings() {
    let config = Config::parse("config/gantry.yaml", include_str!("../../../config/gantry.yaml")).unwrap();
    let prod = &config.catalogue.ladder.find("prod").unwrap().policy;
    assert_eq!((prod.rollback_method, prod.auto_rollback), (PromotionMethod::PullRequest, false));
    let search = config.catalogue.find_artefact("search").unwrap();
    assert!(matches!(&search.delivery, Delivery::Manifest { pin: Pin::Tag, .. }), "{:?}", search.delivery);
}
