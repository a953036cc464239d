//! What GitHub lets us do: who we are there, with which permissions, how much of the hour's requests is left, and whether
//! repositories, branches, files and webhooks are as a promotion needs them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::branch_rules::{BranchPromotion, check_branch_rules};
use super::run::{ProbeError, ProbeResult, RedactedUrl, format_list};
use crate::domain::doctor::{HealthCheck, Service};
use crate::domain::model::artefact::Repository;

const GITHUB: Service = Service::GitHub;

/// What an App needs; `members` only where a rule names a team.
const PERMISSIONS: [(&str, &str); 5] =
    [("metadata", "read"), ("contents", "write"), ("pull_requests", "write"), ("checks", "read"), ("statuses", "read")];
const MEMBERS: (&str, &str) = ("members", "read");
/// What wakes a change that waits; without one it is seen by the look once a minute.
const EVENTS: [&str; 5] = ["pull_request", "pull_request_review", "check_run", "check_suite", "status"];

/// As whom we are let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GithubIdentity {
    /// Without a token.
    Anonymous,
    Token {
        login: String,
        /// `None` for a fine-grained token, whose permissions nobody tells.
        scopes: Option<Vec<String>>,
    },
    App {
        name: String,
        permissions: BTreeMap<String, String>,
        events: Vec<String>,
        suspended: bool,
        hook: ProbeResult<AppWebhook>,
    },
}

/// Where an App's webhooks go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppWebhook {
    pub url: Option<String>,
    pub signed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestQuota {
    pub limit: u64,
    pub left: u64,
    pub resets_at: Timestamp,
}

/// What was found of a repository and of what we want in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryProbe {
    pub name: Repository,
    /// `None`: there is none, or it is hidden from us.
    pub access: ProbeResult<Option<RepositoryAccess>>,
    pub branches: Vec<BranchProbe>,
    /// Are we shown what CI says of its commits? Nothing where it need not be tried.
    pub checks: Option<ProbeResult<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryAccess {
    pub archived: bool,
    pub may_push: bool,
    pub allows_merge_commits: bool,
}

/// A branch that an environment stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchProbe {
    pub name: String,
    /// From which it can be made, where it is missing.
    pub below: Option<String>,
    pub exists: ProbeResult<bool>,
    /// How we enter it, and what its rules say; nothing where nobody promotes into it.
    pub promotion: Option<BranchPromotion>,
}

/// A file that says which version is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestProbe {
    pub file: String,
    pub repository: Repository,
    pub outcome: ProbeResult<Result<(), String>>,
}

pub fn check_account(asked: &ProbeResult<GithubIdentity>) -> HealthCheck {
    match asked {
        Ok(GithubIdentity::Anonymous) => HealthCheck::new_bad(
            GITHUB,
            "I have no way in to GitHub",
            "Set `GITHUB_TOKEN`, or `GITHUB_APP_ID`, `GITHUB_APP_PRIVATE_KEY` and `GITHUB_APP_INSTALLATION_ID`.",
        ),
        Ok(GithubIdentity::Token { login, .. }) => HealthCheck::new_good(GITHUB, format!("I am {login}, by a token")),
        Ok(GithubIdentity::App { name, suspended: true, .. }) => HealthCheck::new_bad(
            GITHUB,
            format!("The installation of the App {name} is suspended"),
            "Unsuspend it in the organisation's settings, under GitHub Apps.",
        ),
        Ok(GithubIdentity::App { name, .. }) => HealthCheck::new_good(GITHUB, format!("I am the App {name}")),
        Err(trouble) => HealthCheck::from_probe_error(
            GITHUB,
            match trouble {
                ProbeError::Refused(_) => "GitHub does not let me in",
                ProbeError::Unreachable(_) => "GitHub cannot be asked",
            },
            trouble,
            "Make a new token for `GITHUB_TOKEN`, or take the App's id, private key and installation id anew.",
        ),
    }
}

