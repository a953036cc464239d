//! Validates the ladder and the policy of each environment.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::Validator;
use crate::config::file;
use crate::config::problem::Position;
use crate::config::scalar::FreezeBound;
use crate::config::tree::Located;
use crate::config::{ReconcileTrigger, SecretSource, scalar, secrets};
use crate::domain::model::actor::Member;
use crate::domain::model::environment::{Approvals, Environment, EnvironmentName, Policy, PromotionMethod};
use crate::domain::model::freeze::{Freeze, Period};
use crate::domain::model::workload::Namespace;

const DEFAULT_TIMEOUT: SignedDuration = SignedDuration::from_mins(15);
const MAX_TIMEOUT: SignedDuration = SignedDuration::from_hours(24);
const MAX_APPROVAL_TIMEOUT: SignedDuration = SignedDuration::from_hours(30 * 24);
const MAX_SOAK: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Values that must be unique across environments, with the position of their last use.
#[derive(Default)]
struct UniqueValues {
    names: BTreeMap<String, Position>,
    branches: BTreeMap<String, Position>,
    secrets: BTreeMap<SecretSource, Position>,
    tags: BTreeMap<String, Position>,
}

/// The environments, lowest first, and the settings that are not part of the domain's `Environment`.
#[derive(Default)]
pub(super) struct ValidatedEnvironments {
    pub(super) ladder: Vec<Environment>,
    pub(super) webhook_secrets: BTreeMap<EnvironmentName, SecretSource>,
    pub(super) triggers: BTreeMap<EnvironmentName, ReconcileTrigger>,
}

