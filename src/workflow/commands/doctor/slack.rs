//! Whether Slack lets Gantry work: the token, its scopes, the channels, the people of the rules, the signing secret.

use std::collections::{BTreeMap, BTreeSet};

use super::run::{Doctor, DoctorRun, ProbeError, ProbeResult, ServiceFindings, format_list, redact_url};
use crate::adapters::slack::client::{Client, JoinedChannel, SlackAccount, TokenInfo, UserGroup, required_scopes};
use crate::adapters::slack::signature_probe::{SignatureProbeResult, probe_signature};
use crate::domain::doctor::{Health, Service};
use crate::domain::model::actor::{Member, PersonId, Role};

/// `url` is the public address of a running Gantry.
pub(super) async fn check_slack(run: &DoctorRun<'_>, url: Option<&str>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Slack);
    let Doctor { secrets, slack, .. } = run.doctor;
    if let Some(client) = slack {
        let (workspace, signing, sockets) =
            tokio::join!(check_workspace(run, client), check_signing_secret(run, url), check_app_token(run, client));
        found.add_all([workspace, signing, sockets]);
    } else {
        if !secrets.is_any_set(&["SLACK_BOT_TOKEN"]) {
            let repair = "Set it, or `SLACK_BOT_TOKEN_FILE`, to the app's Bot User OAuth Token (`xoxb-...`).";
            found.add_bad("`SLACK_BOT_TOKEN` is not set", repair);
        }
        found.add_all([check_signing_secret(run, url).await]);
    }
    found
}

async fn check_workspace(run: &DoctorRun<'_>, client: &Client) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Slack);
    match run.limit_time(client.inspect_token()).await {
        Ok(TokenInfo { team, bot, scopes, date }) => {
            found.add_clock_skew("Slack", date, &run.doctor.clock);
            found.add_good(format!("The bot is @{bot} in the workspace {team}"));
            check_scopes(&mut found, scopes.as_deref(), &required_scopes());
            let (channels, members) =
                tokio::join!(run.limit_time(client.list_joined_channels()), check_rule_members(run, client));
            check_channels(&mut found, &list_configured_channels(run.doctor), &channels, &bot);
            found.add_all([members]);
        }
        Err(error) => {
            let summary = match error {
                ProbeError::Refused(_) => "Slack rejects the token",
                ProbeError::Unreachable(_) => "Slack cannot be reached",
            };
            let repair = "Install the app in the workspace, and put its Bot User OAuth Token into `SLACK_BOT_TOKEN`.";
            found.add_failure(summary, &error, repair);
        }
    }
    found
}

async fn check_app_token(run: &DoctorRun<'_>, client: &Client) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Slack);
    if let Some(token) = &run.doctor.secrets.slack_app_token {
        match run.limit_time(client.check_app_token(token)).await {
            Ok(()) => found.add_good("The app-level token opens sockets"),
            Err(error) => found.add_failure(
                "The app-level token cannot open a socket",
                &error,
                "Turn Socket Mode on, and put an app-level token with `connections:write` into `SLACK_APP_TOKEN`.",
            ),
        }
    }
    found
}

fn check_scopes(found: &mut ServiceFindings, granted: Option<&[String]>, needed: &[String]) {
    let Some(granted) = granted else {
        let repair = "Compare the app's scopes with deploy/slack/manifest.yaml.";
        return found.add_warning("Slack did not return the scopes of the token", repair);
    };
    let missing: Vec<String> =
        needed.iter().filter(|scope| !granted.contains(scope)).map(|scope| format!("`{scope}`")).collect();
    if missing.is_empty() {
        return found.add_good(format!("The token has all {} scopes", needed.len()));
    }
    let noun = if missing.len() == 1 { "scope" } else { "scopes" };
    found.add_bad(
        format!("The token lacks the {noun} {}", format_list(&missing)),
        "Add the missing scopes under OAuth & Permissions, or from deploy/slack/manifest.yaml, and install the app again.",
    );
}

/// The channels of all messages, as they are configured: `#deploys`, or an id.
fn list_configured_channels(doctor: &Doctor) -> BTreeSet<&str> {
    let environments = doctor.config.catalogue.ladder.environments().iter();
    environments.map(|it| it.channel.as_str()).chain(doctor.config.audience.iter_channels()).collect()
}

