//! What GitHub lets us do: who we are there, with which permissions, how much of the hour's requests is left, and whether
//! repositories, branches, files and webhooks are as a promotion needs them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::rules::{Entered, rules};
use super::{Address, Check, Learned, Service, Trouble, listed};
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
pub enum Account {
    /// Without a token.
    Nobody,
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
        hook: Learned<Hook>,
    },
}

/// Where an App's webhooks go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub url: Option<String>,
    pub signed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub limit: u64,
    pub left: u64,
    pub resets_at: Timestamp,
}

/// What was found of a repository and of what we want in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub name: Repository,
    /// `None`: there is none, or it is hidden from us.
    pub shown: Learned<Option<Shown>>,
    pub branches: Vec<Branch>,
    /// Are we shown what CI says of its commits? Nothing where it need not be tried.
    pub checks: Option<Learned<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub archived: bool,
    pub may_push: bool,
    pub merge_commits: bool,
}

/// A branch that an environment stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub name: String,
    /// From which it can be made, where it is missing.
    pub below: Option<String>,
    pub there: Learned<bool>,
    /// How we enter it, and what its rules say; nothing where nobody promotes into it.
    pub entered: Option<Entered>,
}

/// A file that says which version is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub file: String,
    pub repository: Repository,
    pub read: Learned<Result<(), String>>,
}

pub fn account(asked: &Learned<Account>) -> Check {
    match asked {
        Ok(Account::Nobody) => Check::bad(
            GITHUB,
            "I have no way in to GitHub",
            "Set `GITHUB_TOKEN`, or `GITHUB_APP_ID`, `GITHUB_APP_PRIVATE_KEY` and `GITHUB_APP_INSTALLATION_ID`.",
        ),
        Ok(Account::Token { login, .. }) => Check::good(GITHUB, format!("I am {login}, by a token")),
        Ok(Account::App { name, suspended: true, .. }) => Check::bad(
            GITHUB,
            format!("The installation of the App {name} is suspended"),
            "Unsuspend it in the organisation's settings, under GitHub Apps.",
        ),
        Ok(Account::App { name, .. }) => Check::good(GITHUB, format!("I am the App {name}")),
        Err(trouble) => Check::trouble(
            GITHUB,
            match trouble {
                Trouble::Refused(_) => "GitHub does not let me in",
                Trouble::Away(_) => "GitHub cannot be asked",
            },
            trouble,
            "Make a new token for `GITHUB_TOKEN`, or take the App's id, private key and installation id anew.",
        ),
    }
}

/// `teams`: a rule names a team of GitHub.
pub fn permissions(account: &Account, teams: bool) -> Option<Check> {
    match account {
        Account::Nobody | Account::Token { scopes: None, .. } => None,
        Account::Token { scopes: Some(scopes), .. } => {
            let has = |any: &[&str]| any.iter().any(|scope| scopes.iter().any(|granted| granted == scope));
            let missing: Vec<&str> = [
                (!has(&["repo", "public_repo"])).then_some("`repo`"),
                (teams && !has(&["read:org", "write:org", "admin:org"])).then_some("`read:org`"),
            ]
            .into_iter()
            .flatten()
            .collect();
            Some(if missing.is_empty() {
                Check::good(GITHUB, "The token has the scopes that I need")
            } else {
                let repair = "Add it in the settings of the token; it stays the same.";
                Check::bad(GITHUB, format!("The token lacks the scope {}", listed(&missing)), repair)
            })
        }
        Account::App { permissions, .. } => {
            let enough = |(name, level): &(&str, &str)| {
                permissions
                    .get(*name)
                    .is_some_and(|granted| granted == level || granted == "write" || granted == "admin")
            };
            let needed = PERMISSIONS.into_iter().chain(teams.then_some(MEMBERS));
            let missing: Vec<String> =
                needed.filter(|need| !enough(need)).map(|(name, level)| format!("`{name}: {level}`")).collect();
            Some(if missing.is_empty() {
                Check::good(GITHUB, "The App has the permissions that I need")
            } else {
                Check::bad(
                    GITHUB,
                    format!("The App lacks the permission {}", listed(&missing)),
                    "Add it in the App's settings, and accept it where the App is installed.",
                )
            })
        }
    }
}