impl Validator<'_> {
    pub(super) fn validate_environments(
        &mut self,
        file: &Located<Vec<file::RawEnvironment>>,
        channel: Option<&str>,
    ) -> ValidatedEnvironments {
        if file.value.len() < 2 {
            let message = format!("the ladder needs at least 2 environments and has {}", file.value.len());
            self.add_problem(
                file.position,
                message,
                "list them in order, lowest first: pushes feed the first environment, promotions feed the others",
            );
        }
        let mut unique_values = UniqueValues::default();
        let mut validated_environments = ValidatedEnvironments::default();
        for (index, environment) in file.value.iter().enumerate() {
            let validated = self.validate_environment(environment, channel, &mut unique_values);
            if index == 0 {
                self.check_lowest_environment(environment);
            } else {
                self.check_unused_settings(environment);
            }
            let name = &validated.name;
            let policy = self.validate_policy(environment, validated.deploy_timeout, &mut unique_values);
            let secret = environment.webhook_secret.as_ref();
            let secret = secret.and_then(|source| self.validate_secret_source(source, &mut unique_values));
            validated_environments.webhook_secrets.extend(secret.map(|source| (name.clone(), source)));
            let trigger = environment.trigger.as_ref().and_then(|trigger| self.validate_trigger(trigger));
            validated_environments.triggers.extend(trigger.map(|trigger| (name.clone(), trigger)));
            validated_environments.ladder.push(Environment { policy, ..validated });
        }
        self.check_nested_branches(&unique_values.branches);
        validated_environments
    }

    /// Leaves the policy at its default; the caller validates it afterwards.
    fn validate_environment(
        &mut self,
        file: &file::RawEnvironment,
        channel: Option<&str>,
        unique_values: &mut UniqueValues,
    ) -> Environment {
        self.check_environment_name(&file.name, unique_values);
        for alias in &file.aliases {
            self.check_environment_name(alias, unique_values);
        }
        self.parse_text(&file.branch, scalar::parse_branch);
        if let Some(first) = unique_values.branches.insert(file.branch.value.clone(), file.branch.position) {
            let advice = format!("line {} has the same branch; each environment needs its own", first.line);
            self.add_problem(
                file.branch.position,
                format!("the branch `{}` is used by two environments", file.branch.value),
                advice,
            );
        }
        let channel = match (&file.channel, channel) {
            (Some(own), _) => self.parse_text(own, scalar::parse_channel),
            (None, Some(default)) => Some(default.to_owned()),
            (None, None) => {
                let advice = "set `channel` here, or set `slack.channel` for all environments";
                self.add_problem(file.name.position, format!("`{}` has no channel", file.name.value), advice);
                None
            }
        };
        let timeout = file.deploy_timeout.as_ref();
        Environment {
            name: EnvironmentName::new(&file.name.value),
            aliases: file.aliases.iter().map(|alias| alias.value.clone()).collect(),
            branch: file.branch.value.clone(),
            namespace: self.validate_namespace(&file.cluster),
            channel: channel.unwrap_or_default(),
            promotion_method: match file.promote {
                file::RawPromotionMethod::Merge => PromotionMethod::Merge,
                file::RawPromotionMethod::PullRequest => PromotionMethod::PullRequest,
            },
            deploy_timeout: timeout
                .and_then(|text| self.parse_text(text, |text| scalar::parse_duration(text, MAX_TIMEOUT)))
                .unwrap_or(DEFAULT_TIMEOUT),
            policy: Policy::default(),
        }
    }

    fn check_environment_name(&mut self, name: &Located<String>, unique_values: &mut UniqueValues) {
        self.parse_text(name, scalar::check_name);
        if let Some(first) = unique_values.names.insert(name.value.to_ascii_lowercase(), name.position) {
            let advice = format!(
                "line {} has the same name; names and aliases must be unique, without regard to case",
                first.line
            );
            self.add_problem(
                name.position,
                format!("`{}` is used twice as a name or alias of an environment", name.value),
                advice,
            );
        }
    }

    fn validate_namespace(&mut self, cluster: &file::RawCluster) -> Namespace {
        self.parse_text(&cluster.namespace, |text| scalar::parse_label(text, "namespace"));
        let context = cluster.context.as_ref().and_then(|context| self.parse_text(context, scalar::parse_context));
        Namespace { context: context.map(Into::into), name: cluster.namespace.value.as_str().into() }
    }

    /// Git stores `release` as a file and `release/qa` in a directory of that name, so one repository cannot have both.
    fn check_nested_branches(&mut self, branches: &BTreeMap<String, Position>) {
        for (branch, position) in branches {
            let outer = branch
                .match_indices('/')
                .map(|(slash, _)| &branch[..slash])
                .find(|outer| branches.contains_key(*outer));
            if let Some(outer) = outer {
                let advice = format!("rename one of them, for example this one to `{}`", branch.replace('/', "-"));
                self.add_problem(*position, format!("Git cannot have both branches `{branch}` and `{outer}`"), advice);
            }
        }
    }

    /// Settings without an effect: pushes feed the lowest environment, and no gate stops them.
    fn check_lowest_environment(&mut self, file: &file::RawEnvironment) {
        let settings = [
            ("approvals", file.approvals.as_ref().map(|approvals| approvals.required.position)),
            ("approval_timeout", file.approval_timeout.as_ref().map(|timeout| timeout.position)),
            ("promoters", file.promoters.first().map(|promoter| promoter.position)),
            ("overriders", file.overriders.first().map(|overrider| overrider.position)),
            ("freezes", file.freezes.first().map(|freeze| freeze.from.position)),
            ("soak", file.soak.as_ref().map(|soak| soak.position)),
            ("stall_after", file.stall_after.as_ref().map(|after| after.position)),
            ("rollback", file.rollback.as_ref().map(|rollback| rollback.position)),
            ("auto_rollback", file.auto_rollback.as_ref().map(|rollback| rollback.position)),
        ];
        for (key, position) in settings {
            if let Some(position) = position {
                let message = format!("`{key}` has no effect on `{}`, the lowest environment", file.name.value);
                self.add_problem(
                    position,
                    message,
                    "remove it: pushes feed this environment, and nothing is promoted into it",
                );
            }
        }
    }

    /// Settings without an effect because a setting that they depend on is missing.
    fn check_unused_settings(&mut self, file: &file::RawEnvironment) {
        let has_approval_stage =
            file.approvals.is_some() || matches!(file.promote, file::RawPromotionMethod::PullRequest);
        if let Some(timeout) = file.approval_timeout.as_ref().filter(|_| !has_approval_stage) {
            let message = "`approval_timeout` has no effect without `approvals` or `promote: pull_request`";
            self.add_problem(
                timeout.position,
                message,
                "remove it, or require approvals, for example `approvals: { required: 1 }`",
            );
        }
    }

    /// `stall_after` must be shorter than `deploy_timeout`, or the warning would never be shown.
    fn validate_stall_after(&mut self, file: &file::RawEnvironment, timeout: SignedDuration) -> SignedDuration {
        let default = Policy::default().stall_after.min(timeout / 3);
        let Some(text) = &file.stall_after else { return default };
        let given = self.parse_text(text, |text| scalar::parse_duration(text, MAX_TIMEOUT));
        if given.is_some_and(|given| given >= timeout) {
            let message = format!("`stall_after` of `{}` is not shorter than its `deploy_timeout`", file.name.value);
            self.add_problem(
                text.position,
                message,
                "write a shorter duration, so that the card shows a warning before the change counts as stalled",
            );
        }
        given.unwrap_or(default)
    }

    fn validate_policy(
        &mut self,
        file: &file::RawEnvironment,
        timeout: SignedDuration,
        unique_values: &mut UniqueValues,
    ) -> Policy {
        let default = Policy::default();
        let approval_timeout = file.approval_timeout.as_ref();
        Policy {
            approvals: file.approvals.as_ref().map(|approvals| self.validate_approvals(approvals)),
            approval_timeout: approval_timeout
                .and_then(|text| self.parse_text(text, |text| scalar::parse_duration(text, MAX_APPROVAL_TIMEOUT)))
                .unwrap_or(default.approval_timeout),
            promoters: self.parse_texts(&file.promoters, scalar::parse_member),
            overriders: self.parse_texts(&file.overriders, scalar::parse_member),
            freezes: file.freezes.iter().filter_map(|freeze| self.validate_freeze(freeze)).collect(),
            rollback_method: match file.rollback.as_ref().map(|rollback| rollback.value) {
                None | Some(file::RawRollbackMethod::Direct) => PromotionMethod::Merge,
                Some(file::RawRollbackMethod::PullRequest) => PromotionMethod::PullRequest,
            },
            auto_rollback: file.auto_rollback.as_ref().is_some_and(|rollback| rollback.value),
            stall_after: self.validate_stall_after(file, timeout),
            soak: file
                .soak
                .as_ref()
                .and_then(|soak| self.parse_text(soak, |text| scalar::parse_duration(text, MAX_SOAK))),
            checks_required: file.checks == file::RawChecks::Required,
            tag_template: file.tag.as_ref().and_then(|tag| self.validate_tag_template(tag, unique_values)),
        }
    }

    fn validate_approvals(&mut self, file: &file::RawApprovals) -> Approvals {
        let from = self.parse_texts(&file.from, scalar::parse_member);
        let required = file.required.value;
        let people: BTreeSet<&Member> = from.iter().collect();
        let only_people = people.iter().all(|member| matches!(member, Member::Person(_)));
        if !from.is_empty() && only_people && people.len() < required as usize {
            let message = format!("`from` names fewer people ({}) than `required` asks for ({required})", people.len());
            self.add_problem(
                file.required.position,
                message,
                "require fewer, or add more people, a user group or a team to `from`",
            );
        }
        Approvals { required, approvers: from }
    }

    fn validate_freeze(&mut self, file: &file::RawFreeze) -> Option<Freeze> {
        let from = self.parse_text(&file.from, scalar::parse_freeze_bound);
        let to = self.parse_text(&file.to, scalar::parse_freeze_bound);
        let period = from.zip(to).and_then(|(from, to)| self.validate_period(from, to, file.to.position));
        let timezone = match &file.timezone {
            Some(name) => self.parse_text(name, scalar::parse_timezone),
            None => Some(TimeZone::UTC),
        };
        let reason = file.reason.as_ref().map(|reason| reason.value.clone());
        Some(Freeze { period: period?, timezone: timezone?, reason })
    }

    fn validate_period(&mut self, from: FreezeBound, to: FreezeBound, position: Position) -> Option<Period> {
        let (message, advice) = match (from, to) {
            (FreezeBound::Weekly(from), FreezeBound::Weekly(to)) if from != to => {
                return Some(Period::Weekly { from, to });
            }
            (FreezeBound::Dated(from), FreezeBound::Dated(to)) if from < to => return Some(Period::Dated { from, to }),
            (FreezeBound::Weekly(_), FreezeBound::Weekly(_)) => {
                ("the freeze ends at the time when it begins", "write the time from which changes are allowed again")
            }
            (FreezeBound::Dated(_), FreezeBound::Dated(_)) => (
                "the freeze ends before it begins, or at the same time",
                "write the time from which changes are allowed again",
            ),
            _ => (
                "`from` and `to` have different forms: a day of the week and a date",
                "write both like `Fri 16:00` (every week), or both like `2026-12-20 18:00` (once)",
            ),
        };
        self.add_problem(position, message, advice);
        None
    }

    fn validate_secret_source(
        &mut self,
        file: &Located<file::RawSecretSource>,
        unique_values: &mut UniqueValues,
    ) -> Option<SecretSource> {
        let (source, position) = match (&file.value.env, &file.value.file) {
            (Some(name), None) => {
                (SecretSource::Variable(self.parse_text(name, scalar::parse_variable_name)?), name.position)
            }
            (None, Some(path)) => (SecretSource::File(self.parse_text(path, scalar::parse_path)?), path.position),
            // The shape check has already reported that exactly one key is allowed.
            _ => return None,
        };
        if let SecretSource::Variable(name) = &source
            && secrets::KNOWN_VARIABLES.iter().any(|(known, _)| *known == name.as_str())
        {
            let advice = "create a new secret for this environment, in another variable";
            self.add_problem(position, format!("`{name}` is a variable of Gantry itself"), advice);
        }
        if let Some(first) = unique_values.secrets.insert(source.clone(), position) {
            // Gantry identifies the environment of a report by the secret that verifies it.
            let advice = format!("line {} has the same secret; each environment needs its own", first.line);
            self.add_problem(position, "two environments have the same webhook secret", advice);
        }
        Some(source)
    }

    fn validate_trigger(&mut self, file: &Located<file::RawTrigger>) -> Option<ReconcileTrigger> {
        match (&file.value.flux_receiver, &file.value.argocd_webhook) {
            (Some(url), None) => self
                .parse_text(url, |url| scalar::parse_hook_url(url, "https://flux.example.com/hook/..."))
                .map(ReconcileTrigger::FluxReceiver),
            (None, Some(url)) => self
                .parse_text(url, |url| scalar::parse_hook_url(url, "https://argocd.example.com/api/webhook"))
                .map(ReconcileTrigger::ArgocdWebhook),
            _ => None,
        }
    }

    fn validate_tag_template(&mut self, file: &Located<String>, unique_values: &mut UniqueValues) -> Option<String> {
        let tag = self.parse_text(file, scalar::parse_tag_template)?;
        if !tag.contains("{environment}")
            && let Some(first) = unique_values.tags.insert(tag.clone(), file.position)
        {
            let advice = format!("line {} has the same template; put `{{environment}}` into both", first.line);
            self.add_problem(file.position, "two environments would get the same tags", advice);
        }
        Some(tag)
    }
}