/// `teams`: a rule names a team of GitHub.
pub fn check_permissions(account: &GithubIdentity, teams: bool) -> Option<HealthCheck> {
    match account {
        GithubIdentity::Anonymous | GithubIdentity::Token { scopes: None, .. } => None,
        GithubIdentity::Token { scopes: Some(scopes), .. } => {
            let has = |any: &[&str]| any.iter().any(|scope| scopes.iter().any(|granted| granted == scope));
            let missing: Vec<&str> = [
                (!has(&["repo", "public_repo"])).then_some("`repo`"),
                (teams && !has(&["read:org", "write:org", "admin:org"])).then_some("`read:org`"),
            ]
            .into_iter()
            .flatten()
            .collect();
            Some(if missing.is_empty() {
                HealthCheck::new_good(GITHUB, "The token has the scopes that I need")
            } else {
                let repair = "Add it in the settings of the token; it stays the same.";
                HealthCheck::new_bad(GITHUB, format!("The token lacks the scope {}", format_list(&missing)), repair)
            })
        }
        GithubIdentity::App { permissions, .. } => {
            let enough = |(name, level): &(&str, &str)| {
                permissions
                    .get(*name)
                    .is_some_and(|granted| granted == level || granted == "write" || granted == "admin")
            };
            let needed = PERMISSIONS.into_iter().chain(teams.then_some(MEMBERS));
            let missing: Vec<String> =
                needed.filter(|need| !enough(need)).map(|(name, level)| format!("`{name}: {level}`")).collect();
            Some(if missing.is_empty() {
                HealthCheck::new_good(GITHUB, "The App has the permissions that I need")
            } else {
                HealthCheck::new_bad(
                    GITHUB,
                    format!("The App lacks the permission {}", format_list(&missing)),
                    "Add it in the App's settings, and accept it where the App is installed.",
                )
            })
        }
    }
}

/// Do GitHub's webhooks reach us?
pub fn check_webhooks(account: &GithubIdentity, has_secret: bool) -> Vec<HealthCheck> {
    let look = "without webhooks I look once a minute.";
    if !has_secret {
        let repair = format!("Set it to the secret of the webhook; {look}");
        return vec![HealthCheck::new_warning(
            GITHUB,
            "`GITHUB_WEBHOOK_SECRET` is not set: GitHub's webhooks are refused",
            repair,
        )];
    }
    let GithubIdentity::App { events, hook, .. } = account else {
        return vec![HealthCheck::new_good(GITHUB, "`GITHUB_WEBHOOK_SECRET` is set")];
    };
    let mut checks = Vec::new();
    let missing: Vec<String> = EVENTS
        .iter()
        .filter(|event| !events.iter().any(|subscribed| subscribed == *event))
        .map(|event| format!("`{event}`"))
        .collect();
    if !missing.is_empty() {
        let what = format!("The App is not subscribed to {}", format_list(&missing));
        let repair = format!("Subscribe it under Permissions & events; {look}");
        checks.push(HealthCheck::new_warning(GITHUB, what, repair));
    }
    let at = hook.as_ref().ok().and_then(|hook| hook.url.as_deref()).map(RedactedUrl::from_url);
    match (hook, &at) {
        (Err(trouble), _) => {
            let what = "Where the App's webhooks go cannot be seen";
            let repair = format!("See its Webhook URL and secret in the App's settings; {look}");
            checks.push(HealthCheck::new_warning(GITHUB, what, repair).with_reason(trouble.to_string()));
        }
        (Ok(_), None) => checks.push(HealthCheck::new_warning(
            GITHUB,
            "The App sends no webhooks",
            format!("Set its Webhook URL to `https://<your host>/webhooks/github`; {look}"),
        )),
        (Ok(_), Some(at)) if !at.path.ends_with("/webhooks/github") => checks.push(HealthCheck::new_warning(
            GITHUB,
            format!("The App's webhooks go to {at}"),
            "Let its Webhook URL end in `/webhooks/github`.",
        )),
        (Ok(AppWebhook { signed: false, .. }), _) => checks.push(HealthCheck::new_warning(
            GITHUB,
            "The App's webhooks are not signed",
            "Set the same Webhook secret there as in `GITHUB_WEBHOOK_SECRET`.",
        )),
        (Ok(_), Some(RedactedUrl { host, .. })) if checks.is_empty() => {
            checks.push(HealthCheck::new_good(GITHUB, format!("The App's webhooks go to {host}, with a secret")));
        }
        (Ok(_), Some(_)) => {}
    }
    checks
}

/// `None`: nobody counts.
pub fn check_request_quota(hour: &ProbeResult<Option<RequestQuota>>) -> HealthCheck {
    let RequestQuota { limit, left, resets_at } = match hour {
        Ok(Some(rate)) => rate,
        Ok(None) => return HealthCheck::new_good(GITHUB, "My requests are not limited"),
        Err(trouble) => {
            let repair = "Ask again later: when none are left, promotions wait.";
            return HealthCheck::new_warning(GITHUB, "How many requests are left cannot be seen", repair)
                .with_reason(trouble.to_string());
        }
    };
    let what = format!("{left} of {limit} requests are left until {}", resets_at.strftime("%H:%M UTC"));
    if *left == 0 {
        HealthCheck::new_bad(GITHUB, what, "Wait until then; a GitHub App has more than a person's token.")
    } else if left * 10 < *limit {
        HealthCheck::new_warning(GITHUB, what, "See who else uses this token; a GitHub App has requests of its own.")
    } else {
        HealthCheck::new_good(GITHUB, what)
    }
}