fn check_channels(
    found: &mut ServiceFindings,
    wanted: &BTreeSet<&str>,
    joined: &ProbeResult<Vec<JoinedChannel>>,
    bot: &str,
) {
    let joined = match joined {
        Ok(joined) => joined,
        Err(error) => {
            let repair = "Give the app the scopes `channels:read` and `groups:read`.";
            return found.add_failure("Gantry cannot list the channels that it is a member of", error, repair);
        }
    };
    let mut usable = Vec::new();
    for channel in wanted {
        let name = channel.strip_prefix('#').unwrap_or(channel);
        match joined.iter().find(|channel_info| channel_info.name == name || channel_info.id == *channel) {
            Some(channel_info) if channel_info.is_archived => found.add_bad(
                format!("{channel} is archived"),
                "Unarchive it, or name another channel in the configuration.",
            ),
            Some(_) => usable.push(channel),
            None => found.add_bad(
                format!("The bot is not in {channel}"),
                format!(
                    "Type `/invite @{bot}` in the channel, also in a private one. If the channel does not exist, create it."
                ),
            ),
        }
    }
    found.add_good_names(&usable, |names| format!("The bot is in {names}"));
}

/// Sends a signed request to the Gantry at `url`, if there is a secret to sign it with.
async fn check_signing_secret(run: &DoctorRun<'_>, url: Option<&str>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Slack);
    let Doctor { secrets, clock, .. } = run.doctor;
    let url = url.map(|url| {
        let url = url.split(['?', '#']).next().unwrap_or(url);
        format!("{}/slack/events", url.trim_end_matches('/').trim_end_matches("/slack/events"))
    });
    let shown = url.as_deref().map(redact_url).unwrap_or_default();
    match (&secrets.slack_signing_secret, url) {
        (Some(secret), Some(url)) => match probe_signature(&url, secret, clock).await {
            SignatureProbeResult::Accepted => {
                found.add_good(format!("{shown} accepted a signed test request"));
            }
            SignatureProbeResult::Refused(401) => found.add_bad(
                format!("{shown} rejects the signature of a test request"),
                "Give the Gantry at that address the same `SLACK_SIGNING_SECRET`, or correct its clock.",
            ),
            SignatureProbeResult::Refused(status) => found.add_bad(
                format!("{shown} answered HTTP {status} to a signed test request"),
                "Make this address reach Gantry. Its path must end in `/slack/events`.",
            ),
            SignatureProbeResult::Unreachable(reason) => {
                let repair = "Check the address, its DNS name, certificate and ingress.";
                found.add_explained(Health::Bad, format!("{shown} cannot be reached"), reason, repair);
            }
        },
        (Some(_), None) => found.add_good(
            "`SLACK_SIGNING_SECRET` is set; `gantry doctor --url https://<your host>` tests it through your public address",
        ),
        // A secret that cannot be used is among the findings on the configuration.
        (None, _) if secrets.is_any_set(&["SLACK_SIGNING_SECRET"]) => {}
        (None, None) if secrets.is_any_set(&["SLACK_APP_TOKEN"]) => {
            found.add_good("Socket Mode needs no signing secret");
        }
        (None, Some(_)) if secrets.is_any_set(&["SLACK_APP_TOKEN"]) => found.add_warning(
            format!("Socket Mode needs no signing secret, so {shown} was not tried"),
            "Omit `--url`, or set `SLACK_SIGNING_SECRET` if Slack also uses HTTP.",
        ),
        (None, _) => found.add_bad(
            "`SLACK_SIGNING_SECRET` is not set, so all of Slack's requests are refused",
            "Set it, or `SLACK_SIGNING_SECRET_FILE`, to the Signing Secret under Basic Information of the app.",
        ),
    }
    found
}

/// Looks up the groups and people of the rules, and counts the people who may approve.
async fn check_rule_members(run: &DoctorRun<'_>, client: &Client) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Slack);
    let rules = run.list_rule_members();
    let mut groups = Ok(Vec::new());
    if rules.iter().any(|(_, member)| matches!(member, Member::Handle(_) | Member::Group(_))) {
        groups = run.limit_time(client.list_user_groups()).await;
    }
    let mut people: BTreeMap<&PersonId, ProbeResult<Option<BTreeSet<PersonId>>>> = BTreeMap::new();
    for (_, member) in &rules {
        if let Member::Person(id) = member
            && !people.contains_key(id)
        {
            let account = run.limit_time(client.fetch_account(id)).await;
            let is_member = |account: SlackAccount| account.role == Role::Member;
            people.insert(id, account.map(|it| it.is_some_and(is_member).then(|| BTreeSet::from([id.clone()]))));
        }
    }
    let mut known_names = BTreeSet::new();
    let mut resolved: Vec<(String, Option<BTreeSet<PersonId>>)> = Vec::new();
    for (rule, member) in rules {
        let (written, people) = match member {
            Member::Handle(handle) => {
                (format!("@{handle}"), find_group(&groups, |group| group.handle.eq_ignore_ascii_case(handle)))
            }
            Member::Group(id) => (id.clone(), find_group(&groups, |group| group.id == *id)),
            Member::Person(id) => (id.to_string(), people.get(id).cloned().unwrap_or(Ok(None))),
            // Only GitHub knows the members of its teams.
            Member::Team { .. } => {
                resolved.push((rule, None));
                continue;
            }
        };
        match (&people, member) {
            (Ok(Some(people)), _) if people.is_empty() => found.add_bad(
                format!("The user group {written} in {rule} is empty"),
                "Add people to the user group, or use another one.",
            ),
            (Ok(Some(_)), _) => drop(known_names.insert(written)),
            (Ok(None), Member::Handle(_)) => found.add_warning(
                format!("No user group is called {written}, which is in {rule}, so it counts as a person"),
                "Correct the handle, or write the person's member id (`U...`), which no other person can take over.",
            ),
            (Ok(None), Member::Person(_)) => found.add_bad(
                format!("{written}, in {rule}, is not in this workspace"),
                "Take the member id from the person's profile.",
            ),
            (Ok(None), _) => found.add_bad(
                format!("There is no user group {written}, which is in {rule}"),
                "Write the group's handle, as in `@release-managers`.",
            ),
            (Err(error), _) => found.add_failure(
                format!("{written}, in {rule}, cannot be looked up"),
                error,
                "Give the app the scopes `usergroups:read` and `users:read`.",
            ),
        }
        resolved.push((rule, people.ok().flatten()));
    }
    let known_names: Vec<String> = known_names.into_iter().collect();
    found.add_good_names(&known_names, |names| format!("The members in the rules exist in this workspace: {names}"));
    for (environment, policy) in run.list_policies() {
        if let Some(approvals) = &policy.approvals {
            let rule = format!("{environment}'s approvals");
            let from: Vec<_> = resolved.iter().filter(|it| it.0 == rule).map(|it| it.1.as_ref()).collect();
            check_approver_count(&mut found, environment.as_str(), approvals.required, &from);
        }
    }
    found
}

