//! What Slack lets us do: the token and its scopes, the channels, the groups that the rules name, and the signing secret.

use std::collections::BTreeSet;

use super::run::{ProbeError, ProbeResult, RedactedUrl, format_list};
use crate::domain::doctor::{HealthCheck, Service};

const SLACK: Service = Service::Slack;

/// Who we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub name: String,
    /// Without its `@`.
    pub bot: String,
    /// `None` where Slack does not tell.
    pub scopes: Option<Vec<String>>,
}

/// A channel that the bot is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    pub id: String,
    pub name: String,
    pub archived: bool,
}

/// Whom a rule names, as it is written, and which rule that is: `prod's approvals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePrincipal {
    pub written: String,
    pub rule: String,
    pub resolved: ResolvedPrincipal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedPrincipal {
    /// How many are in it.
    Group {
        members: BTreeSet<String>,
    },
    Person {
        id: String,
    },
    /// No group has this handle; it may be a person's, which nobody can look up.
    Handle,
    NoGroup,
    NoPerson,
    /// Slack could not tell.
    Unknown(ProbeError),
    /// Of GitHub, which is asked elsewhere.
    Team,
}

/// What became of a request that we signed ourselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureProbe {
    /// No secret.
    NoSecret,
    /// A secret that cannot be used, which was said.
    UnusableSecret,
    /// Slack comes by our own socket and signs nothing, so this address could not be tried.
    SocketMode {
        untried: Option<RedactedUrl>,
    },
    /// There is a secret; nobody said where to try it.
    NotProbed,
    /// By the endpoint at this address.
    Accepted(RedactedUrl),
    Refused {
        url: RedactedUrl,
        status: u16,
    },
    Unreachable {
        url: RedactedUrl,
        why: String,
    },
}

pub fn explain_missing_token() -> HealthCheck {
    HealthCheck::new_bad(
        SLACK,
        "`SLACK_BOT_TOKEN` is not set",
        "Set it, or `SLACK_BOT_TOKEN_FILE`, to the app's Bot User OAuth Token (`xoxb-...`).",
    )
}

pub fn check_token(asked: &ProbeResult<Workspace>) -> HealthCheck {
    match asked {
        Ok(Workspace { name, bot, .. }) => HealthCheck::new_good(SLACK, format!("I am @{bot} in the workspace {name}")),
        Err(trouble) => HealthCheck::from_probe_error(
            SLACK,
            match trouble {
                ProbeError::Refused(_) => "Slack does not take the token",
                ProbeError::Unreachable(_) => "Slack cannot be asked",
            },
            trouble,
            "Install the app in the workspace, and put its Bot User OAuth Token into `SLACK_BOT_TOKEN`.",
        ),
    }
}

pub fn check_scopes(granted: Option<&[String]>, needed: &[String]) -> HealthCheck {
    let Some(granted) = granted else {
        return HealthCheck::new_warning(
            SLACK,
            "Slack does not tell which scopes the token has",
            "Compare the app's scopes with deploy/slack/manifest.yaml.",
        );
    };
    let missing: Vec<String> =
        needed.iter().filter(|scope| !granted.contains(scope)).map(|scope| format!("`{scope}`")).collect();
    if missing.is_empty() {
        return HealthCheck::new_good(SLACK, format!("The token has all {} scopes", needed.len()));
    }
    let word = if missing.len() == 1 { "scope" } else { "scopes" };
    HealthCheck::new_bad(
        SLACK,
        format!("The token lacks the {word} {}", format_list(&missing)),
        "Add what is missing under OAuth & Permissions, or by deploy/slack/manifest.yaml, and install the app again.",
    )
}