pub fn check_repository(found: &RepositoryProbe) -> Vec<HealthCheck> {
    let RepositoryProbe { name, access: shown, branches, .. } = found;
    let shown = match shown {
        Err(trouble) => {
            let repair = "Give the token or the App access to it.";
            return vec![HealthCheck::from_probe_error(GITHUB, format!("{name} cannot be read"), trouble, repair)];
        }
        Ok(None) => {
            return vec![HealthCheck::new_bad(
                GITHUB,
                format!("{name} is not there, or hidden from me"),
                "Correct its name, or install the App on it (give the token access to it).",
            )];
        }
        Ok(Some(shown)) => shown,
    };
    let mut checks = Vec::new();
    if shown.archived {
        checks.push(HealthCheck::new_bad(
            GITHUB,
            format!("{name} is archived"),
            "Unarchive it: nothing can be merged there.",
        ));
    } else if !shown.may_push {
        let repair = "Give the token's account the role Write there.";
        checks.push(HealthCheck::new_bad(GITHUB, format!("I may not push to {name}"), repair));
    }
    let by_pull =
        branches.iter().any(|branch| branch.promotion.as_ref().is_some_and(BranchPromotion::has_pull_requests));
    if by_pull && !shown.allows_merge_commits {
        checks.push(HealthCheck::new_bad(
            GITHUB,
            format!("{name} allows no merge commits, and a squash would lose what was promoted"),
            "Tick Allow merge commits under Settings, General, Pull Requests.",
        ));
    }
    for branch in branches {
        match &branch.exists {
            Ok(true) => checks
                .extend(branch.promotion.iter().flat_map(|entered| check_branch_rules(name, &branch.name, entered))),
            Ok(false) => checks.push(explain_missing_branch(name, branch)),
            Err(trouble) => {
                let what = format!("{} of {name} cannot be read", branch.name);
                checks.push(HealthCheck::from_probe_error(
                    GITHUB,
                    what,
                    trouble,
                    "Give the token or the App access to it.",
                ));
            }
        }
    }
    if checks.is_empty() {
        let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
        checks.push(HealthCheck::new_good(
            GITHUB,
            match names.as_slice() {
                [] => format!("{name} is there"),
                [one] => format!("{name} is there with {one}, and its rules let promotions in"),
                _ => format!("{name} is there with {}, and their rules let promotions in", format_list(&names)),
            },
        ));
    }
    checks
}

/// What CI says is asked before every promotion.
pub fn check_ci_access(found: &[RepositoryProbe]) -> Option<HealthCheck> {
    let refused = |found: &RepositoryProbe| Some((found.name.clone(), found.checks.clone()?.err()?));
    let refused: Vec<(Repository, ProbeError)> = found.iter().filter_map(refused).collect();
    let (_, trouble) = refused.first()?;
    let names: Vec<&Repository> = refused.iter().map(|(name, _)| name).collect();
    let repair = "Take a classic token with the scope `repo`, or an App: a fine-grained token is not shown them.";
    Some(HealthCheck::from_probe_error(
        GITHUB,
        format!("The checks of {} cannot be read", format_list(&names)),
        trouble,
        repair,
    ))
}

fn explain_missing_branch(name: &Repository, branch: &BranchProbe) -> HealthCheck {
    let BranchProbe { name: missing, below, .. } = branch;
    let repair = match below {
        Some(below) => format!("Make it: `git push origin origin/{below}:refs/heads/{missing}` in a clone of {name}."),
        None => format!("Make it: `git push origin HEAD:refs/heads/{missing}` in a clone of {name}."),
    };
    HealthCheck::new_bad(GITHUB, format!("{name} has no branch {missing}"), repair)
}

pub fn check_manifests(read: &[ManifestProbe]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut well = 0;
    for ManifestProbe { file, repository, outcome: read } in read {
        match read {
            Ok(Ok(())) => well += 1,
            // These sentences end with what to do.
            Ok(Err(problem)) => {
                let bad = HealthCheck::new_bad(GITHUB, format!("{file} of {repository} cannot be used"), "")
                    .with_reason(problem);
                checks.push(HealthCheck { repair: None, ..bad });
            }
            Err(trouble) => {
                let what = format!("{file} of {repository} cannot be read");
                checks.push(HealthCheck::from_probe_error(
                    GITHUB,
                    what,
                    trouble,
                    "Give the token or the App access to it.",
                ));
            }
        }
    }
    if well > 0 {
        let files = if well == 1 {
            "One manifest names its image".to_owned()
        } else {
            format!("{well} manifests name their images")
        };
        checks.push(HealthCheck::new_good(GITHUB, files));
    }
    checks
}

