//! Whether GitHub lets Gantry work: the account and its permissions, the requests that are left, the webhooks, and the
//! repositories, manifests and teams that the configuration names.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use jiff::Timestamp;

use super::branch_rules::{BranchUsage, check_branch};
use super::run::{
    Doctor, DoctorRun, ProbeError, ProbeResult, ServiceFindings, format_list, join_all_bounded, redact_url,
};
use crate::adapters::github::probe::{
    AppInstallation, AppWebhookConfig, GithubRateLimit, RepositoryPermissions, TokenOwner,
};
use crate::domain::doctor::{Health, Service};
use crate::domain::git::manifest;
use crate::domain::model::actor::Member;
use crate::domain::model::artefact::{Artefact, Delivery, Repository};
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};

const CREDENTIAL_VARIABLES: [&str; 4] =
    ["GITHUB_TOKEN", "GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY", "GITHUB_APP_INSTALLATION_ID"];
/// The permissions that an App needs; `MEMBERS` only if a rule names a team.
const PERMISSIONS: [(&str, &str); 5] =
    [("metadata", "read"), ("contents", "write"), ("pull_requests", "write"), ("checks", "read"), ("statuses", "read")];
const MEMBERS: (&str, &str) = ("members", "read");
/// The events that wake a waiting change. Without them it is checked once a minute.
const EVENTS: [&str; 5] = ["pull_request", "pull_request_review", "check_run", "check_suite", "status"];
const ACCESS_REPAIR: &str = "Give the token or the App access to it.";

enum GithubIdentity {
    Token(TokenOwner),
    App(AppInstallation, ProbeResult<AppWebhookConfig>),
}

/// The branches that promotions need, by repository. `None` is the default branch.
type RequiredBranches = BTreeMap<Repository, BTreeMap<Option<String>, BranchUsage>>;

pub(super) async fn check_github(run: &DoctorRun<'_>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::GitHub);
    let Doctor { secrets, github: client, clock, .. } = run.doctor;
    if secrets.github_auth.is_none() {
        // Credentials that cannot be used are among the findings on the configuration.
        if !secrets.is_any_set(&CREDENTIAL_VARIABLES) {
            found.add_bad(
                "There are no credentials for GitHub",
                "Set `GITHUB_TOKEN`, or `GITHUB_APP_ID`, `GITHUB_APP_PRIVATE_KEY` and `GITHUB_APP_INSTALLATION_ID`.",
            );
        }
        return found;
    }
    let (account, rate_limit) = tokio::join!(probe_account(run), run.limit_time(client.fetch_rate_limit()));
    let account = match account {
        Ok(account) => account,
        Err(error) => {
            let summary = match error {
                ProbeError::Refused(_) => "GitHub rejects the credentials",
                ProbeError::Unreachable(_) => "GitHub cannot be reached",
            };
            let repair =
                "Create a new token for `GITHUB_TOKEN`, or set the App's id, private key and installation id again.";
            found.add_failure(summary, &error, repair);
            return found;
        }
    };
    match &account {
        GithubIdentity::Token(TokenOwner { login, .. }) => found.add_good(format!("The token belongs to {login}")),
        GithubIdentity::App(AppInstallation { slug, suspended_at: None, .. }, _) => {
            found.add_good(format!("The credentials belong to the App {slug}"));
        }
        GithubIdentity::App(AppInstallation { slug, .. }, _) => found.add_bad(
            format!("The installation of the App {slug} is suspended"),
            "Unsuspend it in the organisation's settings, under GitHub Apps.",
        ),
    }
    let (GithubIdentity::Token(TokenOwner { server_time, .. })
    | GithubIdentity::App(AppInstallation { server_time, .. }, _)) = &account;
    found.add_clock_skew("GitHub", *server_time, clock);
    check_request_quota(&mut found, rate_limit);
    let teams = list_teams(run);
    check_permissions(&mut found, &account, !teams.is_empty());
    check_webhooks(&mut found, &account, secrets.github_webhook_secret.is_some());
    // A fine-grained token does not list its permissions, so reading checks must be tried. For other credentials, the
    // scopes or permissions tell.
    let must_try_checks = matches!(account, GithubIdentity::Token(TokenOwner { scopes: None, .. }));
    let (repositories, manifests, teams) =
        tokio::join!(check_repositories(run, must_try_checks), check_manifests(run), check_teams(run, &teams));
    found.add_all([repositories, manifests, teams]);
    found
}

