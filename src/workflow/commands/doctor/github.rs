//! What GitHub tells of us, and of the repositories, branches, rules and files that promotions go through.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use jiff::Timestamp;

use crate::adapters::github::probe::{BranchRule, Bypass, Hour};
use crate::config::GithubAuth;
use crate::domain::doctor::clock::ClockReading;
use crate::domain::doctor::github::{
    self, AppWebhook, BranchProbe, GithubIdentity, ManifestProbe, RepositoryAccess, RepositoryProbe, RequestQuota,
};
use crate::domain::doctor::rules::{BranchPromotion, EffectiveBranchRules};
use crate::domain::doctor::{HealthCheck, ProbeResult};
use crate::domain::git::manifest;
use crate::domain::model::actor::Member;
use crate::domain::model::artefact::{Artefact, Delivery, Repository};
use crate::domain::model::environment::{EnvironmentName, PromotionMethod};

use super::{Looking, all};

/// Rules of a branch that cannot stand in the way of a promotion: it exists, and only ever moves forwards.
const HARMLESS: [&str; 3] = ["deletion", "non_fast_forward", "creation"];

const WAYS_IN: [&str; 4] = ["GITHUB_TOKEN", "GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY", "GITHUB_APP_INSTALLATION_ID"];

/// How promotions come into a branch.
#[derive(Clone, Debug, Default)]
struct Ways {
    below: Option<String>,
    straight: BTreeSet<EnvironmentName>,
    by_pull: BTreeSet<EnvironmentName>,
}

/// What is wanted of a repository; a branch of `None` is its default one.
type Wanted = BTreeMap<Repository, BTreeMap<Option<String>, Ways>>;

