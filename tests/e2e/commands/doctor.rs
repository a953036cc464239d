//! `/gantry doctor`: its answer in a healthy world, and for each defect.

use gantry::domain::model::workload::Workload;
use gantry::sim::github::{FaultTiming, RequestFault, Rules};
use gantry::sim::slack::Channel;
use gantry::sim::world::GITHUB_TOKEN;
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::harness::world::World;

/// Alice's answer to `/gantry doctor`.
async fn answer(world: &World) -> String {
    let ack = world.alice().types("/gantry doctor").await;
    assert_eq!(ack, "Asking Slack, GitHub, the clusters and the registries...");
    world.alice().reads()
}

/// The warnings and errors, without those about environments that sent no report yet.
async fn list_problems(world: &World) -> Vec<String> {
    let answer = answer(world).await;
    let lines = answer.lines().filter(|line| line.starts_with(":x:") || line.starts_with(":warning:"));
    lines.filter(|line| !line.starts_with(":warning: No report has arrived for")).map(str::to_owned).collect()
}

#[tokio::test]
async fn in_a_healthy_world_doctor_warns_only_about_missing_reports() {
    let world = World::open().await;
    assert_snapshot!(answer(&world).await, @"
    4 things need a look:
    :warning: No report has arrived for development yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for qa yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for staging yet. If its controller should send reports, check the address and the secret there.
    :warning: No report has arrived for prod yet. If its controller should send reports, check the address and the secret there.
    :white_check_mark: 23 checks are well: Slack 5, GitHub 9, Cluster 6, Registry 1, Store 1, Clock 1
    ");
}

#[tokio::test]
async fn doctor_changes_nothing() {
    let world = World::open().await;
    let requests = || world.sim.github.request_faults().requests();
    let before = requests().len();
    let branches = world.sim.github.branches("acme/checkout");
    answer(&world).await;
    let writes: Vec<String> =
        requests().split_off(before).into_iter().filter(|request| !request.starts_with("GET ")).collect();
    assert_eq!(writes, Vec::<String>::new());
    assert_eq!(world.sim.github.branches("acme/checkout"), branches);
    assert_eq!(world.public_messages("deploys"), Vec::<String>::new());
}

fn channel(archived: bool) -> Channel {
    Channel { id: "C0RELEASES".to_owned(), name: "releases".to_owned(), bot_is_member: archived, archived }
}

fn workload(text: &str) -> Workload {
    text.parse().unwrap()
}

fn protect(world: &World, branch: &str, rules: Rules) {
    world.sim.github.protect("acme/checkout", branch, rules).unwrap();
}

/// The name of a defect, the function that causes it, and all lines that doctor must show for it.
type Case = (&'static str, fn(&World), &'static [&'static str]);

async fn check_cases(cases: &[Case]) {
    for (name, break_it, expected) in cases {
        let world = World::open().await;
        break_it(&world);
        assert_eq!(list_problems(&world).await, *expected, "{name}");
    }
}

#[tokio::test]
async fn doctor_reports_each_defect_of_slack_with_its_fix() {
    check_cases(&[
        ("a scope", |world| world.sim.slack.revoke_scope("files:write"), &[
            ":x: The token lacks the scope `files:write`. Add the missing scopes under OAuth &amp; Permissions, or from deploy/slack/manifest.yaml, and install the app again.",
        ]),
        ("a channel", |world| world.sim.slack.add_channel(channel(false)), &[
            ":x: The bot is not in #releases. Type `/invite @gantry` in the channel, also in a private one. If the channel does not exist, create it.",
        ]),
        ("an archived channel", |world| world.sim.slack.add_channel(channel(true)), &[
            ":x: #releases is archived. Unarchive it, or name another channel in the configuration.",
        ]),
        ("an empty group", |world| world.sim.slack.add_group("S0RELEASE", "release-managers", &[]), &[
            ":x: The user group @release-managers in prod's approvals is empty. Add people to the user group, or use another one.",
            ":x: The user group @release-managers in prod's overriders is empty. Add people to the user group, or use another one.",
            ":x: Required approvals in prod: 1; approvers: 0. Add people to the groups under `approvals`, or require fewer approvals.",
        ]),
        ("a group of one", |world| world.sim.slack.add_group("S0RELEASE", "release-managers", &["bob"]), &[
            ":warning: Required approvals in prod: 1; approvers: 1. Requesters cannot approve their own changes, so a change of that person can never be approved. Add one more approver.",
        ]),
    ])
    .await;
}

#[tokio::test]
async fn doctor_reports_each_defect_of_github_with_its_fix() {
    check_cases(&[
        ("the token", |world| world.sim.github.update_installation(|it| it.revoked.push(GITHUB_TOKEN.to_owned())), &[
            ":x: GitHub rejects the credentials: it says \u{201c}Bad credentials\u{201d}. Create a new token for `GITHUB_TOKEN`, or set the App's id, private key and installation id again.",
        ]),
        ("its scopes", |world| world.sim.github.update_installation(|it| it.scopes = Some(vec!["gist"])), &[
            ":x: The token lacks the scope `repo`. Add it in the settings of the token; it stays the same.",
        ]),
        (
            "a fine-grained token without readable scopes",
            |world| {
                world.sim.github.update_installation(|it| it.scopes = None);
                let unseen = RequestFault::Reply(403, "Resource not accessible by personal access token", Vec::new());
                world.sim.github.request_faults().inject("GET", "/acme/shop/commits/develop/check-runs", FaultTiming::BeforeEffect, unseen.clone(), 9);
                world.sim.github.request_faults().inject("GET", "/acme/search/commits/", FaultTiming::BeforeEffect, unseen, 9);
            },
            &[
                ":x: The checks of acme/search and acme/shop cannot be read: it says \u{201c}Resource not accessible by personal access token\u{201d}. Use a classic token with the scope `repo`, or an App. A fine-grained token cannot read checks.",
            ],
        ),
        ("an archived repository", |world| world.sim.github.set_repository_options("acme/shop", true, true, true).unwrap(), &[
            ":x: acme/shop is archived. Unarchive it: nothing can be merged there.",
        ]),
        ("a repository to read only", |world| world.sim.github.set_repository_options("acme/shop", false, true, false).unwrap(), &[
            ":x: Gantry may not push to acme/shop. Give the token's account the role Write there.",
        ]),
        ("no merge commits", |world| world.sim.github.set_repository_options("acme/shop", false, false, true).unwrap(), &[
            ":x: acme/shop allows no merge commits, and a squash would lose the promoted commit. Tick Allow merge commits under Settings, General, Pull Requests.",
        ]),
        ("a branch", |world| world.sim.github.delete_branch("acme/checkout", "staging").unwrap(), &[
            ":x: acme/checkout has no branch staging. Create it: `git push origin origin/qa:refs/heads/staging` in a clone of acme/checkout.",
        ]),
        (
            "a server that counts no requests",
            |world| {
                let uncounted = RequestFault::Reply(404, "Rate limiting is not enabled.", Vec::new());
                world.sim.github.request_faults().inject("GET", "/rate_limit", FaultTiming::BeforeEffect, uncounted, 9);
            },
            &[],
        ),
        (
            "a rate limit that cannot be read",
            |world| {
                let away = RequestFault::Reply(503, "Unavailable", Vec::new());
                world.sim.github.request_faults().inject("GET", "/rate_limit", FaultTiming::BeforeEffect, away, 9);
            },
            &[
                ":warning: The number of remaining requests cannot be read: it answered 503. Try again later. Promotions wait while no requests are left.",
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn doctor_reports_branch_rules_that_would_block_promotions() {
    check_cases(&[
        (
            "pull requests only, with `promote: merge`",
            |world| protect(world, "qa", Rules { required_reviews: 1, ..Rules::default() }),
            &[
                ":x: qa of acme/checkout requires pull requests, but `promote: merge` merges directly. Let Gantry bypass it, or set `promote: pull_request` for `qa`.",
            ],
        ),
        (
            "the same with a bypass for Gantry",
            |world| {
                protect(world, "qa", Rules { required_reviews: 1, ..Rules::default() });
                world.sim.github.update_installation(|it| it.bypasses = true);
            },
            &[],
        ),
        (
            "pull requests only, with `promote: pull_request`",
            |world| protect(world, "prod", Rules { required_reviews: 1, ..Rules::default() }),
            &[],
        ),
        (
            "required checks, with `promote: merge`",
            |world| protect(world, "qa", Rules { required_checks: vec!["build".to_owned()], ..Rules::default() }),
            &[
                ":x: qa of acme/checkout requires `build`, which cannot have run on a new merge commit. Let Gantry bypass it, or set `promote: pull_request` for `qa`.",
            ],
        ),
        ("a linear history", |world| protect(world, "prod", Rules { kinds: vec!["required_linear_history"], ..Rules::default() }), &[
            ":x: prod of acme/checkout requires a linear history, and promotions are merge commits. Remove that rule from prod.",
        ]),
        (
            "a classic protection beside a harmless rule",
            |world| protect(world, "qa", Rules { kinds: vec!["deletion"], classic: true, ..Rules::default() }),
            &[
                ":warning: qa of acme/checkout is protected by rules that Gantry cannot read. Under Settings, Branches, check that Gantry may push, or set `promote: pull_request` for `qa`.",
            ],
        ),
        (
            "harmless rules",
            |world| {
                let kinds = vec!["deletion", "non_fast_forward", "creation"];
                protect(world, "qa", Rules { kinds, ..Rules::default() });
            },
            &[],
        ),
        (
            "updates by some only, with `promote: pull_request`",
            |world| protect(world, "prod", Rules { kinds: vec!["update"], ..Rules::default() }),
            &[
                ":x: prod of acme/checkout restricts updates, also by pull request, and Gantry may not update it. Let Gantry bypass that rule (Restrict updates).",
            ],
        ),
        (
            "a merge queue, with `promote: merge`",
            |world| protect(world, "qa", Rules { kinds: vec!["merge_queue"], ..Rules::default() }),
            &[
                ":x: qa of acme/checkout has a merge queue, which blocks other merges and would merge another commit than the approved one. Remove the merge queue from qa, or let Gantry bypass it.",
            ],
        ),
        (
            "rules that doctor cannot judge",
            |world| {
                let kinds = vec!["required_signatures", "commit_message_pattern", "of_tomorrow"];
                protect(world, "prod", Rules { kinds, ..Rules::default() });
            },
            &[
                ":warning: prod of acme/checkout has rules that Gantry does not know: `commit_message_pattern`, `of_tomorrow` and `required_signatures`. Make sure that a promotion's merge commit satisfies it, or let Gantry bypass it.",
            ],
        ),
        (
            "squashes only",
            |world| {
                let merge_methods = Some(vec!["squash".to_owned()]);
                protect(world, "prod", Rules { required_reviews: 1, merge_methods, ..Rules::default() });
            },
            &[
                ":x: prod of acme/checkout allows no merge commits, and a squash would lose the promoted commit. Allow the merge method Merge in the rule that requires pull requests.",
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn doctor_reports_each_defect_of_the_cluster_the_registry_and_the_clock_with_its_fix() {
    check_cases(&[
        ("a verb", |world| world.sim.cluster.revoke("qa", "list", "pods"), &[
            ":x: Gantry may not list pods in the namespace qa. Grant it with a Role there, as in the chart's `files/rules.yaml`. `kubectl auth can-i list pods -n qa` checks it.",
        ]),
        ("a workload", |world| world.sim.cluster.remove("staging", &workload("deployment/search")), &[
            ":x: deployment/search of search in staging is not in the namespace staging. Correct `workload` or the namespace, or leave search out there: `environments: { staging: false }`.",
        ]),
        (
            "another image",
            |world| world.sim.cluster.set_running("qa", &workload("deployment/search"), "search", "nginx:1", 1),
            &[
                ":x: deployment/search of search in qa runs nginx in search, not ghcr.io/acme/search. Correct `image`, or `workload`.",
            ],
        ),
        (
            "two containers with the image",
            |world| {
                let tag = world.running_tag("search", "qa");
                world.sim.cluster.set_running("qa", &workload("deployment/search"), "more", &format!("ghcr.io/acme/search:{tag}"), 1);
            },
            &[
                ":warning: deployment/search of search in qa has 2 containers with ghcr.io/acme/search; Gantry uses the first. Name one of them with `container`.",
            ],
        ),
        ("our clock, a little", |world| world.sim.service_faults.github.set_clock_ahead(SignedDuration::from_secs(60)), &[
            ":warning: The local clock is 60 s behind GitHub's. Let NTP set this machine's clock.",
        ]),
        ("our clock, far off", |world| world.sim.service_faults.cluster.set_clock_ahead(SignedDuration::from_secs(-400)), &[
            ":x: The local clock is 400 s ahead of the cluster's: Slack's requests are refused if the clocks differ by more than 300 s. Let NTP set this machine's clock.",
        ]),
        ("a registry that is away", |world| world.sim.registry.set_down(true), &[
            ":x: ghcr.io/acme/checkout cannot be read: it answered 503. Try again later. If the error stays, check the address and the network.",
            ":x: ghcr.io/acme/mailer cannot be read: it answered 503. Try again later. If the error stays, check the address and the network.",
            ":x: ghcr.io/acme/search cannot be read: it answered 503. Try again later. If the error stays, check the address and the network.",
            ":x: ghcr.io/acme/storefront cannot be read: it answered 503. Try again later. If the error stays, check the address and the network.",
        ]),
    ])
    .await;
}

#[tokio::test]
async fn doctor_warns_about_a_running_image_that_the_registry_does_not_have() {
    let world = World::open().await;
    let tag = world.running_tag("checkout", "prod");
    assert!(world.sim.registry.remove("ghcr.io/acme/checkout", &tag));
    let expected = format!(
        ":warning: ghcr.io/acme/checkout runs as {tag}, which the registry does not have. Keep images that run: a new pod could not start, and a rollback to it would not be possible."
    );
    assert_eq!(list_problems(&world).await, [expected]);
}

#[tokio::test]
async fn doctor_reports_a_namespace_without_permissions_and_each_workload_in_it() {
    let world = World::open().await;
    world.sim.cluster.forbid("qa");
    let shown = list_problems(&world).await;
    let role = ":x: Gantry has no permissions in the namespace qa. Create the chart's Role and RoleBinding there: run `helm upgrade` with this configuration.";
    assert_eq!(shown[0], role);
    assert_eq!(shown.len(), 6, "{shown:#?}");
    assert!(shown[1..].iter().all(|line| line.contains("in qa cannot be read: forbidden: grant get on")), "{shown:#?}");
}

#[tokio::test]
async fn doctor_reports_names_in_the_configuration_that_do_not_exist() {
    let world = World::with_config(|yaml| {
        yaml.replace("repository: acme/checkout", "repository: acme/chekout")
            .replace("envs/{environment}/search/", "envs/{environment}/serach/")
            .replace("image: ghcr.io/acme/mailer", "image: ghcr.io/acme/mialer")
            .replace(
                "approvals: { required: 1, from: [\"@release-managers\"] }",
                "approvals: { required: 1, from: [\"@managers\", \"U0NOBODY\", \"github:acme/nobody\"] }",
            )
    })
    .await;
    let shown = list_problems(&world).await;
    for expected in [
        ":x: acme/chekout does not exist, or Gantry has no access to it. Correct its name, or install the App on it (give the token access to it).",
        ":x: envs/qa/serach/kustomization.yaml of acme/gitops cannot be used: it does not exist: commit it, or correct `file`.",
        ":warning: No user group is called @managers, which is in prod's approvals, so it counts as a person. Correct the handle, or write the person's member id (`U...`), which no other person can take over.",
        ":x: U0NOBODY, in prod's approvals, is not in this workspace. Take the member id from the person's profile.",
        ":x: The registry does not have ghcr.io/acme/mialer. Correct `image`, or push the first image.",
        ":x: The team acme/nobody does not exist, or Gantry has no access to it. Correct its name, or let the App read the organisation's members (`members: read`; a token, `read:org`).",
    ] {
        assert!(shown.iter().any(|line| line == expected), "{expected}\n{shown:#?}");
    }
}

#[tokio::test]
async fn doctor_reports_each_service_that_does_not_answer_or_answers_nonsense() {
    let world = World::open().await;
    world.sim.service_faults.github.set_returns_html(true);
    world.sim.service_faults.cluster.set_hanging(true);
    let started = std::time::Instant::now();
    let shown = list_problems(&world).await;
    assert!(started.elapsed() < std::time::Duration::from_secs(25), "{:?}", started.elapsed());
    assert_eq!(shown.len(), 2, "{shown:#?}");
    assert!(shown[0].starts_with(":x: GitHub cannot be reached: "), "{shown:#?}");
    assert_eq!(
        shown[1],
        ":x: The cluster cannot be reached: no answer in 6 s. Check `kubeconfig`, the server's address in it, and its credentials. `kubectl version` shows the same error."
    );
}