async fn probe_account(run: &DoctorRun<'_>) -> ProbeResult<GithubIdentity> {
    let client = &run.doctor.github;
    let (app, webhook) =
        tokio::join!(run.limit_time(client.fetch_app_installation()), run.limit_time(client.fetch_app_webhook()));
    Ok(match app? {
        Some(app) => GithubIdentity::App(app, webhook),
        None => GithubIdentity::Token(run.limit_time(client.fetch_token_owner()).await?),
    })
}

fn check_request_quota(found: &mut ServiceFindings, rate_limit: ProbeResult<Option<GithubRateLimit>>) {
    let GithubRateLimit { limit, remaining, reset } = match rate_limit {
        Ok(Some(rate_limit)) => rate_limit,
        Ok(None) => return found.add_good("The requests are not limited"),
        Err(error) => {
            let repair = "Try again later. Promotions wait while no requests are left.";
            return found.add_explained(
                Health::Warning,
                "The number of remaining requests cannot be read",
                error,
                repair,
            );
        }
    };
    let resets_at = Timestamp::from_second(reset).unwrap_or_default().strftime("%H:%M UTC");
    let summary = format!("{remaining} of {limit} requests are left until {resets_at}");
    if remaining == 0 {
        found.add_bad(summary, "Wait until then; a GitHub App has more than a person's token.");
    } else if remaining * 10 < limit {
        found.add_warning(summary, "Find out who else uses this token. A GitHub App has its own rate limit.");
    } else {
        found.add_good(summary);
    }
}

fn check_permissions(found: &mut ServiceFindings, account: &GithubIdentity, has_teams: bool) {
    let (lacking, missing, repair, complete) = match account {
        GithubIdentity::Token(TokenOwner { scopes: None, .. }) => return,
        GithubIdentity::Token(TokenOwner { scopes: Some(scopes), .. }) => {
            let has = |any: &[&str]| any.iter().any(|scope| scopes.iter().any(|granted| granted == scope));
            let repo = (!has(&["repo", "public_repo"])).then(|| "`repo`".to_owned());
            let org = (has_teams && !has(&["read:org", "write:org", "admin:org"])).then(|| "`read:org`".to_owned());
            let missing: Vec<String> = repo.into_iter().chain(org).collect();
            let repair = "Add it in the settings of the token; it stays the same.";
            ("The token lacks the scope", missing, repair, "The token has all scopes that Gantry needs")
        }
        GithubIdentity::App(AppInstallation { permissions, .. }, _) => {
            let needed = PERMISSIONS.into_iter().chain(has_teams.then_some(MEMBERS));
            let missing = needed.filter(|(name, level)| {
                !permissions.get(*name).is_some_and(|granted| [level, "write", "admin"].contains(&granted.as_str()))
            });
            let missing = missing.map(|(name, level)| format!("`{name}: {level}`")).collect();
            let repair = "Add it in the App's settings, and accept it where the App is installed.";
            ("The App lacks the permission", missing, repair, "The App has all permissions that Gantry needs")
        }
    };
    if missing.is_empty() {
        found.add_good(complete);
    } else {
        found.add_bad(format!("{lacking} {}", format_list(&missing)), repair);
    }
}

fn check_webhooks(found: &mut ServiceFindings, account: &GithubIdentity, has_secret: bool) {
    let without_webhooks = "without webhooks, Gantry checks once a minute.";
    if !has_secret {
        let repair = format!("Set it to the secret of the webhook; {without_webhooks}");
        return found.add_warning("`GITHUB_WEBHOOK_SECRET` is not set: GitHub's webhooks are refused", repair);
    }
    let GithubIdentity::App(AppInstallation { events, .. }, webhook) = account else {
        return found.add_good("`GITHUB_WEBHOOK_SECRET` is set");
    };
    let missing = EVENTS.iter().filter(|event| !events.iter().any(|subscribed| subscribed == *event));
    let missing: Vec<String> = missing.map(|event| format!("`{event}`")).collect();
    if !missing.is_empty() {
        let repair = format!("Subscribe it under Permissions & events; {without_webhooks}");
        found.add_warning(format!("The App is not subscribed to {}", format_list(&missing)), repair);
    }
    let AppWebhookConfig { url, secret } = match webhook {
        Ok(webhook) => webhook,
        Err(error) => {
            let repair = format!("Check its Webhook URL and secret in the App's settings; {without_webhooks}");
            let summary = "The address of the App's webhooks cannot be read";
            return found.add_explained(Health::Warning, summary, error, repair);
        }
    };
    match url.as_deref().filter(|url| !url.is_empty()).map(redact_url) {
        None => found.add_warning(
            "The App sends no webhooks",
            format!("Set its Webhook URL to `https://<your host>/webhooks/github`; {without_webhooks}"),
        ),
        Some(url) if !url.ends_with("/webhooks/github") => found
            .add_warning(format!("The App's webhooks go to {url}"), "Its Webhook URL must end in `/webhooks/github`."),
        Some(_) if secret.as_ref().is_none_or(String::is_empty) => found.add_warning(
            "The App's webhooks are not signed",
            "Set the same Webhook secret there as in `GITHUB_WEBHOOK_SECRET`.",
        ),
        Some(url) if missing.is_empty() => {
            let host = url.split('/').nth(2).unwrap_or_default();
            found.add_good(format!("The App's webhooks go to {host}, with a secret"));
        }
        Some(_) => {}
    }
}

