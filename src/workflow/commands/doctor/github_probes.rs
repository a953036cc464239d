//! What GitHub tells of us, and of the repositories, branches, rules and files that promotions go through.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use jiff::Timestamp;

use super::branch_rules::{BranchPromotion, EffectiveBranchRules};
use super::github::{
    self, AppWebhook, BranchProbe, GithubIdentity, ManifestProbe, RepositoryAccess, RepositoryProbe, RequestQuota,
};
use super::run::ClockReading;
use super::run::ProbeResult;
use crate::adapters::github::probe::{BranchRule, GithubRateLimit, RulesetBypass};
use crate::config::GithubAuth;
use crate::domain::doctor::HealthCheck;
use crate::domain::git::manifest;
use crate::domain::model::actor::Member;
use crate::domain::model::artefact::{Artefact, Delivery, Repository};
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};

use super::run::{DoctorRun, join_all_bounded};

/// Rules of a branch that cannot stand in the way of a promotion: it exists, and only ever moves forwards.
const HARMLESS_RULES: [&str; 3] = ["deletion", "non_fast_forward", "creation"];

const CREDENTIAL_VARIABLES: [&str; 4] =
    ["GITHUB_TOKEN", "GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY", "GITHUB_APP_INSTALLATION_ID"];

/// How promotions come into a branch.
#[derive(Clone, Debug, Default)]
struct BranchUsage {
    lower_branch: Option<String>,
    by_merge: BTreeSet<EnvironmentName>,
    by_pull_request: BTreeSet<EnvironmentName>,
}

/// What is wanted of a repository; a branch of `None` is its default one.
type RequiredBranches = BTreeMap<Repository, BTreeMap<Option<String>, BranchUsage>>;