/// The members of the group; `None` if there is no such group.
fn find_group(
    groups: &ProbeResult<Vec<UserGroup>>,
    is_match: impl Fn(&UserGroup) -> bool,
) -> ProbeResult<Option<BTreeSet<PersonId>>> {
    let group = groups.as_ref().map_err(Clone::clone)?.iter().find(|group| is_match(group));
    Ok(group.map(|group| group.members.clone()))
}

/// Enough people besides the requester must be able to approve. `None` in `from` is a group with unknown members.
fn check_approver_count(
    found: &mut ServiceFindings,
    environment: &str,
    required: u32,
    from: &[Option<&BTreeSet<PersonId>>],
) {
    let Some(groups) = from.iter().copied().collect::<Option<Vec<_>>>() else { return };
    let (available, needed) = (groups.into_iter().flatten().collect::<BTreeSet<_>>().len(), required as usize);
    let summary = format!("Required approvals in {environment}: {required}; approvers: {available}");
    if !from.is_empty() && available < needed {
        found.add_bad(summary, "Add people to the groups under `approvals`, or require fewer approvals.");
    } else if !from.is_empty() && available == needed {
        let repair = "Requesters cannot approve their own changes, so a change of that person can never be approved. Add one more approver.";
        found.add_warning(summary, repair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(count: usize) -> BTreeSet<PersonId> {
        (0..count).map(|n| PersonId::new(&format!("U{n}"))).collect()
    }

    #[test]
    fn requesters_cannot_approve_so_one_approver_more_is_needed() {
        let health = |from: &[Option<&BTreeSet<PersonId>>]| {
            let mut found = ServiceFindings::new(Service::Slack);
            check_approver_count(&mut found, "prod", 2, from);
            found.checks.first().map(|check| check.health)
        };
        assert_eq!(health(&[Some(&group(3))]), None);
        assert_eq!(health(&[Some(&group(2))]), Some(Health::Warning));
        assert_eq!(health(&[Some(&group(1))]), Some(Health::Bad));
        assert_eq!(health(&[None]), None, "only GitHub knows the members");
        assert_eq!(health(&[]), None, "everyone may approve");
        let person = BTreeSet::from([PersonId::new("U1")]);
        assert_eq!(health(&[Some(&group(2)), Some(&person)]), Some(Health::Warning), "each person counts once");
    }

    #[test]
    fn a_channel_is_found_by_its_name_or_its_id() {
        let deploys = JoinedChannel { id: "C1".to_owned(), name: "deploys".to_owned(), is_archived: false };
        let old = JoinedChannel { id: "C2".to_owned(), name: "old".to_owned(), is_archived: true };
        let wanted = ["#deploys", "C1", "#old", "#other"].into();
        let mut found = ServiceFindings::new(Service::Slack);
        check_channels(&mut found, &wanted, &Ok(vec![deploys, old]), "gantry");
        let findings: Vec<_> = found.checks.iter().map(|check| (check.health, check.summary.as_str())).collect();
        let expected = [
            (Health::Bad, "#old is archived"),
            (Health::Bad, "The bot is not in #other"),
            (Health::Good, "The bot is in #deploys and C1"),
        ];
        assert_eq!(findings, expected);
    }
}