async fn check_repositories(run: &DoctorRun<'_>, must_try_checks: bool) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::GitHub);
    let required = list_required_branches(run);
    let checked = required.iter().map(|(name, usages)| check_repository(run, name, usages, must_try_checks).boxed());
    let mut hidden: Vec<(&Repository, ProbeError)> = Vec::new();
    for (name, (repository, checks)) in required.keys().zip(join_all_bounded(checked).await) {
        found.add_all([repository]);
        hidden.extend(checks.err().map(|error| (name, error)));
    }
    if let Some((_, error)) = hidden.first() {
        let names: Vec<&Repository> = hidden.iter().map(|(name, _)| *name).collect();
        let repair = "Use a classic token with the scope `repo`, or an App. A fine-grained token cannot read checks.";
        found.add_failure(format!("The checks of {} cannot be read", format_list(&names)), error, repair);
    }
    found
}

fn list_required_branches(run: &DoctorRun<'_>) -> RequiredBranches {
    let catalogue = &run.doctor.config.catalogue;
    let mut required: RequiredBranches =
        catalogue.artefacts.iter().map(|artefact| (artefact.repository.clone(), BTreeMap::new())).collect();
    for (artefact, environment, _) in run.list_places() {
        let below = catalogue.ladder.find_next_below(&environment.name, artefact);
        let usage = match &artefact.delivery {
            Delivery::Branch => {
                let branches = required.entry(artefact.repository.clone()).or_default();
                let usage = branches.entry(Some(environment.branch.clone())).or_default();
                usage.lower_branch = below.map(|below| below.branch.clone());
                usage
            }
            Delivery::Manifest { .. } if below.is_none() => continue,
            Delivery::Manifest { repository, branch, .. } => {
                required.entry(repository.clone()).or_default().entry(branch.clone()).or_default()
            }
        };
        let promoting = match environment.promotion_method {
            PromotionMethod::Merge => &mut usage.by_merge,
            PromotionMethod::PullRequest => &mut usage.by_pull_request,
        };
        promoting.extend(below.map(|_| environment.name.clone()));
    }
    required
}

/// Also returns the error of the attempt to read checks, if one was made.
async fn check_repository(
    run: &DoctorRun<'_>,
    name: &Repository,
    usages: &BTreeMap<Option<String>, BranchUsage>,
    must_try_checks: bool,
) -> (ServiceFindings, ProbeResult<()>) {
    let mut found = ServiceFindings::new(Service::GitHub);
    let Doctor { config, github: client, .. } = run.doctor;
    let settings = match run.limit_time(client.fetch_repository_settings(name)).await {
        Ok(Some(settings)) => settings,
        Ok(None) => {
            let repair = "Correct its name, or install the App on it (give the token access to it).";
            found.add_bad(format!("{name} does not exist, or Gantry has no access to it"), repair);
            return (found, Ok(()));
        }
        Err(error) => {
            found.add_failure(format!("{name} cannot be read"), &error, ACCESS_REPAIR);
            return (found, Ok(()));
        }
    };
    let has_code = config.catalogue.artefacts.iter().any(|artefact| artefact.repository == *name);
    let checks = if must_try_checks && has_code {
        run.limit_time(client.probe_checks_access(name, &settings.default_branch)).await
    } else {
        Ok(())
    };
    let mut branches: Vec<(&str, BranchUsage)> = Vec::new();
    for (branch, usage) in usages {
        let branch = branch.as_ref().unwrap_or(&settings.default_branch);
        match branches.iter_mut().find(|(known, _)| known == branch) {
            Some((_, known)) => {
                known.by_merge.extend(usage.by_merge.iter().cloned());
                known.by_pull_request.extend(usage.by_pull_request.iter().cloned());
            }
            None => branches.push((branch, usage.clone())),
        }
    }
    let environments = config.catalogue.ladder.environments();
    branches.sort_by_key(|(branch, _)| environments.iter().position(|it| it.branch == *branch));
    if settings.archived {
        found.add_bad(format!("{name} is archived"), "Unarchive it: nothing can be merged there.");
    } else if let Some(RepositoryPermissions { push: false }) = settings.permissions {
        found.add_bad(format!("Gantry may not push to {name}"), "Give the token's account the role Write there.");
    }
    let has_pull_requests = branches.iter().any(|(_, usage)| !usage.by_pull_request.is_empty());
    if has_pull_requests && settings.allow_merge_commit == Some(false) {
        found.add_bad(
            format!("{name} allows no merge commits, and a squash would lose the promoted commit"),
            "Tick Allow merge commits under Settings, General, Pull Requests.",
        );
    }
    let checked = branches.iter().map(|(branch, usage)| check_branch(run, name, branch, usage).boxed());
    found.add_all(join_all_bounded(checked).await);
    if found.checks.is_empty() {
        let names: Vec<&str> = branches.iter().map(|(branch, _)| *branch).collect();
        found.add_good(match names.as_slice() {
            [] => format!("{name} exists"),
            [one] => format!("{name} exists with {one}, and its rules allow promotions"),
            _ => format!("{name} exists with {}, and their rules allow promotions", format_list(&names)),
        });
    }
    (found, checks)
}

