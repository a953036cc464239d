//! The parts that the files of `doctor` share: the clients, the limits of a run, and the findings on a service.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use url::{Position, Url};

use crate::adapters::cluster::{ClusterClients, ClusterError};
use crate::adapters::github::{self, GithubError};
use crate::adapters::registry::{self, RegistryError};
use crate::adapters::slack::client::{Client, SendError};
use crate::adapters::store::StoreError;
use crate::clock::Clock;
use crate::config::{Config, Secrets};
use crate::domain::doctor::{Health, HealthCheck, Service};
use crate::domain::model::actor::Member;
use crate::domain::model::artefact::{Artefact, Place};
use crate::domain::model::environment::{Environment, EnvironmentName, Policy};
use crate::workflow::error::LookupError;

/// The limit of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(6);
/// The limit of the whole run, because a person waits for its end.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(18);
/// Requests to one service that are under way at the same time.
const MAX_PARALLEL_REQUESTS: usize = 8;

/// The clients and settings that `doctor` works with. Clones share them.
#[derive(Clone)]
pub struct Doctor {
    pub config: Arc<Config>,
    pub secrets: Arc<Secrets>,
    pub clock: Clock,
    /// `None` without a token.
    pub slack: Option<Client>,
    pub github: github::Client,
    pub registry: registry::Client,
    pub cluster_clients: ClusterClients,
    /// This process uses the database itself.
    pub owns_database: bool,
}

/// One run, which ends before its deadline.
pub(super) struct DoctorRun<'a> {
    pub(super) doctor: &'a Doctor,
    deadline: Instant,
}

impl<'a> DoctorRun<'a> {
    pub(super) fn new(doctor: &'a Doctor) -> Self {
        Self { doctor, deadline: Instant::now() + TOTAL_TIMEOUT }
    }

    /// Waits for one request, up to its own timeout and the deadline of the run.
    pub(super) async fn limit_time<T, E: Into<ProbeError>>(
        &self,
        request: impl Future<Output = Result<T, E>>,
    ) -> ProbeResult<T> {
        let begun = Instant::now();
        let limit = (begun + REQUEST_TIMEOUT).min(self.deadline);
        match tokio::time::timeout_at(limit, request).await {
            Ok(answer) => answer.map_err(Into::into),
            Err(_) => Err(ProbeError::Unreachable(format!("no answer in {} s", begun.elapsed().as_secs().max(1)))),
        }
    }

    /// The policies of all environments, by the environment's name.
    pub(super) fn list_policies(&self) -> BTreeMap<&'a EnvironmentName, &'a Policy> {
        let environments = self.doctor.config.catalogue.ladder.environments().iter();
        environments.map(|environment| (&environment.name, &environment.policy)).collect()
    }

    /// The members that the rules name, each with the name of its rule: `prod's approvals`.
    pub(super) fn list_rule_members(&self) -> Vec<(String, &'a Member)> {
        let mut rules = Vec::new();
        for (environment, policy) in self.list_policies() {
            let approvers = policy.approvals.iter().flat_map(|approvals| &approvals.approvers);
            rules.extend(approvers.map(|member| (format!("{environment}'s approvals"), member)));
            rules.extend(policy.promoters.iter().map(|member| (format!("{environment}'s promoters"), member)));
            rules.extend(policy.overriders.iter().map(|member| (format!("{environment}'s overriders"), member)));
        }
        rules
    }

    /// The places of each artefact, in the order of the environments.
    pub(super) fn list_places(&self) -> Vec<(&'a Artefact, &'a Environment, &'a Place)> {
        let catalogue = &self.doctor.config.catalogue;
        let places_of = |artefact: &'a Artefact| {
            let environments = catalogue.ladder.environments().iter();
            environments.filter_map(move |it| Some((artefact, it, artefact.places.get(&it.name)?)))
        };
        catalogue.artefacts.iter().flat_map(places_of).collect()
    }
}

/// Answers in the order of the requests. They are boxed, because the compiler cannot prove them to be `Send` otherwise.
pub(super) fn join_all_bounded<'a, T: Send + 'a>(
    requests: impl IntoIterator<Item = BoxFuture<'a, T>>,
) -> BoxFuture<'a, Vec<T>> {
    let requests: Vec<_> = requests.into_iter().collect();
    Box::pin(futures::stream::iter(requests).buffered(MAX_PARALLEL_REQUESTS).collect())
}

/// The findings on one service, in the order in which they are shown.
pub(super) struct ServiceFindings {
    service: Service,
    pub(super) checks: Vec<HealthCheck>,
    /// By how much the local clock is ahead of the clock of a service.
    pub(super) clock_skews: Vec<(String, SignedDuration)>,
}

impl ServiceFindings {
    pub(super) fn new(service: Service) -> Self {
        Self { service, checks: Vec::new(), clock_skews: Vec::new() }
    }

    pub(super) fn add_good(&mut self, summary: impl Into<String>) {
        self.checks.push(HealthCheck::new(self.service, Health::Good, summary, ""));
    }