/// Do GitHub's webhooks reach us?
pub fn webhooks(account: &Account, has_secret: bool) -> Vec<Check> {
    let look = "without webhooks I look once a minute.";
    if !has_secret {
        let repair = format!("Set it to the secret of the webhook; {look}");
        return vec![Check::warning(
            GITHUB,
            "`GITHUB_WEBHOOK_SECRET` is not set: GitHub's webhooks are refused",
            repair,
        )];
    }
    let Account::App { events, hook, .. } = account else {
        return vec![Check::good(GITHUB, "`GITHUB_WEBHOOK_SECRET` is set")];
    };
    let mut checks = Vec::new();
    let missing: Vec<String> = EVENTS
        .iter()
        .filter(|event| !events.iter().any(|subscribed| subscribed == *event))
        .map(|event| format!("`{event}`"))
        .collect();
    if !missing.is_empty() {
        let what = format!("The App is not subscribed to {}", listed(&missing));
        let repair = format!("Subscribe it under Permissions & events; {look}");
        checks.push(Check::warning(GITHUB, what, repair));
    }
    let at = hook.as_ref().ok().and_then(|hook| hook.url.as_deref()).map(Address::of);
    match (hook, &at) {
        (Err(trouble), _) => {
            let what = "Where the App's webhooks go cannot be seen";
            let repair = format!("See its Webhook URL and secret in the App's settings; {look}");
            checks.push(Check::warning(GITHUB, what, repair).because(trouble.to_string()));
        }
        (Ok(_), None) => checks.push(Check::warning(
            GITHUB,
            "The App sends no webhooks",
            format!("Set its Webhook URL to `https://<your host>/webhooks/github`; {look}"),
        )),
        (Ok(_), Some(at)) if !at.path.ends_with("/webhooks/github") => checks.push(Check::warning(
            GITHUB,
            format!("The App's webhooks go to {at}"),
            "Let its Webhook URL end in `/webhooks/github`.",
        )),
        (Ok(Hook { signed: false, .. }), _) => checks.push(Check::warning(
            GITHUB,
            "The App's webhooks are not signed",
            "Set the same Webhook secret there as in `GITHUB_WEBHOOK_SECRET`.",
        )),
        (Ok(_), Some(Address { host, .. })) if checks.is_empty() => {
            checks.push(Check::good(GITHUB, format!("The App's webhooks go to {host}, with a secret")));
        }
        (Ok(_), Some(_)) => {}
    }
    checks
}

/// `None`: nobody counts.
pub fn rate(hour: &Learned<Option<Rate>>) -> Check {
    let Rate { limit, left, resets_at } = match hour {
        Ok(Some(rate)) => rate,
        Ok(None) => return Check::good(GITHUB, "My requests are not limited"),
        Err(trouble) => {
            let repair = "Ask again later: when none are left, promotions wait.";
            return Check::warning(GITHUB, "How many requests are left cannot be seen", repair)
                .because(trouble.to_string());
        }
    };
    let what = format!("{left} of {limit} requests are left until {}", resets_at.strftime("%H:%M UTC"));
    if *left == 0 {
        Check::bad(GITHUB, what, "Wait until then; a GitHub App has more than a person's token.")
    } else if left * 10 < *limit {
        Check::warning(GITHUB, what, "See who else uses this token; a GitHub App has requests of its own.")
    } else {
        Check::good(GITHUB, what)
    }
}