async fn check_manifests(run: &DoctorRun<'_>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::GitHub);
    let places = run.list_places();
    let reads = places.iter().map(|(artefact, environment, _)| read_manifest(run, artefact, &environment.name).boxed());
    let mut usable = 0;
    for (file, read) in join_all_bounded(reads).await.into_iter().flatten() {
        match read {
            Ok(Ok(())) => usable += 1,
            // The sentence of a manifest's problem ends with the next step.
            Ok(Err(problem)) => found.add_explained(Health::Bad, format!("{file} cannot be used"), problem, ""),
            Err(error) => found.add_failure(format!("{file} cannot be read"), &error, ACCESS_REPAIR),
        }
    }
    match usable {
        0 => {}
        1 => found.add_good("One manifest names its image"),
        _ => found.add_good(format!("{usable} manifests name their images")),
    }
    found
}

/// The place of a manifest, and the problem with it. `None` if the artefact has no manifests.
async fn read_manifest(
    run: &DoctorRun<'_>,
    artefact: &Artefact,
    environment: &EnvironmentName,
) -> Option<(String, ProbeResult<Result<(), String>>)> {
    let Delivery::Manifest { repository, file, branch, path, pin } = &artefact.delivery else { return None };
    let client = &run.doctor.github;
    let file = file.replace("{environment}", environment.as_str());
    let read = async {
        let branch = match branch {
            Some(branch) => Some(branch.clone()),
            None => run.limit_time(client.fetch_repository_settings(repository)).await?.map(|it| it.default_branch),
        };
        let text = match branch {
            Some(branch) => run.limit_time(client.fetch_file(repository, &branch, &file)).await?,
            None => None,
        };
        let selector = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
        Ok(match text {
            Some(text) => manifest::read_version(&text, &selector).map(drop).map_err(|problem| problem.to_string()),
            None => Err("it does not exist: commit it, or correct `file`".to_owned()),
        })
    };
    let read = read.await;
    Some((format!("{file} of {repository}"), read))
}

/// The teams that rules name, by organisation and name.
fn list_teams<'a>(run: &DoctorRun<'a>) -> BTreeSet<(&'a str, &'a str)> {
    let team = |(_, member): (String, &'a Member)| match member {
        Member::Team { organisation, team } => Some((organisation.as_str(), team.as_str())),
        Member::Handle(_) | Member::Group(_) | Member::Person(_) => None,
    };
    run.list_rule_members().into_iter().filter_map(team).collect()
}