    /// Adds the sentence about all these names, if there are any.
    pub(super) fn add_good_names<T: fmt::Display>(&mut self, names: &[T], sentence: impl FnOnce(String) -> String) {
        if !names.is_empty() {
            self.add_good(sentence(format_list(names)));
        }
    }

    pub(super) fn add_warning(&mut self, summary: impl Into<String>, repair: impl Into<String>) {
        self.checks.push(HealthCheck::new(self.service, Health::Warning, summary, repair));
    }

    pub(super) fn add_bad(&mut self, summary: impl Into<String>, repair: impl Into<String>) {
        self.checks.push(HealthCheck::new(self.service, Health::Bad, summary, repair));
    }

    pub(super) fn add_explained(
        &mut self,
        health: Health,
        summary: impl Into<String>,
        reason: impl fmt::Display,
        repair: impl Into<String>,
    ) {
        self.checks.push(HealthCheck::new(self.service, health, summary, repair).with_reason(&reason.to_string()));
    }

    /// Adds a request that failed. `repair` helps against a refusal only.
    pub(super) fn add_failure(&mut self, summary: impl Into<String>, error: &ProbeError, repair: &str) {
        let repair = match error {
            ProbeError::Refused(_) => repair,
            ProbeError::Unreachable(_) => "Try again later. If the error stays, check the address and the network.",
        };
        self.add_explained(Health::Bad, summary, error, repair);
    }

    pub(super) fn add_clock_skew(&mut self, service: &str, service_time: Option<Timestamp>, clock: &Clock) {
        let skew = service_time.map(|time| (service.to_owned(), clock.now().duration_since(time)));
        self.clock_skews.extend(skew);
    }

    pub(super) fn add_all(&mut self, parts: impl IntoIterator<Item = Self>) {
        for part in parts {
            self.checks.extend(part.checks);
            self.clock_skews.extend(part.clock_skews);
        }
    }
}

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum ProbeError {
    /// The service answered that it does not allow the request.
    #[error("{0}")]
    Refused(String),
    /// No answer came, or none that can be read.
    #[error("{0}")]
    Unreachable(String),
}

pub(super) type ProbeResult<T> = Result<T, ProbeError>;

impl From<SendError> for ProbeError {
    fn from(error: SendError) -> Self {
        match error {
            // The outbox tries again after a wrong token. Here a wrong token is a finding.
            SendError::Unauthorised(reason) => Self::Refused(reason),
            SendError::RateLimited { .. } | SendError::Transient(_) => Self::Unreachable(error.to_string()),
            _ => Self::Refused(error.to_string()),
        }
    }
}

impl From<GithubError> for ProbeError {
    fn from(error: GithubError) -> Self {
        match error {
            GithubError::Unauthorised(reason) | GithubError::NotFound(reason) => {
                Self::Refused(format!("it says \u{201c}{reason}\u{201d}"))
            }
            GithubError::Unavailable(reason) | GithubError::Unclear(reason) | GithubError::Other(reason) => {
                Self::Unreachable(reason)
            }
            error => Self::Unreachable(error.to_string()),
        }
    }
}

impl From<ClusterError> for ProbeError {
    fn from(error: ClusterError) -> Self {
        let reason = error.to_string();
        let is_refused = reason.starts_with("forbidden") || reason.starts_with("unauthorised");
        if is_refused { Self::Refused(reason) } else { Self::Unreachable(reason) }
    }
}

impl From<RegistryError> for ProbeError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Unauthorised(reason) => Self::Refused(reason),
            RegistryError::Unavailable(reason) | RegistryError::Other(reason) => Self::Unreachable(reason),
        }
    }
}

impl From<LookupError> for ProbeError {
    fn from(error: LookupError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<StoreError> for ProbeError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// An address without its passwords and keys.
pub(super) fn redact_url(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) if url.has_host() => format!("{}://{}", url.scheme(), &url[Position::BeforeHost..Position::AfterPath]),
        _ => "an address that cannot be read".to_owned(),
    }
}

/// `a`, `a and b`, `a, b and c`; of many names the first few, and the number of the others.
pub(super) fn format_list<T: fmt::Display>(all: &[T]) -> String {
    const NAMED: usize = 6;
    let mut names: Vec<String> = all.iter().take(NAMED).map(ToString::to_string).collect();
    if all.len() > NAMED {
        names.push(format!("{} more", all.len() - NAMED));
    }
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_contains_no_secrets() {
        assert_eq!(redact_url("https://me:pass@h.example:8443/a/b?key=1#x"), "https://h.example:8443/a/b");
        for broken in ["me:pass@h?key=1", "//me:pass@h", ""] {
            assert_eq!(redact_url(broken), "an address that cannot be read");
        }
    }

    #[test]
    fn a_long_list_of_names_ends_with_a_count() {
        assert_eq!(format_list::<&str>(&[]), "");
        assert_eq!(format_list(&["a"]), "a");
        assert_eq!(format_list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(format_list(&[1, 2, 3, 4, 5, 6, 7, 8]), "1, 2, 3, 4, 5, 6 and 2 more");
    }
}
