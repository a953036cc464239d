//! The ladder and the policy of each of its environments.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::Check;
use crate::config::file;
use crate::config::problem::Position;
use crate::config::scalar::Bound;
use crate::config::tree::At;
use crate::config::{Approvals, Policy, SecretSource, Trigger, scalar, secrets};
use crate::domain::model::actor::Member;
use crate::domain::model::artefact::Namespace;
use crate::domain::model::environment::{Environment, EnvironmentName, PromotionMethod};
use crate::domain::rules::freeze::{Freeze, Period};

const DEFAULT_TIMEOUT: SignedDuration = SignedDuration::from_mins(15);
const LONGEST_TIMEOUT: SignedDuration = SignedDuration::from_hours(24);
const LONGEST_APPROVAL_TIMEOUT: SignedDuration = SignedDuration::from_hours(30 * 24);
const LONGEST_SOAK: SignedDuration = SignedDuration::from_hours(30 * 24);

/// What may stand only once in all environments, and where it stood first.
#[derive(Default)]
struct Taken {
    names: BTreeMap<String, Position>,
    branches: BTreeMap<String, Position>,
    secrets: BTreeMap<SecretSource, Position>,
    tags: BTreeMap<String, Position>,
}

impl Check<'_> {
    pub(super) fn environments(
        &mut self,
        file: &At<Vec<file::Environment>>,
        channel: Option<&str>,
    ) -> (Vec<Environment>, BTreeMap<EnvironmentName, Policy>) {
        if file.value.len() < 2 {
            let message = format!("the ladder has {} of at least 2 environments", file.value.len());
            self.say(
                file.at,
                message,
                "list them in order, lowest first: the first is fed by pushes, the others by promotions",
            );
        }
        let mut taken = Taken::default();
        let mut rungs = Vec::new();
        let mut policies = BTreeMap::new();
        for (at, environment) in file.value.iter().enumerate() {
            let rung = self.environment(environment, channel, &mut taken);
            if at == 0 {
                self.lowest(environment);
            } else {
                self.idle(environment);
            }
            policies.insert(rung.name.clone(), self.policy(environment, rung.deploy_timeout, &mut taken));
            rungs.push(rung);
        }
        self.nested_branches(&taken.branches);
        (rungs, policies)
    }

    fn environment(&mut self, file: &file::Environment, channel: Option<&str>, taken: &mut Taken) -> Environment {
        self.environment_name(&file.name, taken);
        for alias in &file.aliases {
            self.environment_name(alias, taken);
        }
        self.text(&file.branch, scalar::branch);
        if let Some(first) = taken.branches.insert(file.branch.value.clone(), file.branch.at) {
            let advice = format!("line {} has it already; each environment needs a branch of its own", first.line);
            self.say(file.branch.at, format!("`{}` is the branch of two environments", file.branch.value), advice);
        }
        let channel = match (&file.channel, channel) {
            (Some(own), _) => self.text(own, scalar::channel),
            (None, Some(default)) => Some(default.to_owned()),
            (None, None) => {
                let advice = "set `channel` here, or `channel` under `slack` for all environments";
                self.say(file.name.at, format!("`{}` has no channel", file.name.value), advice);
                None
            }
        };
        let timeout = file.deploy_timeout.as_ref();
        Environment {
            name: EnvironmentName::new(&file.name.value),
            aliases: file.aliases.iter().map(|alias| alias.value.clone()).collect(),
            branch: file.branch.value.clone(),
            namespace: self.namespace(&file.cluster),
            channel: channel.unwrap_or_default(),
            promotion_method: match file.promote {
                file::Promote::Merge => PromotionMethod::Merge,
                file::Promote::PullRequest => PromotionMethod::PullRequest,
            },
            deploy_timeout: timeout
                .and_then(|text| self.text(text, |text| scalar::duration(text, LONGEST_TIMEOUT)))
                .unwrap_or(DEFAULT_TIMEOUT),
        }
    }

    fn environment_name(&mut self, name: &At<String>, taken: &mut Taken) {
        self.text(name, scalar::name);
        if let Some(first) = taken.names.insert(name.value.to_ascii_lowercase(), name.at) {
            let advice =
                format!("line {} has it already; names and aliases are one namespace, in any case", first.line);
            self.say(name.at, format!("`{}` names an environment twice", name.value), advice);
        }
    }

    fn namespace(&mut self, cluster: &file::Cluster) -> Namespace {
        self.text(&cluster.namespace, |text| scalar::label(text, "namespace"));
        let context = cluster.context.as_ref().and_then(|context| self.text(context, scalar::context));
        Namespace { context: context.map(Into::into), name: cluster.namespace.value.as_str().into() }
    }

    /// Git keeps `release` as a file and `release/qa` in a directory of that name: one repository cannot have both.
    fn nested_branches(&mut self, branches: &BTreeMap<String, Position>) {
        for (branch, at) in branches {
            let outer = branch
                .match_indices('/')
                .map(|(slash, _)| &branch[..slash])
                .find(|outer| branches.contains_key(*outer));
            if let Some(outer) = outer {
                let advice = format!("rename one of them, for example this one to `{}`", branch.replace('/', "-"));
                self.say(*at, format!("Git cannot have a branch `{branch}` beside a branch `{outer}`"), advice);
            }
        }
    }

    /// Settings that would promise something that nobody keeps: pushes feed the lowest environment, and nothing holds them.
    fn lowest(&mut self, file: &file::Environment) {
        let settings = [
            ("approvals", file.approvals.as_ref().map(|approvals| approvals.required.at)),
            ("approval_timeout", file.approval_timeout.as_ref().map(|timeout| timeout.at)),
            ("promoters", file.promoters.first().map(|promoter| promoter.at)),
            ("overriders", file.overriders.first().map(|overrider| overrider.at)),
            ("freezes", file.freezes.first().map(|freeze| freeze.from.at)),
            ("soak", file.soak.as_ref().map(|soak| soak.at)),
            ("stall_after", file.stall_after.as_ref().map(|after| after.at)),
            ("rollback", file.rollback.as_ref().map(|rollback| rollback.at)),
            ("auto_rollback", file.auto_rollback.as_ref().map(|rollback| rollback.at)),
        ];
        for (key, at) in settings {
            if let Some(at) = at {
                let message = format!("`{key}` has no effect on `{}`, the lowest environment", file.name.value);
                self.say(
                    at,
                    message,
                    "remove it: pushes are deployed there without asking, nothing is promoted into it",
                );
            }
        }
    }

    /// Settings that depend on another one, which is not there.
    fn idle(&mut self, file: &file::Environment) {
        let waits = file.approvals.is_some() || matches!(file.promote, file::Promote::PullRequest);
        if let Some(timeout) = file.approval_timeout.as_ref().filter(|_| !waits) {
            let message = "`approval_timeout` has no effect without `approvals` or `promote: pull_request`";
            self.say(timeout.at, message, "remove it, or ask for approvals, as in `approvals: { required: 1 }`");
        }
    }

    /// What is silent must be told before it is given up.
    fn stall_after(&mut self, file: &file::Environment, timeout: SignedDuration) -> SignedDuration {
        let usual = Policy::default().stall_after.min(timeout / 3);
        let Some(text) = &file.stall_after else { return usual };
        let given = self.text(text, |text| scalar::duration(text, LONGEST_TIMEOUT));
        if given.is_some_and(|given| given >= timeout) {
            let message = format!("`stall_after` of `{}` is not shorter than its `deploy_timeout`", file.name.value);
            self.say(text.at, message, "write less, so that silence is told before the change counts as stalled");
        }
        given.unwrap_or(usual)
    }

    fn policy(&mut self, file: &file::Environment, timeout: SignedDuration, taken: &mut Taken) -> Policy {
        let usual = Policy::default();
        let approval_timeout = file.approval_timeout.as_ref();
        Policy {
            approvals: file.approvals.as_ref().map(|approvals| self.approvals(approvals)),
            approval_timeout: approval_timeout
                .and_then(|text| self.text(text, |text| scalar::duration(text, LONGEST_APPROVAL_TIMEOUT)))
                .unwrap_or(usual.approval_timeout),
            promoters: self.texts(&file.promoters, scalar::member),
            overriders: self.texts(&file.overriders, scalar::member),
            freezes: file.freezes.iter().filter_map(|freeze| self.freeze(freeze)).collect(),
            rollback: match file.rollback.as_ref().map(|rollback| rollback.value) {
                None | Some(file::Rollback::Direct) => PromotionMethod::Merge,
                Some(file::Rollback::PullRequest) => PromotionMethod::PullRequest,
            },
            auto_rollback: file.auto_rollback.as_ref().is_some_and(|rollback| rollback.value),
            stall_after: self.stall_after(file, timeout),
            soak: file.soak.as_ref().and_then(|soak| self.text(soak, |text| scalar::duration(text, LONGEST_SOAK))),
            webhook_secret: file.webhook_secret.as_ref().and_then(|source| self.secret_source(source, taken)),
            trigger: file.trigger.as_ref().and_then(|trigger| self.trigger(trigger)),
            checks_required: file.checks == file::Checks::Required,
            tag: file.tag.as_ref().and_then(|tag| self.tag(tag, taken)),
        }
    }

    fn approvals(&mut self, file: &file::Approvals) -> Approvals {
        let from = self.texts(&file.from, scalar::member);
        let required = file.required.value;
        let people: BTreeSet<&Member> = from.iter().collect();
        let only_people = people.iter().all(|member| matches!(member, Member::Person(_)));
        if !from.is_empty() && only_people && people.len() < required as usize {
            let message = format!("{required} approvals cannot come from the {} named", people.len());
            self.say(file.required.at, message, "ask for fewer, or name more people, a user group or a team");
        }
        Approvals { required, from }
    }

    fn freeze(&mut self, file: &file::Freeze) -> Option<Freeze> {
        let from = self.text(&file.from, scalar::bound);
        let to = self.text(&file.to, scalar::bound);
        let period = from.zip(to).and_then(|(from, to)| self.period(from, to, file.to.at));
        let timezone = match &file.timezone {
            Some(name) => self.text(name, scalar::timezone),
            None => Some(TimeZone::UTC),
        };
        let reason = file.reason.as_ref().map(|reason| reason.value.clone());
        Some(Freeze { period: period?, timezone: timezone?, reason })
    }

    fn period(&mut self, from: Bound, to: Bound, at: Position) -> Option<Period> {
        let (message, advice) = match (from, to) {
            (Bound::Weekly(from), Bound::Weekly(to)) if from != to => return Some(Period::Weekly { from, to }),
            (Bound::Dated(from), Bound::Dated(to)) if from < to => return Some(Period::Dated { from, to }),
            (Bound::Weekly(_), Bound::Weekly(_)) => {
                ("the freeze ends when it begins", "write the time when changes are welcome again")
            }
            (Bound::Dated(_), Bound::Dated(_)) => {
                ("the freeze does not end after it begins", "write the time when changes are welcome again")
            }
            _ => (
                "one end of the freeze is a day of the week and the other a date",
                "write both as in `Fri 16:00`, for every week, or both as in `2026-12-20 18:00`, for once",
            ),
        };
        self.say(at, message, advice);
        None
    }

    fn secret_source(&mut self, file: &At<file::SecretSource>, taken: &mut Taken) -> Option<SecretSource> {
        let (source, at) = match (&file.value.env, &file.value.file) {
            (Some(name), None) => (SecretSource::Variable(self.text(name, scalar::variable)?), name.at),
            (None, Some(path)) => (SecretSource::File(self.text(path, scalar::path)?), path.at),
            // The shape has been told: it must be one of them.
            _ => return None,
        };
        if let SecretSource::Variable(name) = &source
            && secrets::OWN_VARIABLES.iter().any(|(own, _)| *own == name.as_str())
        {
            let advice = "make a new secret for this environment, under a name of its own";
            self.say(at, format!("`{name}` is a secret of Gantry itself"), advice);
        }
        if let Some(first) = taken.secrets.insert(source.clone(), at) {
            // The secret that verifies a report names the environment that it is about.
            let advice = format!("line {} has it already; make a secret for each environment", first.line);
            self.say(at, "two environments have the same webhook secret", advice);
        }
        Some(source)
    }

    fn trigger(&mut self, file: &At<file::Trigger>) -> Option<Trigger> {
        match (&file.value.flux_receiver, &file.value.argocd_webhook) {
            (Some(url), None) => {
                self.text(url, |url| scalar::hook(url, "https://flux.example.com/hook/...")).map(Trigger::FluxReceiver)
            }
            (None, Some(url)) => self
                .text(url, |url| scalar::hook(url, "https://argocd.example.com/api/webhook"))
                .map(Trigger::ArgocdWebhook),
            _ => None,
        }
    }

    fn tag(&mut self, file: &At<String>, taken: &mut Taken) -> Option<String> {
        let tag = self.text(file, scalar::tag)?;
        if !tag.contains("{environment}")
            && let Some(first) = taken.tags.insert(tag.clone(), file.at)
        {
            let advice = format!("line {} has it already; put `{{environment}}` into both", first.line);
            self.say(file.at, "two environments would have the same tags", advice);
        }
        Some(tag)
    }
}