/// Teams that rules name, each with whether we see it.
pub fn check_teams(seen: &[(String, ProbeResult<bool>)]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut known = BTreeSet::new();
    let repair =
        "Correct its name, or let the App read the organisation's members (`members: read`; a token, `read:org`).";
    for (team, seen) in seen {
        match seen {
            Ok(true) => drop(known.insert(team.as_str())),
            Ok(false) => {
                checks.push(HealthCheck::new_bad(
                    GITHUB,
                    format!("The team {team} is not there, or hidden from me"),
                    repair,
                ));
            }
            Err(trouble) => {
                checks.push(HealthCheck::from_probe_error(
                    GITHUB,
                    format!("The team {team} cannot be read"),
                    trouble,
                    repair,
                ));
            }
        }
    }
    if !known.is_empty() {
        let known: Vec<&str> = known.into_iter().collect();
        checks.push(HealthCheck::new_good(GITHUB, format!("The rules name {}, which I can see", format_list(&known))));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::Health;

    fn app(permissions: &[(&str, &str)], events: &[&str], hook: ProbeResult<AppWebhook>) -> GithubIdentity {
        GithubIdentity::App {
            name: "gantry".to_owned(),
            permissions: permissions.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect(),
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            suspended: false,
            hook,
        }
    }

    fn unseen() -> ProbeResult<AppWebhook> {
        Err(ProbeError::Unreachable("it answered 502".to_owned()))
    }

    #[test]
    fn an_app_needs_each_permission_at_its_level_or_above() {
        let all = app(&[PERMISSIONS.as_slice(), &[MEMBERS]].concat(), &EVENTS, unseen());
        assert_eq!(check_permissions(&all, true).unwrap().health, Health::Good);
        let less = app(
            &[("metadata", "read"), ("contents", "read"), ("pull_requests", "admin"), ("checks", "write")],
            &[],
            unseen(),
        );
        let check = check_permissions(&less, true).unwrap();
        assert_eq!(
            check.summary,
            "The App lacks the permission `contents: write`, `statuses: read` and `members: read`"
        );
    }

    #[test]
    fn a_token_of_which_nobody_tells_the_scopes_is_not_complained_of() {
        let token = |scopes: Option<&[&str]>| GithubIdentity::Token {
            login: "gantry".to_owned(),
            scopes: scopes.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect()),
        };
        assert_eq!(check_permissions(&token(None), true), None);
        assert_eq!(check_permissions(&token(Some(&["repo"])), false).unwrap().health, Health::Good);
        assert_eq!(
            check_permissions(&token(Some(&["repo"])), true).unwrap().summary,
            "The token lacks the scope `read:org`"
        );
        assert_eq!(
            check_permissions(&token(Some(&["gist"])), false).unwrap().summary,
            "The token lacks the scope `repo`"
        );
    }

    #[test]
    fn where_an_apps_webhooks_go_is_told() {
        let hook = |url: Option<&str>, signed| Ok(AppWebhook { url: url.map(str::to_owned), signed });
        let here = Some("https://gantry.example.com/webhooks/github");
        let said = |hook| {
            let checks = check_webhooks(&app(&[], &EVENTS, hook), true);
            checks.into_iter().map(|check| check.summary).collect::<Vec<_>>()
        };
        assert_eq!(said(hook(here, true)), ["The App's webhooks go to gantry.example.com, with a secret"]);
        assert_eq!(said(hook(here, false)), ["The App's webhooks are not signed"]);
        assert_eq!(said(hook(None, false)), ["The App sends no webhooks"]);
        let elsewhere = hook(Some("https://me:secret@x/hook?token=secret"), true);
        assert_eq!(said(elsewhere), ["The App's webhooks go to https://x/hook"]);
        assert_eq!(said(unseen()), ["Where the App's webhooks go cannot be seen"]);
        let deaf = check_webhooks(&app(&[], &EVENTS[1..], hook(here, true)), true);
        assert_eq!(deaf.len(), 1);
        assert_eq!(deaf[0].summary, "The App is not subscribed to `pull_request`");
    }

    #[test]
    fn little_that_is_left_is_a_warning_and_nothing_is_worse() {
        let health = |left| {
            check_request_quota(&Ok(Some(RequestQuota { limit: 5000, left, resets_at: Timestamp::UNIX_EPOCH }))).health
        };
        assert_eq!([500, 499, 0].map(health), [Health::Good, Health::Warning, Health::Bad]);
    }
}
