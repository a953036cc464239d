//! What Slack lets us do: the token and its scopes, the channels, the groups that the rules name, and the signing secret.

use std::collections::BTreeSet;

use super::{Address, Check, Learned, Service, Trouble, listed};

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
pub struct Named {
    pub written: String,
    pub rule: String,
    pub who: Who,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
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
    Unknown(Trouble),
    /// Of GitHub, which is asked elsewhere.
    Team,
}

/// What became of a request that we signed ourselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trip {
    /// No secret.
    Unsigned,
    /// A secret that cannot be used, which was said.
    Wrong,
    /// Slack comes by our own socket and signs nothing, so this address could not be tried.
    BySocket {
        untried: Option<Address>,
    },
    /// There is a secret; nobody said where to try it.
    Untried,
    /// By the endpoint at this address.
    LetIn(Address),
    Refused {
        url: Address,
        status: u16,
    },
    Away {
        url: Address,
        why: String,
    },
}

pub fn no_token() -> Check {
    Check::bad(
        SLACK,
        "`SLACK_BOT_TOKEN` is not set",
        "Set it, or `SLACK_BOT_TOKEN_FILE`, to the app's Bot User OAuth Token (`xoxb-...`).",
    )
}

pub fn token(asked: &Learned<Workspace>) -> Check {
    match asked {
        Ok(Workspace { name, bot, .. }) => Check::good(SLACK, format!("I am @{bot} in the workspace {name}")),
        Err(trouble) => Check::trouble(
            SLACK,
            match trouble {
                Trouble::Refused(_) => "Slack does not take the token",
                Trouble::Away(_) => "Slack cannot be asked",
            },
            trouble,
            "Install the app in the workspace, and put its Bot User OAuth Token into `SLACK_BOT_TOKEN`.",
        ),
    }
}

pub fn scopes(granted: Option<&[String]>, needed: &[String]) -> Check {
    let Some(granted) = granted else {
        return Check::warning(
            SLACK,
            "Slack does not tell which scopes the token has",
            "Compare the app's scopes with deploy/slack/manifest.yaml.",
        );
    };
    let missing: Vec<String> =
        needed.iter().filter(|scope| !granted.contains(scope)).map(|scope| format!("`{scope}`")).collect();
    if missing.is_empty() {
        return Check::good(SLACK, format!("The token has all {} scopes", needed.len()));
    }
    let word = if missing.len() == 1 { "scope" } else { "scopes" };
    Check::bad(
        SLACK,
        format!("The token lacks the {word} {}", listed(&missing)),
        "Add what is missing under OAuth & Permissions, or by deploy/slack/manifest.yaml, and install the app again.",
    )
}

/// `wanted` as they are configured: `#deploys`, or an id.
pub fn channels(wanted: &[String], joined: &Learned<Vec<Channel>>, bot: &str) -> Vec<Check> {
    let joined = match joined {
        Ok(joined) => joined,
        Err(trouble) => {
            let repair = "Give the app the scopes `channels:read` and `groups:read`.";
            return vec![Check::trouble(SLACK, "I cannot see which channels I am in", trouble, repair)];
        }
    };
    let mut checks = Vec::new();
    let mut here = Vec::new();
    for channel in wanted {
        let name = channel.strip_prefix('#').unwrap_or(channel);
        match joined.iter().find(|known| known.name == name || known.id == *channel) {
            Some(known) if known.archived => checks.push(Check::bad(
                SLACK,
                format!("{channel} is archived"),
                "Unarchive it, or name another channel in the configuration.",
            )),
            Some(_) => here.push(channel),
            None => checks.push(Check::bad(
                SLACK,
                format!("I am not in {channel}"),
                format!(
                    "Type `/invite @{bot}` there, in a private channel too; if there is none of this name, create it."
                ),
            )),
        }
    }
    if !here.is_empty() {
        checks.push(Check::good(SLACK, format!("I am in {}", listed(&here))));
    }
    checks
}

pub fn signing(trip: &Trip) -> Option<Check> {
    Some(match trip {
        Trip::Wrong => return None,
        Trip::Unsigned => Check::bad(
            SLACK,
            "`SLACK_SIGNING_SECRET` is not set, so no request of Slack's can be let in",
            "Set it, or `SLACK_SIGNING_SECRET_FILE`, to the Signing Secret under Basic Information of the app.",
        ),
        Trip::BySocket { untried: None } => Check::good(SLACK, "By Socket Mode nothing has to be signed"),
        Trip::BySocket { untried: Some(url) } => Check::warning(
            SLACK,
            format!("By Socket Mode nothing has to be signed, so {url} was not tried"),
            "Leave out `--url`, or set `SLACK_SIGNING_SECRET` as well if Slack comes there too.",
        ),
        Trip::Untried => Check::good(
            SLACK,
            "`SLACK_SIGNING_SECRET` is set; `gantry doctor --url https://<your host>` tries it the way that Slack goes",
        ),
        Trip::LetIn(url) => Check::good(SLACK, format!("{url} let in a request that I signed myself")),
        Trip::Refused { url, status: 401 } => Check::bad(
            SLACK,
            format!("{url} does not let in what I sign"),
            "Give the Gantry that serves there the same `SLACK_SIGNING_SECRET`, or set its clock right.",
        ),
        Trip::Refused { url, status } => Check::bad(
            SLACK,
            format!("{url} answered HTTP {status} to a request that I signed myself"),
            "Let this address lead to Gantry: its path must end in `/slack/events`.",
        ),
        Trip::Away { url, why } => Check::bad(
            SLACK,
            format!("{url} cannot be reached"),
            "Check the address, its DNS name, certificate and ingress.",
        )
        .because(why),
    })
}