pub fn repository(found: &Found) -> Vec<Check> {
    let Found { name, shown, branches, .. } = found;
    let shown = match shown {
        Err(trouble) => {
            let repair = "Give the token or the App access to it.";
            return vec![Check::trouble(GITHUB, format!("{name} cannot be read"), trouble, repair)];
        }
        Ok(None) => {
            return vec![Check::bad(
                GITHUB,
                format!("{name} is not there, or hidden from me"),
                "Correct its name, or install the App on it (give the token access to it).",
            )];
        }
        Ok(Some(shown)) => shown,
    };
    let mut checks = Vec::new();
    if shown.archived {
        checks.push(Check::bad(GITHUB, format!("{name} is archived"), "Unarchive it: nothing can be merged there."));
    } else if !shown.may_push {
        let repair = "Give the token's account the role Write there.";
        checks.push(Check::bad(GITHUB, format!("I may not push to {name}"), repair));
    }
    let by_pull = branches.iter().any(|branch| branch.entered.as_ref().is_some_and(Entered::by_pull_request));
    if by_pull && !shown.merge_commits {
        checks.push(Check::bad(
            GITHUB,
            format!("{name} allows no merge commits, and a squash would lose what was promoted"),
            "Tick Allow merge commits under Settings, General, Pull Requests.",
        ));
    }
    for branch in branches {
        match &branch.there {
            Ok(true) => checks.extend(branch.entered.iter().flat_map(|entered| rules(name, &branch.name, entered))),
            Ok(false) => checks.push(missing(name, branch)),
            Err(trouble) => {
                let what = format!("{} of {name} cannot be read", branch.name);
                checks.push(Check::trouble(GITHUB, what, trouble, "Give the token or the App access to it."));
            }
        }
    }
    if checks.is_empty() {
        let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
        checks.push(Check::good(
            GITHUB,
            match names.as_slice() {
                [] => format!("{name} is there"),
                [one] => format!("{name} is there with {one}, and its rules let promotions in"),
                _ => format!("{name} is there with {}, and their rules let promotions in", listed(&names)),
            },
        ));
    }
    checks
}

/// What CI says is asked before every promotion.
pub fn ci(found: &[Found]) -> Option<Check> {
    let refused = |found: &Found| Some((found.name.clone(), found.checks.clone()?.err()?));
    let refused: Vec<(Repository, Trouble)> = found.iter().filter_map(refused).collect();
    let (_, trouble) = refused.first()?;
    let names: Vec<&Repository> = refused.iter().map(|(name, _)| name).collect();
    let repair = "Take a classic token with the scope `repo`, or an App: a fine-grained token is not shown them.";
    Some(Check::trouble(GITHUB, format!("The checks of {} cannot be read", listed(&names)), trouble, repair))
}

fn missing(name: &Repository, branch: &Branch) -> Check {
    let Branch { name: missing, below, .. } = branch;
    let repair = match below {
        Some(below) => format!("Make it: `git push origin origin/{below}:refs/heads/{missing}` in a clone of {name}."),
        None => format!("Make it: `git push origin HEAD:refs/heads/{missing}` in a clone of {name}."),
    };
    Check::bad(GITHUB, format!("{name} has no branch {missing}"), repair)
}

pub fn manifests(read: &[Manifest]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut well = 0;
    for Manifest { file, repository, read } in read {
        match read {
            Ok(Ok(())) => well += 1,
            // These sentences end with what to do.
            Ok(Err(problem)) => {
                let bad = Check::bad(GITHUB, format!("{file} of {repository} cannot be used"), "").because(problem);
                checks.push(Check { repair: None, ..bad });
            }
            Err(trouble) => {
                let what = format!("{file} of {repository} cannot be read");
                checks.push(Check::trouble(GITHUB, what, trouble, "Give the token or the App access to it."));
            }
        }
    }
    if well > 0 {
        let files = if well == 1 {
            "One manifest names its image".to_owned()
        } else {
            format!("{well} manifests name their images")
        };
        checks.push(Check::good(GITHUB, files));
    }
    checks
}