/// `wanted` as they are configured: `#deploys`, or an id.
pub fn check_channels(wanted: &[String], joined: &ProbeResult<Vec<Channel>>, bot: &str) -> Vec<HealthCheck> {
    let joined = match joined {
        Ok(joined) => joined,
        Err(trouble) => {
            let repair = "Give the app the scopes `channels:read` and `groups:read`.";
            return vec![HealthCheck::from_probe_error(SLACK, "I cannot see which channels I am in", trouble, repair)];
        }
    };
    let mut checks = Vec::new();
    let mut here = Vec::new();
    for channel in wanted {
        let name = channel.strip_prefix('#').unwrap_or(channel);
        match joined.iter().find(|known| known.name == name || known.id == *channel) {
            Some(known) if known.archived => checks.push(HealthCheck::new_bad(
                SLACK,
                format!("{channel} is archived"),
                "Unarchive it, or name another channel in the configuration.",
            )),
            Some(_) => here.push(channel),
            None => checks.push(HealthCheck::new_bad(
                SLACK,
                format!("I am not in {channel}"),
                format!(
                    "Type `/invite @{bot}` there, in a private channel too; if there is none of this name, create it."
                ),
            )),
        }
    }
    if !here.is_empty() {
        checks.push(HealthCheck::new_good(SLACK, format!("I am in {}", format_list(&here))));
    }
    checks
}

pub fn check_signing_secret(trip: &SignatureProbe) -> Option<HealthCheck> {
    Some(match trip {
        SignatureProbe::UnusableSecret => return None,
        SignatureProbe::NoSecret => HealthCheck::new_bad(
            SLACK,
            "`SLACK_SIGNING_SECRET` is not set, so no request of Slack's can be let in",
            "Set it, or `SLACK_SIGNING_SECRET_FILE`, to the Signing Secret under Basic Information of the app.",
        ),
        SignatureProbe::SocketMode { untried: None } => {
            HealthCheck::new_good(SLACK, "By Socket Mode nothing has to be signed")
        }
        SignatureProbe::SocketMode { untried: Some(url) } => HealthCheck::new_warning(
            SLACK,
            format!("By Socket Mode nothing has to be signed, so {url} was not tried"),
            "Leave out `--url`, or set `SLACK_SIGNING_SECRET` as well if Slack comes there too.",
        ),
        SignatureProbe::NotProbed => HealthCheck::new_good(
            SLACK,
            "`SLACK_SIGNING_SECRET` is set; `gantry doctor --url https://<your host>` tries it the way that Slack goes",
        ),
        SignatureProbe::Accepted(url) => {
            HealthCheck::new_good(SLACK, format!("{url} let in a request that I signed myself"))
        }
        SignatureProbe::Refused { url, status: 401 } => HealthCheck::new_bad(
            SLACK,
            format!("{url} does not let in what I sign"),
            "Give the Gantry that serves there the same `SLACK_SIGNING_SECRET`, or set its clock right.",
        ),
        SignatureProbe::Refused { url, status } => HealthCheck::new_bad(
            SLACK,
            format!("{url} answered HTTP {status} to a request that I signed myself"),
            "Let this address lead to Gantry: its path must end in `/slack/events`.",
        ),
        SignatureProbe::Unreachable { url, why } => HealthCheck::new_bad(
            SLACK,
            format!("{url} cannot be reached"),
            "Check the address, its DNS name, certificate and ingress.",
        )
        .with_reason(why),
    })
}

/// `None`: no Socket Mode.
pub fn check_app_token(opened: Option<&ProbeResult<()>>) -> Option<HealthCheck> {
    Some(match opened? {
        Ok(()) => HealthCheck::new_good(SLACK, "The app-level token opens sockets"),
        Err(trouble) => HealthCheck::from_probe_error(
            SLACK,
            "The app-level token opens no socket",
            trouble,
            "Turn Socket Mode on, and put an app-level token with `connections:write` into `SLACK_APP_TOKEN`.",
        ),
    })
}

