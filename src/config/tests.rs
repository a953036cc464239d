//! Tests of whole configuration files: their values and their error messages.

mod manifests;
mod wrong;

use std::path::Path;

use jiff::civil::{Time, Weekday, date};
use proptest::prelude::*;

use super::problem::Findings;
use super::*;
use crate::domain::model::actor::Member;
use crate::domain::model::artefact::Delivery;
use crate::domain::model::environment::{Approvals, Policy, PromotionMethod};
use crate::domain::model::freeze::{Period, WeekdayTime};

const EXAMPLE: &str = include_str!("../../config/gantry.yaml");

/// The smallest valid file. The tests derive invalid files from it.
const SMALL: &str = "\
slack: { channel: '#deploys' }
environments:
  - name: development
    branch: develop
    cluster: { namespace: development }
  - name: prod
    aliases: [production]
    branch: prod
    cluster: { namespace: prod }
artefacts:
  - name: checkout
    repository: acme/checkout
    image: ghcr.io/acme/checkout
    workload: deployment/checkout
";

fn problems(text: &str) -> String {
    match Config::parse("gantry.yaml", text) {
        Ok(_) => "nothing".to_owned(),
        Err(problems) => problems.iter().map(ConfigProblem::to_string).collect::<Vec<_>>().join("\n"),
    }
}

/// The problems of the small file after one line is replaced.
fn problems_after_replacing(line: &str, replacement: &str) -> String {
    assert_eq!(SMALL.matches(line).count(), 1, "{line:?} is one place of the small file");
    problems(&SMALL.replace(line, replacement))
}

#[test]
fn the_example_is_valid_and_has_the_expected_values() {
    let config = Config::parse("config/gantry.yaml", EXAMPLE).unwrap();
    assert_eq!(config.slack.api_url, "https://slack.com/api");
    assert_eq!(config.slack.hooks_origin, "https://hooks.slack.com");
    assert_eq!(config.slack.list_to, ListVisibility::Person);
    assert_eq!(config.github.api_url, "https://api.github.com");
    assert_eq!(config.registry, RegistryConfig { mirrors: BTreeMap::new(), docker_config: None });
    assert_eq!(config.kubeconfig, None);

    let environments = config.catalogue.ladder.environments();
    assert_eq!(
        environments.iter().map(|environment| environment.name.as_str()).collect::<Vec<_>>(),
        ["development", "qa", "staging", "prod"]
    );
    let prod = config.catalogue.ladder.find("Production").unwrap();
    assert_eq!(prod.namespace.to_string(), "shop in prod");
    assert_eq!(prod.channel, "#releases");
    assert_eq!(environments[0].channel, "#deploys");
    assert_eq!(prod.promotion_method, PromotionMethod::PullRequest);
    assert_eq!(prod.deploy_timeout, SignedDuration::from_mins(20));
    assert_eq!(environments[0].deploy_timeout, SignedDuration::from_mins(15));
    assert_eq!(config.look_every, SignedDuration::from_mins(1));

    let policy = &prod.policy;
    let managers = vec![Member::Handle("release-managers".to_owned())];
    assert_eq!(policy.approvals, Some(Approvals { required: 1, approvers: managers.clone() }));
    assert_eq!(policy.approval_timeout, SignedDuration::from_hours(8));
    assert_eq!(policy.overriders, managers);
    assert_eq!(policy.promoters, [Member::Handle("developers".to_owned())]);
    assert_eq!(policy.soak, Some(SignedDuration::from_mins(30)));
    assert_eq!(policy.stall_after, SignedDuration::from_mins(5));
    assert_eq!(config.webhook_secrets.get(&prod.name), Some(&SecretSource::Variable("FLUX_PROD_SECRET".to_owned())));
    assert!(
        matches!(config.triggers.get(&prod.name), Some(ReconcileTrigger::FluxReceiver(url)) if url.starts_with("https://flux."))
    );
    let moment = |weekday, hour| WeekdayTime { weekday, time: Time::constant(hour, 0, 0, 0) };
    let weekend = Period::Weekly { from: moment(Weekday::Friday, 16), to: moment(Weekday::Monday, 8) };
    let (from, to) = (date(2026, 12, 20).at(18, 0, 0, 0), date(2027, 1, 4).at(8, 0, 0, 0));
    let periods: Vec<Period> = policy.freezes.iter().map(|freeze| freeze.period).collect();
    assert_eq!(periods, [weekend, Period::Dated { from, to }]);
    assert_eq!(policy.freezes[0].timezone.iana_name(), Some("Europe/Kyiv"));
    assert_eq!(policy.freezes[0].reason.as_deref(), Some("weekend"));

    let names: Vec<&str> = config.catalogue.artefacts.iter().map(|artefact| artefact.name.as_str()).collect();
    assert_eq!(names, ["checkout", "mailer", "search", "storefront"]);
    let mailer = config.catalogue.find_artefact("mailer").unwrap();
    assert_eq!(mailer.places.len(), 3, "it is not in qa");
    assert_eq!(mailer.places[&environments[0].name].workloads.len(), 2);
    let place = &mailer.places[&prod.name];
    assert_eq!((place.namespace.to_string().as_str(), place.workloads.len()), ("mail in prod", 1));
    assert_eq!(place.workloads[0].to_string(), "statefulset/mailer-eu");
    let search = config.catalogue.find_artefact("search").unwrap();
    assert!(
        matches!(&search.delivery, Delivery::Manifest { repository, branch: None, .. } if repository.name() == "gitops")
    );
    let [rule] = &config.attribution_rules[..] else { panic!("{:?}", config.attribution_rules) };
    assert_eq!((rule.name.as_deref(), rule.artefacts.len(), rule.environments.len()), (Some("apps-*"), 2, 1));
    assert_eq!(config.github_logins[&PersonId::new("U024BE7LH")], "octocat");
    let channels = config.audience.subscribed_channels(&mailer.name, prod);
    let notified: Vec<_> = channels.iter().map(|channel| (channel.channel.as_str(), channel.states.len())).collect();
    assert_eq!(notified, [("#mail", 3), ("#alarms", 1)]);
}