/// Teams that rules name, each with whether we see it.
pub fn teams(seen: &[(String, Learned<bool>)]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut known = BTreeSet::new();
    let repair =
        "Correct its name, or let the App read the organisation's members (`members: read`; a token, `read:org`).";
    for (team, seen) in seen {
        match seen {
            Ok(true) => drop(known.insert(team.as_str())),
            Ok(false) => {
                checks.push(Check::bad(GITHUB, format!("The team {team} is not there, or hidden from me"), repair));
            }
            Err(trouble) => {
                checks.push(Check::trouble(GITHUB, format!("The team {team} cannot be read"), trouble, repair));
            }
        }
    }
    if !known.is_empty() {
        let known: Vec<&str> = known.into_iter().collect();
        checks.push(Check::good(GITHUB, format!("The rules name {}, which I can see", listed(&known))));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::Health;

    fn app(permissions: &[(&str, &str)], events: &[&str], hook: Learned<Hook>) -> Account {
        Account::App {
            name: "gantry".to_owned(),
            permissions: permissions.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect(),
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            suspended: false,
            hook,
        }
    }

    fn unseen() -> Learned<Hook> {
        Err(Trouble::Away("it answered 502".to_owned()))
    }

    #[test]
    fn an_app_needs_each_permission_at_its_level_or_above() {
        let all = app(&[PERMISSIONS.as_slice(), &[MEMBERS]].concat(), &EVENTS, unseen());
        assert_eq!(permissions(&all, true).unwrap().health, Health::Good);
        let less = app(
            &[("metadata", "read"), ("contents", "read"), ("pull_requests", "admin"), ("checks", "write")],
            &[],
            unseen(),
        );
        let check = permissions(&less, true).unwrap();
        assert_eq!(check.what, "The App lacks the permission `contents: write`, `statuses: read` and `members: read`");
    }

    #[test]
    fn a_token_of_which_nobody_tells_the_scopes_is_not_complained_of() {
        let token = |scopes: Option<&[&str]>| Account::Token {
            login: "gantry".to_owned(),
            scopes: scopes.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect()),
        };
        assert_eq!(permissions(&token(None), true), None);
        assert_eq!(permissions(&token(Some(&["repo"])), false).unwrap().health, Health::Good);
        assert_eq!(permissions(&token(Some(&["repo"])), true).unwrap().what, "The token lacks the scope `read:org`");
        assert_eq!(permissions(&token(Some(&["gist"])), false).unwrap().what, "The token lacks the scope `repo`");
    }

    #[test]
    fn where_an_apps_webhooks_go_is_told() {
        let hook = |url: Option<&str>, signed| Ok(Hook { url: url.map(str::to_owned), signed });
        let here = Some("https://gantry.example.com/webhooks/github");
        let said = |hook| {
            let checks = webhooks(&app(&[], &EVENTS, hook), true);
            checks.into_iter().map(|check| check.what).collect::<Vec<_>>()
        };
        assert_eq!(said(hook(here, true)), ["The App's webhooks go to gantry.example.com, with a secret"]);
        assert_eq!(said(hook(here, false)), ["The App's webhooks are not signed"]);
        assert_eq!(said(hook(None, false)), ["The App sends no webhooks"]);
        let elsewhere = hook(Some("https://me:secret@x/hook?token=secret"), true);
        assert_eq!(said(elsewhere), ["The App's webhooks go to https://x/hook"]);
        assert_eq!(said(unseen()), ["Where the App's webhooks go cannot be seen"]);
        let deaf = webhooks(&app(&[], &EVENTS[1..], hook(here, true)), true);
        assert_eq!(deaf.len(), 1);
        assert_eq!(deaf[0].what, "The App is not subscribed to `pull_request`");
    }

    #[test]
    fn little_that_is_left_is_a_warning_and_nothing_is_worse() {
        let health = |left| rate(&Ok(Some(Rate { limit: 5000, left, resets_at: Timestamp::UNIX_EPOCH }))).health;
        assert_eq!([500, 499, 0].map(health), [Health::Good, Health::Warning, Health::Bad]);
    }
}