pub fn check_principals(named: &[RulePrincipal]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for RulePrincipal { written, rule, resolved: who } in named {
        match who {
            ResolvedPrincipal::Group { members } if members.is_empty() => checks.push(HealthCheck::new_bad(
                SLACK,
                format!("Nobody is in {written}, which {rule} names"),
                "Put people into the user group, or name another one.",
            )),
            ResolvedPrincipal::Group { .. } | ResolvedPrincipal::Person { .. } => known.push(written),
            ResolvedPrincipal::Team => {}
            ResolvedPrincipal::Handle => checks.push(HealthCheck::new_warning(
                SLACK,
                format!("No user group is called {written}, which {rule} names: I take it for a person"),
                "Correct the handle, or write the person's member id (`U...`), which no other name can take over.",
            )),
            ResolvedPrincipal::NoGroup => checks.push(HealthCheck::new_bad(
                SLACK,
                format!("There is no user group {written}, which {rule} names"),
                "Write the group's handle, as in `@release-managers`.",
            )),
            ResolvedPrincipal::NoPerson => checks.push(HealthCheck::new_bad(
                SLACK,
                format!("{written}, whom {rule} names, is not in this workspace"),
                "Take the member id from the person's profile.",
            )),
            ResolvedPrincipal::Unknown(trouble) => {
                let what = format!("I cannot see who {written} is, whom {rule} names");
                checks.push(HealthCheck::from_probe_error(
                    SLACK,
                    what,
                    trouble,
                    "Give the app the scopes `usergroups:read` and `users:read`.",
                ));
            }
        }
    }
    known.sort_unstable();
    known.dedup();
    if !known.is_empty() {
        checks.push(HealthCheck::new_good(
            SLACK,
            format!("The rules name {}, known in this workspace", format_list(&known)),
        ));
    }
    checks
}

/// Can enough people say yes to a change into an environment, beside the one who asks? `None` where that is not known.
pub fn check_approver_count(environment: &str, required: u32, from: &[&RulePrincipal]) -> Option<HealthCheck> {
    let mut people: BTreeSet<&str> = BTreeSet::new();
    for named in from {
        match &named.resolved {
            ResolvedPrincipal::Group { members } => people.extend(members.iter().map(String::as_str)),
            ResolvedPrincipal::Person { id } => drop(people.insert(id)),
            _ => return None,
        }
    }
    let (there, wanted) = (people.len(), required as usize);
    let what = format!("{environment} wants {required} approvals, and {there} may give one");
    if from.is_empty() || there > wanted {
        None
    } else if there < wanted {
        Some(HealthCheck::new_bad(SLACK, what, "Put more people into the groups under `approvals`, or require fewer."))
    } else {
        let repair = "Nobody approves their own change, so theirs can never be approved: let one more person approve.";
        Some(HealthCheck::new_warning(SLACK, what, repair))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::Health;

    fn named(who: ResolvedPrincipal) -> RulePrincipal {
        RulePrincipal { written: "@release-managers".to_owned(), rule: "prod's approvals".to_owned(), resolved: who }
    }

    fn group(count: usize) -> ResolvedPrincipal {
        ResolvedPrincipal::Group { members: (0..count).map(|n| format!("U{n}")).collect() }
    }

    #[test]
    fn who_asks_does_not_approve_so_one_more_is_needed() {
        let health = |who: ResolvedPrincipal, required| {
            check_approver_count("prod", required, &[&named(who)]).map(|check| check.health)
        };
        assert_eq!(health(group(3), 2), None);
        assert_eq!(health(group(2), 2), Some(Health::Warning));
        assert_eq!(health(group(1), 2), Some(Health::Bad));
        assert_eq!(health(ResolvedPrincipal::Team, 2), None, "GitHub knows");
        assert_eq!(check_approver_count("prod", 2, &[]), None, "everybody may");
        let both = [&named(group(2)), &named(ResolvedPrincipal::Person { id: "U1".to_owned() })];
        assert_eq!(
            check_approver_count("prod", 2, &both).map(|check| check.health),
            Some(Health::Warning),
            "once each"
        );
    }

    #[test]
    fn a_channel_is_known_by_its_name_or_its_id() {
        let deploys = Channel { id: "C1".to_owned(), name: "deploys".to_owned(), archived: false };
        let old = Channel { id: "C2".to_owned(), name: "old".to_owned(), archived: true };
        let wanted = ["#deploys", "C1", "#old", "#other"].map(str::to_owned);
        let checks = check_channels(&wanted, &Ok(vec![deploys, old]), "gantry");
        let said: Vec<_> = checks.iter().map(|check| (check.health, check.summary.as_str())).collect();
        let expected = [
            (Health::Bad, "#old is archived"),
            (Health::Bad, "I am not in #other"),
            (Health::Good, "I am in #deploys and C1"),
        ];
        assert_eq!(said, expected);
    }
}