/// `None`: no Socket Mode.
pub fn app_token(opened: Option<&Learned<()>>) -> Option<Check> {
    Some(match opened? {
        Ok(()) => Check::good(SLACK, "The app-level token opens sockets"),
        Err(trouble) => Check::trouble(
            SLACK,
            "The app-level token opens no socket",
            trouble,
            "Turn Socket Mode on, and put an app-level token with `connections:write` into `SLACK_APP_TOKEN`.",
        ),
    })
}

pub fn groups(named: &[Named]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for Named { written, rule, who } in named {
        match who {
            Who::Group { members } if members.is_empty() => checks.push(Check::bad(
                SLACK,
                format!("Nobody is in {written}, which {rule} names"),
                "Put people into the user group, or name another one.",
            )),
            Who::Group { .. } | Who::Person { .. } => known.push(written),
            Who::Team => {}
            Who::Handle => checks.push(Check::warning(
                SLACK,
                format!("No user group is called {written}, which {rule} names: I take it for a person"),
                "Correct the handle, or write the person's member id (`U...`), which no other name can take over.",
            )),
            Who::NoGroup => checks.push(Check::bad(
                SLACK,
                format!("There is no user group {written}, which {rule} names"),
                "Write the group's handle, as in `@release-managers`.",
            )),
            Who::NoPerson => checks.push(Check::bad(
                SLACK,
                format!("{written}, whom {rule} names, is not in this workspace"),
                "Take the member id from the person's profile.",
            )),
            Who::Unknown(trouble) => {
                let what = format!("I cannot see who {written} is, whom {rule} names");
                checks.push(Check::trouble(
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
        checks.push(Check::good(SLACK, format!("The rules name {}, known in this workspace", listed(&known))));
    }
    checks
}

/// Can enough people say yes to a change into an environment, beside the one who asks? `None` where that is not known.
pub fn approvers(environment: &str, required: u32, from: &[&Named]) -> Option<Check> {
    let mut people: BTreeSet<&str> = BTreeSet::new();
    for named in from {
        match &named.who {
            Who::Group { members } => people.extend(members.iter().map(String::as_str)),
            Who::Person { id } => drop(people.insert(id)),
            _ => return None,
        }
    }
    let (there, wanted) = (people.len(), required as usize);
    let what = format!("{environment} wants {required} approvals, and {there} may give one");
    if from.is_empty() || there > wanted {
        None
    } else if there < wanted {
        Some(Check::bad(SLACK, what, "Put more people into the groups under `approvals`, or require fewer."))
    } else {
        let repair = "Nobody approves their own change, so theirs can never be approved: let one more person approve.";
        Some(Check::warning(SLACK, what, repair))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::Health;

    fn named(who: Who) -> Named {
        Named { written: "@release-managers".to_owned(), rule: "prod's approvals".to_owned(), who }
    }

    fn group(count: usize) -> Who {
        Who::Group { members: (0..count).map(|n| format!("U{n}")).collect() }
    }

    #[test]
    fn who_asks_does_not_approve_so_one_more_is_needed() {
        let health = |who: Who, required| approvers("prod", required, &[&named(who)]).map(|check| check.health);
        assert_eq!(health(group(3), 2), None);
        assert_eq!(health(group(2), 2), Some(Health::Warning));
        assert_eq!(health(group(1), 2), Some(Health::Bad));
        assert_eq!(health(Who::Team, 2), None, "GitHub knows");
        assert_eq!(approvers("prod", 2, &[]), None, "everybody may");
        let both = [&named(group(2)), &named(Who::Person { id: "U1".to_owned() })];
        assert_eq!(approvers("prod", 2, &both).map(|check| check.health), Some(Health::Warning), "once each");
    }

    #[test]
    fn a_channel_is_known_by_its_name_or_its_id() {
        let deploys = Channel { id: "C1".to_owned(), name: "deploys".to_owned(), archived: false };
        let old = Channel { id: "C2".to_owned(), name: "old".to_owned(), archived: true };
        let wanted = ["#deploys", "C1", "#old", "#other"].map(str::to_owned);
        let checks = channels(&wanted, &Ok(vec![deploys, old]), "gantry");
        let said: Vec<_> = checks.iter().map(|check| (check.health, check.what.as_str())).collect();
        let expected = [
            (Health::Bad, "#old is archived"),
            (Health::Bad, "I am not in #other"),
            (Health::Good, "I am in #deploys and C1"),
        ];
        assert_eq!(said, expected);
    }
}