#[test]
fn the_commented_settings_of_the_example_are_valid() {
    let uncommented: String = EXAMPLE
        .lines()
        .map(|line| match line.split_once("# ") {
            Some((indent, rest))
                if indent.trim().is_empty() && rest.contains(": ") && rest.starts_with(char::is_lowercase) =>
            {
                format!("{indent}{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(uncommented.contains("\n  api_url: https://slack.com/api"), "{uncommented}");
    let uncommented =
        uncommented.replace("# github:", "github:").replace("# registry:", "registry:").replace("#   ", "  ");
    let config = Config::parse("config/gantry.yaml", &uncommented).unwrap();
    assert_eq!(config.slack, Config::parse("config/gantry.yaml", EXAMPLE).unwrap().slack);
    assert_eq!(config.registry.mirrors["ghcr.io"], "https://mirror.example.com");
    assert_eq!(config.registry.docker_config, Some("/etc/gantry/docker/config.json".into()));
    assert_eq!(config.kubeconfig, Some("/etc/gantry/kubeconfig".into()));
    assert_eq!(config.look_every, SignedDuration::from_secs(30));
}

#[test]
fn attribution_rules_keep_their_order_and_resolve_environment_aliases() {
    let rules = "\
reports:
  - { kind: Kustomization, namespace: flux-system, name: 'apps-*', environments: [Production], artefacts: [checkout] }
  - { name: '*', artefacts: [checkout] }
";
    let config = Config::parse("gantry.yaml", &format!("{SMALL}{rules}")).unwrap();
    let [first, second] = &config.attribution_rules[..] else { panic!("{:?}", config.attribution_rules) };
    assert_eq!((first.kind.as_deref(), first.name.as_deref()), (Some("Kustomization"), Some("apps-*")));
    assert_eq!(first.environments, [EnvironmentName::new("prod")]);
    assert_eq!(first.artefacts, [crate::domain::model::artefact::ArtefactName::new("checkout")]);
    assert_eq!((second.namespace.as_deref(), second.environments.len()), (None, 0));
    assert_eq!(Config::parse("gantry.yaml", SMALL).unwrap().attribution_rules, []);
}

#[test]
fn the_smallest_file_is_valid() {
    assert_eq!(problems(SMALL), "nothing");
}

#[test]
fn an_environment_without_policy_keys_has_the_default_policy() {
    let config = Config::parse("gantry.yaml", SMALL).unwrap();
    let policy = &config.catalogue.ladder.find("prod").unwrap().policy;
    assert_eq!(policy.approval_timeout, SignedDuration::from_hours(24));
    assert_eq!(policy.approval_timeout, Policy::default().approval_timeout);
    assert_eq!((policy.approvals.as_ref(), policy.promoters.len(), policy.overriders.len()), (None, 0, 0));
}

#[test]
fn the_default_of_stall_after_is_shorter_than_deploy_timeout() {
    let stall_after = |keys: &str| {
        let text = SMALL.replace("    branch: prod\n", &format!("    branch: prod\n{keys}"));
        Config::parse("gantry.yaml", &text).unwrap().catalogue.ladder.find("prod").unwrap().policy.stall_after
    };
    assert_eq!(stall_after(""), SignedDuration::from_mins(5));
    assert_eq!(stall_after("    deploy_timeout: 1h\n"), SignedDuration::from_mins(5));
    assert_eq!(stall_after("    deploy_timeout: 90s\n"), SignedDuration::from_secs(30), "a third of it");
    assert_eq!(stall_after("    stall_after: 14m59s\n"), SignedDuration::from_secs(899));
}

#[test]
fn all_problems_are_reported_at_once_in_file_order() {
    let text = "\
slack: { chanel: '#deploys', list_to: chanel }
environments:
  - name: development
    brnach: develop
    cluster: { namespace: development }
  - name: prod
    branch: 7
    branch: prod
    cluster: prod
    approvals: { required: 0 }
artefacts:
  - name: checkout
    image: ghcr.io/acme/checkout
    workload: deployment/checkout
    delivery: banch
    colour: red
peple: {}
";
    insta::assert_snapshot!(problems(text), @r#"
    gantry.yaml:1:10: unknown key `chanel`: did you mean `channel`?
    gantry.yaml:1:39: `list_to` cannot be `chanel`: did you mean `channel`?
    gantry.yaml:4:5: unknown key `brnach`: did you mean `branch`?
    gantry.yaml:7:13: `branch` cannot be the number 7: write text (in quotes if YAML would read it as another type), for example "staging"
    gantry.yaml:8:5: `branch` is given twice: keep one; the first is on line 7
    gantry.yaml:9:14: `cluster` cannot be the text `prod`: write a block with `context` or `namespace`
    gantry.yaml:10:28: `required` cannot be 0: use a number from 1 to 20
    gantry.yaml:12:5: `repository` is missing in an item of `artefacts`: add it: the GitHub repository that the artefact is built from, for example "acme/checkout"
    gantry.yaml:15:15: `delivery` cannot be `banch`: did you mean `branch`?
    gantry.yaml:16:5: unknown key `colour`: the keys here are `container`, `delivery`, `environments`, `image`, `name`, `paths`, `repository` and `workload`
    gantry.yaml:17:1: unknown key `peple`: did you mean `people`?
    "#);
}

#[test]
fn invalid_values_are_reported_together_with_unknown_keys() {
    let text = SMALL
        .replace("slack: {", "slcak: {")
        .replace("acme/checkout", "checkout")
        .replace("/checkout\n", "/Checkout\n");
    insta::assert_snapshot!(problems(&text), @"
    gantry.yaml:1:1: unknown key `slcak`: did you mean `slack`?
    gantry.yaml:3:11: `development` has no channel: set `channel` here, or set `slack.channel` for all environments
    gantry.yaml:6:11: `prod` has no channel: set `channel` here, or set `slack.channel` for all environments
    gantry.yaml:12:17: `checkout` is not a repository: write `owner/name`
    gantry.yaml:13:12: `ghcr.io/Checkout` is not the name of an image: write registry and name in lower case, for example `ghcr.io/acme/checkout`
    gantry.yaml:14:15: `Checkout` cannot be the name of a workload: Kubernetes takes lower-case letters, digits, `-` and `.`
    ");
}

#[test]
fn environments_do_not_share_a_webhook_secret() {
    let with_secrets = |first: &str, second: &str| {
        let text = SMALL
            .replace("    branch: develop\n", &format!("    branch: develop\n    webhook_secret: {first}\n"))
            .replace("    branch: prod\n", &format!("    branch: prod\n    webhook_secret: {second}\n"));
        problems(&text)
    };
    assert_eq!(with_secrets("{ env: A }", "{ env: B }"), "nothing");
    assert_eq!(with_secrets("{ env: A }", "{ file: A }"), "nothing");
    assert_eq!(
        with_secrets("{ env: A }", "{ env: A }"),
        "gantry.yaml:10:28: two environments have the same webhook secret: line 5 has the same secret; each \
         environment needs its own"
    );
    assert_eq!(
        with_secrets("{ file: /run/a }", "{ file: /run/a }"),
        "gantry.yaml:10:29: two environments have the same webhook secret: line 5 has the same secret; each \
         environment needs its own"
    );
}

#[test]
fn a_ladder_has_at_least_two_environments() {
    let environment = |n: usize| format!("  - {{ name: e{n}, branch: b{n}, cluster: {{ namespace: n{n} }} }}\n");
    let ladder = |length: usize| {
        let environments = (0..length).map(environment).collect::<Vec<_>>().concat();
        let artefact = "[{ name: a, repository: a/a, image: a, workload: deployment/a }]";
        format!("slack: {{ channel: '#d' }}\nartefacts: {artefact}\nenvironments:\n{environments}")
    };
    assert_eq!(
        problems(&ladder(1)),
        "gantry.yaml:4:3: the ladder needs at least 2 environments and has 1: list them in order, lowest first: \
         pushes feed the first environment, promotions feed the others"
    );
    for length in [2, 7, 100] {
        let config = Config::parse("gantry.yaml", &ladder(length)).unwrap();
        assert_eq!(config.catalogue.ladder.environments().len(), length);
        assert_eq!(config.catalogue.artefacts[0].places.len(), length);
    }
}

#[test]
fn empty_missing_and_unreadable_files_are_reported() {
    assert_eq!(
        problems(""),
        "gantry.yaml: the file is empty: start from the commented example `config/gantry.yaml` in Gantry's repository"
    );
    assert_eq!(problems("# nothing but a comment\n"), problems(""));
    assert_eq!(
        problems("[]"),
        "gantry.yaml:1:1: the file cannot be a list: write a block with `artefacts`, `channels`, `environments`, `github`, \
         `kubeconfig`, `look_every`, `people`, `registry`, `reports` or `slack`"
    );
    let missing = Config::load(Path::new("/nowhere/gantry.yaml")).unwrap_err();
    assert_eq!(
        missing[0].to_string(),
        "/nowhere/gantry.yaml: the file does not exist: copy the commented example `config/gantry.yaml` from \
         Gantry's repository to this path and adapt it, or name another file with `--config`"
    );
    let directory = tempfile::tempdir().unwrap();
    assert!(Config::load(directory.path()).unwrap_err()[0].to_string().contains("directory"));
    let latin = directory.path().join("latin.yaml");
    std::fs::write(&latin, b"slack:\n  channel: '#\xe4'\n").unwrap();
    let problem = &Config::load(&latin).unwrap_err()[0];
    assert_eq!((problem.line, problem.column, problem.message.as_str()), (2, 14, "this is not UTF-8"));
    let with_byte_order_mark = directory.path().join("gantry.yaml");
    std::fs::write(&with_byte_order_mark, format!("\u{feff}{EXAMPLE}")).unwrap();
    assert_eq!(
        Config::load(&with_byte_order_mark).unwrap().github_logins.len(),
        1,
        "with a byte order mark, as some editors write it"
    );
}

#[test]
fn a_file_that_is_too_large_or_too_deep_is_refused() {
    let deep = format!("people: {}{}", "[".repeat(200), "]".repeat(200));
    let block = (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<Vec<_>>().concat();
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let last = level - 1;
        bomb = format!("{bomb}a{level}: &a{level} [{}]\n", vec![format!("*a{last}"); 10].join(", "));
    }
    for hostile in [deep, block, bomb] {
        let message = problems(&hostile);
        assert!(message.contains("the file is too large or has too many levels"), "{message}");
    }
    let huge = format!("people: {{}}\n#{}", "x".repeat(tree::MAX_BYTES));
    assert!(problems(&huge).starts_with("gantry.yaml: the file has more than 8388608 bytes"), "{}", problems(&huge));
    let endless = Config::load(Path::new("/dev/zero"));
    assert!(endless.is_err());
}

#[test]
fn ten_thousand_artefacts_are_not_too_large() {
    let mut text = EXAMPLE.to_owned();
    let position = text.find("# Additional channels that are notified").unwrap();
    let (_, search) = EXAMPLE.split_once("  - name: search\n").unwrap();
    let (search, _) = search.split_once("  # Two artefacts").unwrap();
    let many = (0..10_000)
        .map(|n| format!("  - name: search{n}\n{}", search.replace("search", &format!("search{n}"))))
        .collect::<Vec<_>>()
        .concat();
    text.insert_str(position, &many);
    assert_eq!(Config::parse("gantry.yaml", &text).unwrap().catalogue.artefacts.len(), 10_004);
}

#[test]
fn only_the_first_hundred_problems_are_shown() {
    let text = (0..1000).map(|n| format!("key{n}: 1\n")).collect::<Vec<_>>().concat();
    let problems = Config::parse("gantry.yaml", &text).unwrap_err();
    assert_eq!(problems.len(), 101);
    assert_eq!(problems[100].to_string(), "gantry.yaml: 902 more problems are not shown: fix these first");
}

#[test]
fn a_problem_in_an_alias_is_also_reported_where_the_alias_is_used() {
    let text = SMALL.replace("workload: deployment/checkout\n", "workload: &work [deployment/checkout]\n")
        + "  - { name: till, repository: acme/till, image: till, workload: *work }\n";
    assert_eq!(problems(&text), "nothing");
    let text = text.replace("&work [deployment/", "&work [deploymnet/");
    assert_eq!(
        problems(&text),
        "gantry.yaml:14:22: `deploymnet` is not a kind of workload: did you mean `deployment`?\n\
         gantry.yaml:15:65: `deploymnet` is not a kind of workload: did you mean `deployment`?"
    );
}

#[test]
fn trailing_slashes_of_urls_are_removed() {
    let slack = "slack: { channel: '#d', api_url: 'http://127.0.0.1:8484/sim/slack/api/', hooks_origin: 'http://127.0.0.1:8484/' }";
    let text = SMALL.replace("slack: { channel: '#deploys' }", slack);
    let config = Config::parse("gantry.yaml", &text).unwrap();
    assert_eq!(config.slack.api_url, "http://127.0.0.1:8484/sim/slack/api");
    assert_eq!(config.slack.hooks_origin, "http://127.0.0.1:8484");
}

/// The shape check ignores keywords that it does not support, so the schema must not contain any.
#[test]
fn the_schema_describes_every_key_and_uses_only_supported_keywords() {
    fn walk(schema: &serde_json::Value, described: &mut usize) {
        const READ: [&str; 19] = [
            "$schema",
            "$ref",
            "$defs",
            "title",
            "description",
            "examples",
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "minimum",
            "maximum",
            "minProperties",
            "maxProperties",
        ];
        let Some(schema) = schema.as_object() else { return };
        for (keyword, value) in schema {
            // `validate` checks `minItems` with a better message; `format` is the width of an integer.
            assert!(READ.contains(&keyword.as_str()) || matches!(keyword.as_str(), "minItems" | "format"), "{keyword}");
            match keyword.as_str() {
                "properties" => {
                    for (key, property) in value.as_object().unwrap() {
                        if key != "manifest" {
                            let words = property["description"].as_str();
                            assert!(words.is_some_and(|words| words.ends_with('.')), "{key} has no description");
                            *described += 1;
                        }
                        walk(property, described);
                    }
                    assert!(!schema["additionalProperties"].is_null(), "unknown keys are errors");
                }
                "$defs" => value.as_object().unwrap().values().for_each(|inner| walk(inner, described)),
                "anyOf" | "oneOf" => value.as_array().unwrap().iter().for_each(|inner| walk(inner, described)),
                "items" | "additionalProperties" => walk(value, described),
                _ => {}
            }
        }
    }
    let mut described = 0;
    walk(&build_schema(), &mut described);
    assert!(described > 40, "{described}");
}

/// The example with a few random edits: close enough to a valid file to reach every check.
fn damaged_example() -> impl Strategy<Value = String> {
    let inserts = prop::sample::select(vec![
        "", "\n", " ", "  ", ":", "- ", "[", "]", "{", "}", "'", "\"", "#", "&a ", "*a", "!!str ", "|\n", "~", "false",
        "1e999", "0x10", "\u{202e}", "é", "<<: ", "? ", "prod", "\t", ", ",
    ]);
    let cut = (any::<prop::sample::Index>(), 0..30usize, inserts);
    prop::collection::vec(cut, 1..4).prop_map(|cuts| {
        let mut characters: Vec<char> = EXAMPLE.chars().collect();
        for (index, length, insert) in cuts {
            let from = index.index(characters.len());
            let to = (from + length).min(characters.len());
            characters.splice(from..to, insert.chars());
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Config::parse_bytes("any", &bytes);
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "[-a-z:\\[\\]{}'\"#&*!|>~?%@ \n\t0-9.]{0,120}") {
        let _ = Config::parse("any", &text);
    }

    #[test]
    fn problems_of_a_damaged_file_have_one_line_and_an_existing_position(text in damaged_example()) {
        if let Err(problems) = Config::parse("gantry.yaml", &text) {
            prop_assert!(!problems.is_empty());
            for problem in problems {
                let line = problem.to_string();
                prop_assert!(!line.contains(char::is_control), "{}", line);
                prop_assert!(!problem.message.is_empty() && !problem.advice.is_empty(), "{}", line);
                prop_assert!(problem.line <= text.lines().count() as u64 + 1, "{}", line);
                prop_assert!((problem.line == 0) == (problem.column == 0), "{}", line);
            }
        }
    }

    #[test]
    fn a_file_that_matches_the_schema_can_be_deserialised(text in damaged_example()) {
        let Ok(tree) = tree::parse_yaml::<tree::ConfigNode>(&text) else { return Ok(()) };
        let mut findings = Findings::new("gantry.yaml");
        if shape::check_shape(&build_schema(), &tree, &mut findings) == shape::ShapeVerdict::Readable {
            let read = tree::parse_yaml::<file::RawConfig>(&text);
            prop_assert!(read.is_ok(), "{:?}", read.err());
        }
    }
}