impl Looking<'_> {
    pub(super) async fn github(&self) -> (Vec<HealthCheck>, Vec<ClockReading>) {
        let (account, hour) = tokio::join!(self.account(), self.hour());
        let (account, said) = account.map_or_else(|trouble| (Err(trouble), None), |(it, said)| (Ok(it), said));
        let heard = self.heard("GitHub", said);
        let mut checks = vec![github::check_account(&account)];
        let account = match account {
            // What is wrong with it was said.
            Ok(GithubIdentity::Anonymous) if self.with.secrets.is_any_given(&WAYS_IN) => {
                return (Vec::new(), Vec::new());
            }
            Ok(GithubIdentity::Anonymous) | Err(_) => return (checks, Vec::new()),
            Ok(account) => account,
        };
        checks.push(github::check_request_quota(&hour));
        let teams = self.teams();
        checks.extend(github::check_permissions(&account, !teams.is_empty()));
        checks.extend(github::check_webhooks(&account, self.with.secrets.github_webhook_secret.is_some()));
        let wanted: Vec<_> = self.wanted().into_iter().collect();
        // Of a classic token and of an App its permissions tell.
        let untold = matches!(account, GithubIdentity::Token { scopes: None, .. });
        let (found, manifests, teams) = tokio::join!(
            all(wanted.into_iter().map(|(name, ways)| self.repository(name, ways, untold).boxed()).collect()),
            self.manifests(),
            all(teams.into_iter().map(|(organisation, team)| self.team(organisation, team).boxed()).collect()),
        );
        checks.extend(found.iter().flat_map(github::check_repository));
        checks.extend(github::check_ci_access(&found));
        checks.extend(github::check_manifests(&manifests));
        checks.extend(github::check_teams(&teams));
        (checks, heard.into_iter().collect())
    }

    async fn hour(&self) -> ProbeResult<Option<RequestQuota>> {
        // Strangers have an hour of their own, which is of no use to anybody.
        if self.with.secrets.github.is_none() {
            return Ok(None);
        }
        let hour = self.ask(self.with.github.hour()).await?;
        Ok(hour.map(|Hour { limit, left, resets_at }| RequestQuota { limit, left, resets_at }))
    }

    /// And what GitHub's clock said.
    async fn account(&self) -> ProbeResult<(GithubIdentity, Option<Timestamp>)> {
        let client = &self.with.github;
        match &self.with.secrets.github {
            None => Ok((GithubIdentity::Anonymous, None)),
            Some(GithubAuth::Token(_)) => {
                let owner = self.ask(client.owner()).await?;
                let scopes = owner.scopes.filter(|scopes| !scopes.is_empty());
                Ok((GithubIdentity::Token { login: owner.login, scopes }, owner.date))
            }
            Some(GithubAuth::App { .. }) => {
                let (app, hook) = tokio::join!(self.ask(client.app()), self.ask(client.app_hook()));
                let Some(app) = app? else { return Ok((GithubIdentity::Anonymous, None)) };
                let hook = hook.map(|hook| {
                    let (url, signed) = hook.map_or((None, false), |hook| (hook.url, hook.signed));
                    AppWebhook { url, signed }
                });
                let (permissions, events, suspended) = (app.permissions, app.events, app.suspended);
                Ok((GithubIdentity::App { name: app.slug, permissions, events, suspended, hook }, app.date))
            }
        }
    }

    async fn team(&self, organisation: String, team: String) -> (String, ProbeResult<bool>) {
        let seen = self.ask(self.with.github.sees_team(&organisation, &team)).await;
        (format!("{organisation}/{team}"), seen)
    }

    fn teams(&self) -> BTreeSet<(String, String)> {
        let policies = self.with.config.environments.values();
        let members = policies.flat_map(|policy| {
            let approvers = policy.approvals.iter().flat_map(|approvals| &approvals.from);
            approvers.chain(&policy.promoters).chain(&policy.overriders)
        });
        let team = |member: &Member| match member {
            Member::Team { organisation, team } => Some((organisation.clone(), team.clone())),
            Member::Handle(_) | Member::Group(_) | Member::Person(_) => None,
        };
        members.filter_map(team).collect()
    }

    fn wanted(&self) -> Wanted {
        let catalogue = &self.with.config.catalogue;
        let mut wanted = Wanted::new();
        for artefact in &catalogue.artefacts {
            let code = wanted.entry(artefact.repository.clone()).or_default();
            let rungs = catalogue.ladder.environments().iter().filter(|rung| artefact.places.contains_key(&rung.name));
            if artefact.delivery == Delivery::Branch {
                for rung in rungs.clone() {
                    let ways = code.entry(Some(rung.branch.clone())).or_default();
                    ways.below =
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
                    PromotionMethod::Merge => &mut ways.straight,
                    PromotionMethod::PullRequest => &mut ways.by_pull,
                };
                by.insert(rung.name.clone());
            }
        }
        wanted
    }

    /// `untold`: whether we are shown what CI says must be tried.
    async fn repository(
        &self,
        name: Repository,
        wanted: BTreeMap<Option<String>, Ways>,
        untold: bool,
    ) -> RepositoryProbe {
        let settings = self.ask(self.with.github.settings(&name)).await;
        let default = settings.as_ref().ok().and_then(|settings| Some(settings.as_ref()?.default_branch.clone()));
        let has_code = self.with.config.catalogue.artefacts.iter().any(|artefact| artefact.repository == name);
        let checks = match default.as_ref().filter(|_| untold && has_code) {
            Some(branch) => Some(self.ask(self.with.github.sees_checks(&name, branch)).await),
            None => None,
        };
        let mut branches: Vec<(String, Ways)> = Vec::new();
        for (branch, ways) in wanted {
            let Some(branch) = branch.or_else(|| default.clone()) else { continue };
            match branches.iter_mut().find(|(known, _)| *known == branch) {
                Some((_, known)) => {
                    known.straight.extend(ways.straight);
                    known.by_pull.extend(ways.by_pull);
                }
                None => branches.push((branch, ways)),
            }
        }
        // In the order of the ladder, as people think of them.
        let rungs = self.with.config.catalogue.ladder.environments();
        branches.sort_by_key(|(branch, _)| rungs.iter().position(|rung| rung.branch == *branch));
        let branches = if matches!(settings, Ok(Some(_))) { branches } else { Vec::new() };
        let branches =
            all(branches.into_iter().map(|(branch, ways)| self.branch(&name, branch, ways).boxed()).collect()).await;
        let shown = settings.map(|settings| {
            settings.map(|settings| RepositoryAccess {
                archived: settings.archived,
                may_push: settings.may_push,
                allows_merge_commits: settings.merge_commits,
            })
        });
        RepositoryProbe { name, access: shown, branches, checks }
    }

    async fn branch(&self, repository: &Repository, name: String, ways: Ways) -> BranchProbe {
        let client = &self.with.github;
        let entered = !ways.straight.is_empty() || !ways.by_pull.is_empty();
        let (protected, rules) = tokio::join!(self.ask(client.branch_protected(repository, &name)), async {
            if entered { Some(self.rules(repository, &name).await) } else { None }
        });
        let names = |all: BTreeSet<EnvironmentName>| all.iter().map(ToString::to_string).collect();
        let is_protected = matches!(protected, Ok(Some(true)));
        let entered = rules.map(|rules| BranchPromotion {
            direct: names(ways.straight),
            by_pull_request: names(ways.by_pull),
            rules: rules.map(|rules| EffectiveBranchRules { has_classic_protection: is_protected, ..rules }),
        });
        BranchProbe { name, below: ways.below, exists: protected.map(|found| found.is_some()), promotion: entered }
    }

    /// What the rules say to us: those that we may bypass say nothing.
    async fn rules(&self, repository: &Repository, branch: &str) -> ProbeResult<EffectiveBranchRules> {
        let client = &self.with.github;
        let all = self.ask(client.branch_rules(repository, branch)).await?;
        let mut passes: BTreeMap<u64, Bypass> = BTreeMap::new();
        let mut rules = EffectiveBranchRules::default();
        for BranchRule { kind, ruleset, checks, merge_methods } in all {
            if HARMLESS.contains(&kind.as_str()) {
                continue;
            }
            let bypass = match ruleset.map(|ruleset| (ruleset, passes.get(&ruleset))) {
                None => Bypass::Never,
                Some((_, Some(known))) => *known,
                Some((ruleset, None)) => {
                    let asked = self.ask(client.bypass(repository, ruleset)).await.unwrap_or(Bypass::Never);
                    passes.insert(ruleset, asked);
                    asked
                }
            };
            if bypass == Bypass::Always {
                continue;
            }
            match kind.as_str() {
                "pull_request" => {
                    rules.requires_pull_request = true;
                    rules.merge_methods = merge_methods.or(rules.merge_methods);
                }
                "update" => {
                    rules.restricted = true;
                    rules.restricted_by_pull |= bypass == Bypass::Never;
                }
                "required_status_checks" => rules.required_checks.extend(checks),
                "required_linear_history" => rules.requires_linear_history = true,
                "merge_queue" => rules.has_merge_queue = true,
                _ => drop(rules.unknown_rules.insert(kind)),
            }
        }
        Ok(rules)
    }

    async fn manifests(&self) -> Vec<ManifestProbe> {
        let catalogue = &self.with.config.catalogue;
        let mut wanted = Vec::new();
        for artefact in &catalogue.artefacts {
            for rung in catalogue.ladder.environments().iter().filter(|rung| artefact.places.contains_key(&rung.name)) {
                wanted.push(self.manifest(artefact, &rung.name).boxed());
            }
        }
        all(wanted).await.into_iter().flatten().collect()
    }

    /// `None` where the artefact goes by branch.
    async fn manifest(&self, artefact: &Artefact, environment: &EnvironmentName) -> Option<ManifestProbe> {
        let Delivery::Manifest { repository, file, branch, path, pin } = &artefact.delivery else { return None };
        let client = &self.with.github;
        let file = file.replace("{environment}", environment.as_str());
        let branch = match branch {
            Some(branch) => Ok(Some(branch.clone())),
            None => self.ask(client.settings(repository)).await.map(|found| found.map(|found| found.default_branch)),
        };
        let text = match branch {
            Ok(Some(branch)) => self.ask(client.file(repository, &branch, &file)).await,
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
