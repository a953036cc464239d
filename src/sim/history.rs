//! The history of the world before its start: commits, merges, images, and the versions that ran.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Sha, Version};
use crate::domain::runtime::sighting::Sighting;

use super::ci::{BuiltImage, Ci};
use super::cluster::Cluster;
use super::github::{Author, GitHub, NewCommit};
use super::manifests;
use crate::sim::world::{ARTEFACTS, ENVIRONMENTS, GITOPS, PEOPLE, SimArtefact, WorldError};

/// Commits of `checkout`, oldest first. Each environment is one commit behind the environment below it.
const CHECKOUT: [(&str, &str); 6] = [
    ("alice", "Start the checkout"),
    ("bob", "Keep the basket when the session ends"),
    ("carol", "Show delivery costs before payment"),
    ("alice", "Round totals per line, as the invoice does"),
    ("bob", "Accept vouchers of partners"),
    ("alice", "Retry the payment provider once"),
];
const SEARCH: [(&str, &str); 2] = [("carol", "Index product names"), ("alice", "Rank exact matches first")];
const SHOP: [(&str, &str); 2] = [("bob", "Open the shop"), ("carol", "Send order mails in the customer's language")];

pub(super) fn author(name: &str) -> Author {
    let full_name = PEOPLE.iter().find(|(login, _)| *login == name).map_or(name, |(_, full_name)| full_name);
    Author { name: full_name.to_owned(), email: format!("{name}@acme.example"), login: Some(name.to_owned()) }
}

pub(super) fn replicas(environment: &str) -> u32 {
    if environment == "prod" { 3 } else { 2 }
}

fn manifest_path(environment: &str, artefact: &str) -> String {
    format!("{}kustomization.yaml", manifests::folder(environment, artefact))
}

fn manifest(artefact: &str, tag: &str) -> String {
    format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n  - ../../../base/{artefact}\nimages:\n  \
         - name: ghcr.io/acme/{artefact}\n    newTag: \"{tag}\"\n"
    )
}

/// The commit by which CI writes a new tag into a manifest.
pub(super) fn manifest_commit(clock: &Clock, environment: &str, artefact: &str, tag: &str) -> NewCommit {
    NewCommit {
        repository: GITOPS.0.to_owned(),
        branch: GITOPS.1.to_owned(),
        message: format!("{artefact} {tag} in {environment}"),
        author: Author { name: "ci".to_owned(), email: "ci@acme.example".to_owned(), login: None },
        files: [(manifest_path(environment, artefact), Some(manifest(artefact, tag)))].into(),
        at: clock.now(),
    }
}

/// The files of a push that names none: one more line in the artefact's own file.
pub(super) fn default_push_files(
    github: &GitHub,
    artefact: &SimArtefact,
    branch: &str,
    message: &str,
) -> BTreeMap<String, Option<String>> {
    let path = format!("{}/{}.txt", artefact.folder, artefact.name);
    let before =
        github.head(artefact.repository, branch).or_else(|| github.head(artefact.repository, ENVIRONMENTS[0].1));
    let before = before.and_then(|sha| github.read_file(artefact.repository, &sha, &path)).unwrap_or_default();
    [(path, Some(format!("{before}{message}\n")))].into()
}

/// Writes the history and deploys its last versions. Returns its sightings, oldest first.
pub(super) fn write(clock: &Clock, github: &GitHub, ci: &Ci, cluster: &Cluster) -> Result<Vec<Sighting>, WorldError> {
    let mut history = HistoryWriter {
        start: clock.now() - SignedDuration::from_hours(6 * 24),
        github,
        ci,
        cluster,
        sightings: Vec::new(),
    };
    let world_error = |error: super::github::WriteError| WorldError(error.to_string());
    for repository in ["acme/checkout", "acme/search", "acme/shop"] {
        github.create_repository(repository, ENVIRONMENTS[0].1).map_err(world_error)?;
    }
    github.create_repository(GITOPS.0, GITOPS.1).map_err(world_error)?;
    history.write_branch_history("acme/checkout", &CHECKOUT, 1)?;
    history.write_branch_history("acme/shop", &SHOP, 0)?;
    history.write_manifest_history(&SEARCH)?;
    Ok(history.sightings)
}

struct HistoryWriter<'a> {
    start: Timestamp,
    github: &'a GitHub,
    ci: &'a Ci,
    cluster: &'a Cluster,
    sightings: Vec<Sighting>,
}