impl DoctorRun<'_> {
    pub(super) async fn check_github(&self) -> (Vec<HealthCheck>, Vec<ClockReading>) {
        let (account, rate_limit) = tokio::join!(self.probe_account(), self.probe_rate_limit());
        let (account, said) = account.map_or_else(|trouble| (Err(trouble), None), |(it, said)| (Ok(it), said));
        let heard = self.build_clock_reading("GitHub", said);
        let mut checks = vec![github::check_account(&account)];
        let account = match account {
            // What is wrong with it was said.
            Ok(GithubIdentity::Anonymous) if self.doctor.secrets.is_any_set(&CREDENTIAL_VARIABLES) => {
                return (Vec::new(), Vec::new());
            }
            Ok(GithubIdentity::Anonymous) | Err(_) => return (checks, Vec::new()),
            Ok(account) => account,
        };
        checks.push(github::check_request_quota(&rate_limit));
        let teams = self.list_teams();
        checks.extend(github::check_permissions(&account, !teams.is_empty()));
        checks.extend(github::check_webhooks(&account, self.doctor.secrets.github_webhook_secret.is_some()));
        let wanted: Vec<_> = self.list_required_branches().into_iter().collect();
        // Of a classic token and of an App its permissions tell.
        let must_probe_checks = matches!(account, GithubIdentity::Token { scopes: None, .. });
        let (found, manifests, teams) = tokio::join!(
            join_all_bounded(
                wanted.into_iter().map(|(name, ways)| self.probe_repository(name, ways, must_probe_checks).boxed())
            ),
            self.probe_manifests(),
            join_all_bounded(teams.into_iter().map(|(organisation, team)| self.probe_team(organisation, team).boxed())),
        );
        checks.extend(found.iter().flat_map(github::check_repository));
        checks.extend(github::check_ci_access(&found));
        checks.extend(github::check_manifests(&manifests));
        checks.extend(github::check_teams(&teams));
        (checks, heard.into_iter().collect())
    }

    async fn probe_rate_limit(&self) -> ProbeResult<Option<RequestQuota>> {
        // Strangers have an hour of their own, which is of no use to anybody.
        if self.doctor.secrets.github_auth.is_none() {
            return Ok(None);
        }
        let hour = self.limit_time(self.doctor.github.fetch_rate_limit()).await?;
        Ok(hour.map(|GithubRateLimit { limit, remaining: left, resets_at }| RequestQuota { limit, left, resets_at }))
    }

    /// And what GitHub's clock said.
    async fn probe_account(&self) -> ProbeResult<(GithubIdentity, Option<Timestamp>)> {
        let client = &self.doctor.github;
        match &self.doctor.secrets.github_auth {
            None => Ok((GithubIdentity::Anonymous, None)),
            Some(GithubAuth::Token(_)) => {
                let owner = self.limit_time(client.fetch_token_owner()).await?;
                let scopes = owner.scopes.filter(|scopes| !scopes.is_empty());
                Ok((GithubIdentity::Token { login: owner.login, scopes }, owner.server_time))
            }
            Some(GithubAuth::App { .. }) => {
                let (app, hook) = tokio::join!(
                    self.limit_time(client.fetch_app_installation()),
                    self.limit_time(client.fetch_app_webhook())
                );
                let Some(app) = app? else { return Ok((GithubIdentity::Anonymous, None)) };
                let hook = hook.map(|hook| {
                    let (url, signed) = hook.map_or((None, false), |hook| (hook.url, hook.signed));
                    AppWebhook { url, signed }
                });
                let (permissions, events, suspended) = (app.permissions, app.events, app.suspended);
                Ok((GithubIdentity::App { name: app.slug, permissions, events, suspended, hook }, app.server_time))
            }
        }
    }

    async fn probe_team(&self, organisation: String, team: String) -> (String, ProbeResult<bool>) {
        let seen = self.limit_time(self.doctor.github.can_see_team(&organisation, &team)).await;
        (format!("{organisation}/{team}"), seen)
    }

    fn list_teams(&self) -> BTreeSet<(String, String)> {
        let policies = self.doctor.config.policies.values();
        let members = policies.flat_map(|policy| {
            let approvers = policy.approvals.iter().flat_map(|approvals| &approvals.approvers);
            approvers.chain(&policy.promoters).chain(&policy.overriders)
        });
        let team = |member: &Member| match member {
            Member::Team { organisation, team } => Some((organisation.clone(), team.clone())),
            Member::Handle(_) | Member::Group(_) | Member::Person(_) => None,
        };
        members.filter_map(team).collect()
    }

    fn list_required_branches(&self) -> RequiredBranches {
        let catalogue = &self.doctor.config.catalogue;
        let mut wanted = RequiredBranches::new();
        for artefact in &catalogue.artefacts {
            let code = wanted.entry(artefact.repository.clone()).or_default();
            let rungs = catalogue.ladder.environments().iter().filter(|rung| artefact.places.contains_key(&rung.name));
            if artefact.delivery == Delivery::Branch {
                for rung in rungs.clone() {
                    let ways = code.entry(Some(rung.branch.clone())).or_default();
                    ways.lower_branch =
                        catalogue.ladder.find_next_below(&rung.name, artefact).map(|below| below.branch.clone());
                }
            }
            for rung in rungs.filter(|rung| catalogue.ladder.find_next_below(&rung.name, artefact).is_some()) {
                let ways = match &artefact.delivery {
                    Delivery::Branch => {
                        wanted.entry(artefact.repository.clone()).or_default().entry(Some(rung.branch.clone()))
                    }
                    Delivery::Manifest { repository, branch, .. } => {
                        wanted.entry(repository.clone()).or_default().entry(branch.clone())
                    }
                };
                let ways = ways.or_default();
                let by = match rung.promotion_method {
                    PromotionMethod::Merge => &mut ways.by_merge,
                    PromotionMethod::PullRequest => &mut ways.by_pull_request,
                };
                by.insert(rung.name.clone());
            }
        }
        wanted
    }

    /// `untold`: whether we are shown what CI says must be tried.
    async fn probe_repository(
        &self,
        name: Repository,
        wanted: BTreeMap<Option<String>, BranchUsage>,
        untold: bool,
    ) -> RepositoryProbe {
        let settings = self.limit_time(self.doctor.github.fetch_repository_settings(&name)).await;
        let default = settings.as_ref().ok().and_then(|settings| Some(settings.as_ref()?.default_branch.clone()));
        let has_code = self.doctor.config.catalogue.artefacts.iter().any(|artefact| artefact.repository == name);
        let checks = match default.as_ref().filter(|_| untold && has_code) {
            Some(branch) => Some(self.limit_time(self.doctor.github.probe_checks_access(&name, branch)).await),
            None => None,
        };
        let mut branches: Vec<(String, BranchUsage)> = Vec::new();
        for (branch, ways) in wanted {
            let Some(branch) = branch.or_else(|| default.clone()) else { continue };
            match branches.iter_mut().find(|(known, _)| *known == branch) {
                Some((_, known)) => {
                    known.by_merge.extend(ways.by_merge);
                    known.by_pull_request.extend(ways.by_pull_request);
                }
                None => branches.push((branch, ways)),
            }
        }
        // In the order of the ladder, as people think of them.
        let rungs = self.doctor.config.catalogue.ladder.environments();
        branches.sort_by_key(|(branch, _)| rungs.iter().position(|rung| rung.branch == *branch));
        let branches = if matches!(settings, Ok(Some(_))) { branches } else { Vec::new() };
        let branches =
            join_all_bounded(branches.into_iter().map(|(branch, ways)| self.probe_branch(&name, branch, ways).boxed()))
                .await;
        let shown = settings.map(|settings| {
            settings.map(|settings| RepositoryAccess {
                archived: settings.archived,
                may_push: settings.may_push,
                allows_merge_commits: settings.allows_merge_commits,
            })
        });
        RepositoryProbe { name, access: shown, branches, checks }
    }

    async fn probe_branch(&self, repository: &Repository, name: String, ways: BranchUsage) -> BranchProbe {
        let client = &self.doctor.github;
        let entered = !ways.by_merge.is_empty() || !ways.by_pull_request.is_empty();
        let (protected, rules) = tokio::join!(self.limit_time(client.is_branch_protected(repository, &name)), async {
            if entered { Some(self.probe_branch_rules(repository, &name).await) } else { None }
        });
        let names = |all: BTreeSet<EnvironmentName>| all.iter().map(ToString::to_string).collect();
        let is_protected = matches!(protected, Ok(Some(true)));
        let entered = rules.map(|rules| BranchPromotion {
            direct: names(ways.by_merge),
            by_pull_request: names(ways.by_pull_request),
            rules: rules.map(|rules| EffectiveBranchRules { has_classic_protection: is_protected, ..rules }),
        });
        BranchProbe {
            name,
            below: ways.lower_branch,
            exists: protected.map(|found| found.is_some()),
            promotion: entered,
        }
    }

    /// What the rules say to us: those that we may bypass say nothing.
    async fn probe_branch_rules(&self, repository: &Repository, branch: &str) -> ProbeResult<EffectiveBranchRules> {
        let client = &self.doctor.github;
        let all = self.limit_time(client.fetch_branch_rules(repository, branch)).await?;
        let mut bypasses: BTreeMap<u64, RulesetBypass> = BTreeMap::new();
        let mut rules = EffectiveBranchRules::default();
        for BranchRule { kind, ruleset_id: ruleset, required_checks: checks, merge_methods } in all {
            if HARMLESS_RULES.contains(&kind.as_str()) {
                continue;
            }
            let bypass = match ruleset.map(|ruleset| (ruleset, bypasses.get(&ruleset))) {
                None => RulesetBypass::Never,
                Some((_, Some(known))) => *known,
                Some((ruleset, None)) => {
                    let asked = self
                        .limit_time(client.fetch_ruleset_bypass(repository, ruleset))
                        .await
                        .unwrap_or(RulesetBypass::Never);
                    bypasses.insert(ruleset, asked);
                    asked
                }
            };
            if bypass == RulesetBypass::Always {
                continue;
            }
            match kind.as_str() {
                "pull_request" => {
                    rules.requires_pull_request = true;
                    rules.merge_methods = merge_methods.or(rules.merge_methods);
                }
                "update" => {
                    rules.restricted = true;
                    rules.restricted_by_pull |= bypass == RulesetBypass::Never;
                }
                "required_status_checks" => rules.required_checks.extend(checks),
                "required_linear_history" => rules.requires_linear_history = true,
                "merge_queue" => rules.has_merge_queue = true,
                _ => drop(rules.unknown_rules.insert(kind)),
            }
        }
        Ok(rules)
    }

    async fn probe_manifests(&self) -> Vec<ManifestProbe> {
        let catalogue = &self.doctor.config.catalogue;
        let mut wanted = Vec::new();
        for artefact in &catalogue.artefacts {
            for rung in catalogue.ladder.environments().iter().filter(|rung| artefact.places.contains_key(&rung.name)) {
                wanted.push(self.probe_manifest(artefact, &rung.name).boxed());
            }
        }
        join_all_bounded(wanted).await.into_iter().flatten().collect()
    }

    /// `None` where the artefact goes by branch.
    async fn probe_manifest(&self, artefact: &Artefact, environment: &EnvironmentName) -> Option<ManifestProbe> {
        let Delivery::Manifest { repository, file, branch, path, pin } = &artefact.delivery else { return None };
        let client = &self.doctor.github;
        let file = file.replace("{environment}", environment.as_str());
        let branch = match branch {
            Some(branch) => Ok(Some(branch.clone())),
            None => self
                .limit_time(client.fetch_repository_settings(repository))
                .await
                .map(|found| found.map(|found| found.default_branch)),
        };
        let text = match branch {
            Ok(Some(branch)) => self.limit_time(client.fetch_file(repository, &branch, &file)).await,
            Ok(None) => Ok(None),
            Err(trouble) => Err(trouble),
        };
        let place = manifest::ImageSelector { image: &artefact.image, path: path.as_deref(), pin: *pin };
        let read = text.map(|text| match text {
            None => Err("it is not there: commit it, or correct `file`".to_owned()),
            Some(text) => manifest::read_version(&text, &place).map(drop).map_err(|problem| problem.to_string()),
        });
        Some(ManifestProbe { file, repository: repository.clone(), outcome: read })
    }
}