async fn check_teams(run: &DoctorRun<'_>, teams: &BTreeSet<(&str, &str)>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::GitHub);
    let client = &run.doctor.github;
    let answers =
        teams.iter().map(|(organisation, team)| run.limit_time(client.can_see_team(organisation, team)).boxed());
    let mut visible = Vec::new();
    let repair =
        "Correct its name, or let the App read the organisation's members (`members: read`; a token, `read:org`).";
    for ((organisation, team), answer) in teams.iter().zip(join_all_bounded(answers).await) {
        let team = format!("{organisation}/{team}");
        match answer {
            Ok(true) => visible.push(team),
            Ok(false) => {
                found.add_bad(format!("The team {team} does not exist, or Gantry has no access to it"), repair);
            }
            Err(error) => found.add_failure(format!("The team {team} cannot be read"), &error, repair),
        }
    }
    visible.sort_unstable();
    found.add_good_names(&visible, |names| format!("The teams in the rules exist: {names}"));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::HealthCheck;

    fn collect_checks(check: impl FnOnce(&mut ServiceFindings)) -> Vec<HealthCheck> {
        let mut found = ServiceFindings::new(Service::GitHub);
        check(&mut found);
        found.checks
    }

    fn app(permissions: &[(&str, &str)], events: &[&str], hook: ProbeResult<AppWebhookConfig>) -> GithubIdentity {
        let app = AppInstallation {
            slug: "gantry".to_owned(),
            permissions: permissions.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect(),
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            suspended_at: None,
            server_time: None,
        };
        GithubIdentity::App(app, hook)
    }

    fn unreadable_webhook() -> ProbeResult<AppWebhookConfig> {
        Err(ProbeError::Unreachable("it answered 502".to_owned()))
    }

    #[test]
    fn an_app_needs_each_permission_at_its_level_or_above() {
        let all = app(&[PERMISSIONS.as_slice(), &[MEMBERS]].concat(), &EVENTS, unreadable_webhook());
        assert_eq!(collect_checks(|found| check_permissions(found, &all, true))[0].health, Health::Good);
        let less = app(
            &[("metadata", "read"), ("contents", "read"), ("pull_requests", "admin"), ("checks", "write")],
            &[],
            unreadable_webhook(),
        );
        let checks = collect_checks(|found| check_permissions(found, &less, true));
        assert_eq!(
            checks[0].summary,
            "The App lacks the permission `contents: write`, `statuses: read` and `members: read`"
        );
    }

    #[test]
    fn a_token_with_unknown_scopes_is_not_reported() {
        let token = |scopes: Option<&[&str]>| {
            let scopes = scopes.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect());
            GithubIdentity::Token(TokenOwner { login: "gantry".to_owned(), scopes, server_time: None })
        };
        let check =
            |scopes: Option<&[&str]>, teams| collect_checks(|found| check_permissions(found, &token(scopes), teams));
        assert_eq!(check(None, true), []);
        assert_eq!(check(Some(&["repo"]), false)[0].health, Health::Good);
        assert_eq!(check(Some(&["repo"]), true)[0].summary, "The token lacks the scope `read:org`");
        assert_eq!(check(Some(&["gist"]), false)[0].summary, "The token lacks the scope `repo`");
    }

    #[test]
    fn the_target_and_the_secret_of_an_apps_webhooks_are_checked() {
        let hook = |url: Option<&str>, signed: bool| {
            let secret = signed.then(|| "********".to_owned());
            Ok(AppWebhookConfig { url: url.map(str::to_owned), secret })
        };
        let own_url = Some("https://gantry.example.com/webhooks/github");
        let summaries = |hook| {
            let checks = collect_checks(|found| check_webhooks(found, &app(&[], &EVENTS, hook), true));
            checks.into_iter().map(|check| check.summary).collect::<Vec<_>>()
        };
        assert_eq!(summaries(hook(own_url, true)), ["The App's webhooks go to gantry.example.com, with a secret"]);
        assert_eq!(summaries(hook(own_url, false)), ["The App's webhooks are not signed"]);
        assert_eq!(summaries(hook(None, false)), ["The App sends no webhooks"]);
        let elsewhere = hook(Some("https://me:secret@x/hook?token=secret"), true);
        assert_eq!(summaries(elsewhere), ["The App's webhooks go to https://x/hook"]);
        assert_eq!(summaries(unreadable_webhook()), ["The address of the App's webhooks cannot be read"]);
        let unsubscribed = app(&[], &EVENTS[1..], hook(own_url, true));
        let unsubscribed = collect_checks(|found| check_webhooks(found, &unsubscribed, true));
        assert_eq!(unsubscribed.len(), 1);
        assert_eq!(unsubscribed[0].summary, "The App is not subscribed to `pull_request`");
    }

    #[test]
    fn few_requests_left_is_a_warning_and_none_is_a_failure() {
        let health = |remaining| {
            let rate_limit = GithubRateLimit { limit: 5000, remaining, reset: 0 };
            collect_checks(|found| check_request_quota(found, Ok(Some(rate_limit))))[0].health
        };
        assert_eq!([500, 499, 0].map(health), [Health::Good, Health::Warning, Health::Bad]);
    }
}