impl HistoryWriter<'_> {
    fn day(&self, day: usize, hour: i64) -> Timestamp {
        self.start + SignedDuration::from_hours(24 * i64::try_from(day).unwrap_or_default() + hour)
    }

    /// Commits to the first branch, one a day, and merges each one upwards. With a `lag` of 1, each environment is one
    /// commit behind the environment below it. With 0, all environments run the same code.
    fn write_branch_history(
        &mut self,
        repository: &str,
        commits: &[(&str, &str)],
        lag: usize,
    ) -> Result<(), WorldError> {
        let mut heads: Vec<Vec<Sha>> = vec![Vec::new(); ENVIRONMENTS.len()];
        for (day, (login, message)) in commits.iter().enumerate() {
            heads[0].push(self.commit(repository, login, message, self.day(day, 0))?);
            self.build_and_deploy(repository, 0, &heads[0], self.day(day, 1));
            for environment_index in 1..ENVIRONMENTS.len() {
                let Some(source) = day
                    .checked_sub(lag * environment_index)
                    .and_then(|index| heads[environment_index - 1].get(index))
                    .cloned()
                else {
                    continue;
                };
                let hours = i64::try_from(environment_index).unwrap_or_default();
                let at = self.day(day, 2 + hours);
                let head = self.merge(repository, environment_index, &source, at)?;
                heads[environment_index].push(head);
                self.build_and_deploy(repository, environment_index, &heads[environment_index], at);
            }
        }
        Ok(())
    }

    fn commit(&self, repository: &str, login: &str, message: &str, at: Timestamp) -> Result<Sha, WorldError> {
        let mut files = BTreeMap::new();
        for artefact in ARTEFACTS.iter().filter(|artefact| artefact.repository == repository) {
            files.extend(default_push_files(self.github, artefact, ENVIRONMENTS[0].1, message));
        }
        if self.github.head(repository, ENVIRONMENTS[0].1).is_none() {
            files.insert("README.md".to_owned(), Some(format!("# {repository}\n")));
        }
        let commit = NewCommit {
            repository: repository.to_owned(),
            branch: ENVIRONMENTS[0].1.to_owned(),
            message: message.to_owned(),
            author: author(login),
            files,
            at,
        };
        self.github.commit(commit).map_err(|error| WorldError(error.to_string()))
    }

    fn merge(
        &self,
        repository: &str,
        environment_index: usize,
        source: &Sha,
        at: Timestamp,
    ) -> Result<Sha, WorldError> {
        let world_error = |error: super::github::WriteError| WorldError(error.to_string());
        let branch = ENVIRONMENTS[environment_index].1;
        if self.github.head(repository, branch).is_none() {
            // A branch starts at the first commit that reached it, so there is nothing to merge yet.
            self.github.create_branch(repository, branch, source).map_err(world_error)?;
            return Ok(source.clone());
        }
        let message = format!("Merge {} into {branch}", source.short());
        self.github.merge(repository, branch, source, &message, &author("bob"), at).map_err(world_error)
    }

    /// Builds the newest of `heads` and deploys it to that environment at `at`.
    fn build_and_deploy(&mut self, repository: &str, environment_index: usize, heads: &[Sha], at: Timestamp) {
        let Some(head) = heads.last() else { return };
        for built in self.ci.build_now(repository, ENVIRONMENTS[environment_index].1, head, at) {
            self.deploy_image(environment_index, &built, at);
        }
    }

    fn deploy_image(&mut self, environment_index: usize, built: &BuiltImage, at: Timestamp) {
        let environment = ENVIRONMENTS[environment_index].0;
        let Some(artefact) = ARTEFACTS.iter().find(|artefact| artefact.name == built.artefact) else { return };
        let image = format!("{}:{}", built.image, built.tag);
        for workload in artefact.workloads() {
            self.cluster.set_running_since(environment, &workload, artefact.name, &image, replicas(environment), at);
        }
        self.sightings.push(Sighting {
            artefact: ArtefactName::new(&built.artefact),
            environment: EnvironmentName::new(environment),
            version: Version { tag: Some(built.tag.as_str().into()), digest: None, commit: Some(built.commit.clone()) },
            seen_at: at,
            running_at: Some(at),
            healthy_since: Some(at),
            failure: None,
            ended_at: None,
            announced: true,
        });
    }

    /// Writes each version into the manifests of all environments, one after another.
    fn write_manifest_history(&mut self, commits: &[(&str, &str)]) -> Result<(), WorldError> {
        for artefact in ARTEFACTS.iter().filter(|artefact| artefact.uses_manifest) {
            for (day, (login, message)) in commits.iter().enumerate() {
                let sha = self.commit(artefact.repository, login, message, self.day(day, 0))?;
                for built in self.ci.build_now(artefact.repository, ENVIRONMENTS[0].1, &sha, self.day(day, 1)) {
                    for (environment_index, (environment, _)) in ENVIRONMENTS.iter().enumerate() {
                        let at = self.day(day, 2 + i64::try_from(environment_index).unwrap_or_default());
                        let clock = Clock::new_manual(at);
                        let commit = manifest_commit(&clock, environment, artefact.name, &built.tag);
                        self.github.commit(commit).map_err(|error| WorldError(error.to_string()))?;
                        self.deploy_image(environment_index, &built, at);
                    }
                }
            }
        }
        Ok(())
    }
}
