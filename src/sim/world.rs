//! The demo's world: its people, channels, repositories, workloads and a little history, and the connections between
//! the simulators. The world reaches the bot only over HTTP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::domain::model::version::Sha;
use crate::domain::model::workload::Workload;
use crate::domain::runtime::sighting::Sighting;

use super::ci::{BuildConfig, BuiltImage, Ci, TagStyle};
use super::cluster::Cluster;
use super::controller::{Controller, Revision, Target, Webhooks};
use super::faults::Faults;
use super::github::{self, BranchMove, GitHub, NewCommit};
use super::history;
use super::manifests;
use super::pace::Pace;
use super::registry::Registry;
use super::slack::manifest::{self, Manifest};
use super::slack::{Channel, Person, Setup, Slack};
use crate::sim::scheduler::Scheduler;
use crate::sim::service_faults::ServiceFaults;
use crate::sim::unknown_requests::UnknownRequests;

pub const ENVIRONMENTS: [(&str, &str); 4] =
    [("development", "develop"), ("qa", "qa"), ("staging", "staging"), ("prod", "prod")];
pub const SIGNING_SECRET: &str = "a-world-that-signs-its-requests";
pub const BOT_TOKEN: &str = "xoxb-world-gantry";
pub const APP_TOKEN: &str = "xapp-world-gantry";
pub const GITHUB_TOKEN: &str = "ghp_world_gantry";
pub const GITHUB_WEBHOOK_SECRET: &str = "a-world-that-signs-its-webhooks";
/// The id and the domain of the Slack workspace.
pub(super) const TEAM: (&str, &str) = ("T0ACME", "acme");

/// The repository of the manifests, and its branch.
pub const GITOPS: (&str, &str) = ("acme/gitops", "main");

/// The logins and full names of the people.
pub(super) const PEOPLE: [(&str, &str); 4] =
    [("alice", "Alice Adler"), ("bob", "Bob Brandt"), ("carol", "Carol Castro"), ("dave", "Dave Dunn")];

/// One artefact as the world builds and runs it.
pub struct SimArtefact {
    pub name: &'static str,
    pub repository: &'static str,
    pub workloads: &'static [&'static str],
    pub tag_style: TagStyle,
    pub uses_manifest: bool,
    /// The folder of its code in its repository.
    pub folder: &'static str,
}

pub const ARTEFACTS: [SimArtefact; 4] = [
    SimArtefact {
        name: "checkout",
        repository: "acme/checkout",
        workloads: &["deployment/checkout"],
        tag_style: TagStyle::ShortSha,
        uses_manifest: false,
        folder: "src",
    },
    SimArtefact {
        name: "mailer",
        repository: "acme/shop",
        workloads: &["statefulset/mailer", "deployment/mailer-web"],
        tag_style: TagStyle::Opaque,
        uses_manifest: false,
        folder: "mailer",
    },
    SimArtefact {
        name: "search",
        repository: "acme/search",
        workloads: &["deployment/search"],
        tag_style: TagStyle::Semver,
        uses_manifest: true,
        folder: "src",
    },
    SimArtefact {
        name: "storefront",
        repository: "acme/shop",
        workloads: &["deployment/storefront"],
        tag_style: TagStyle::ShortSha,
        uses_manifest: false,
        folder: "storefront",
    },
];

impl SimArtefact {
    pub fn image(&self) -> String {
        format!("ghcr.io/acme/{}", self.name)
    }

    pub fn workloads(&self) -> Vec<Workload> {
        self.workloads.iter().filter_map(|text| text.parse().ok()).collect()
    }
}

/// The data that the page must fetch again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateTopic {
    Messages,
    State,
    Git,
    Builds,
}

/// The progress of the build of a commit.
#[derive(Clone, Debug, serde::Serialize)]
pub struct BuildProgress {
    pub artefact: String,
    pub branch: String,
    pub commit: Sha,
    pub state: &'static str,
    pub tag: Option<String>,
}

/// The number of builds in the live view.
const SHOWN_BUILDS: usize = 12;

#[derive(Clone)]
pub struct World(Arc<Inner>);

pub struct Inner {
    pub clock: Clock,
    pub origin: String,
    pub scheduler: Scheduler,
    pub faults: Faults,
    pub unknown_requests: UnknownRequests,
    pub slack: Slack,
    pub github: GitHub,
    pub registry: Registry,
    pub cluster: Cluster,
    pub ci: Ci,
    pub controller: Controller,
    pub past_sightings: Vec<Sighting>,
    builds: Mutex<Vec<BuildProgress>>,
    updates: broadcast::Sender<UpdateTopic>,
    /// Ends the page's streams, so that a shutdown does not wait for them.
    pub closing: CancellationToken,
    pub service_faults: AllServiceFaults,
}

/// The faults of each service.
pub struct AllServiceFaults {
    pub slack: ServiceFaults,
    pub github: ServiceFaults,
    pub cluster: ServiceFaults,
    pub registry: ServiceFaults,
}

impl AllServiceFaults {
    fn new(clock: &Clock) -> Self {
        let no_faults = || ServiceFaults::new(clock.clone());
        Self { slack: no_faults(), github: no_faults(), cluster: no_faults(), registry: no_faults() }
    }
}

impl std::ops::Deref for World {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// An error of building the world, or of an action in it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WorldError(pub String);

impl World {
    /// A world with its services at `origin`. All its workloads run, and no step is scheduled.
    pub fn new(clock: Clock, pace: Pace, origin: &str) -> Result<Self, WorldError> {
        let (faults, unknown_requests) = (Faults::default(), UnknownRequests::default());
        let scheduler = Scheduler::new(clock.clone());
        let slack = create_slack(&clock, &faults, &unknown_requests, origin)?;
        slack.enable_redelivery(scheduler.clone());
        let github =
            GitHub::new(clock.clone(), faults.clone(), unknown_requests.clone(), format!("{origin}/sim/github"));
        populate(&github);
        let registry = Registry::new(unknown_requests.clone());
        let cluster = Cluster::new(scheduler.clone(), pace, faults.clone(), unknown_requests.clone());
        cluster.set_can_pull({
            let registry = registry.clone();
            move |image| registry.can_pull(image)
        });
        let ci = Ci::new(scheduler.clone(), pace, registry.clone(), list_build_configs());
        let http = reqwest::Client::new();
        let webhooks = Webhooks { http: http.clone(), bot_url: origin.to_owned(), secrets: webhook_secrets() };
        let (controller_scheduler, controller_registry) = (scheduler.clone(), registry.clone());
        let controller = Controller::new(
            controller_scheduler,
            pace,
            cluster.clone(),
            controller_registry,
            faults.clone(),
            webhooks,
            targets(),
        );
        let past_sightings = history::write(&clock, &github, &ci, &cluster)?;
        controller.adopt();
        let (webhook_scheduler, secret) = (scheduler.clone(), GITHUB_WEBHOOK_SECRET.to_owned());
        github.send_webhooks(github::Webhooks {
            scheduler: webhook_scheduler,
            http,
            bot_url: origin.to_owned(),
            secret,
        });
        let inner = Inner {
            service_faults: AllServiceFaults::new(&clock),
            clock,
            origin: origin.to_owned(),
            scheduler,
            faults,
            unknown_requests,
            slack,
            github,
            registry,
            cluster,
            ci,
            controller,
            past_sightings,
            builds: Mutex::default(),
            updates: broadcast::channel(64).0,
            closing: CancellationToken::new(),
        };
        let world = Self(Arc::new(inner));
        world.connect_services();
        Ok(world)
    }

    /// The services with their real protocols. [`crate::sim::control_api`] and [`super::page`] add their routes.
    pub fn router(&self) -> Router {
        Router::new()
            .nest("/sim/slack", self.service_faults.slack.wrap_router(self.slack.router()))
            .nest("/sim/github", self.service_faults.github.wrap_router(self.github.router()))
            .nest("/sim/cluster", self.service_faults.cluster.wrap_router(self.cluster.router()))
            .merge(self.service_faults.registry.wrap_router(self.registry.router()))
    }

    pub fn subscribe_updates(&self) -> broadcast::Receiver<UpdateTopic> {
        self.updates.subscribe()
    }

    pub fn list_builds(&self) -> Vec<BuildProgress> {
        self.lock_builds().clone()
    }

    /// Ends every open stream. The world cannot be used afterwards.
    pub fn close(&self) {
        self.closing.cancel();
        self.cluster.end_streams();
        self.slack.break_sockets();
    }

    /// Commits as a person, as `git push` would.
    pub fn push(
        &self,
        artefact: &str,
        branch: &str,
        message: &str,
        files: BTreeMap<String, Option<String>>,
        author: &str,
    ) -> Result<Sha, WorldError> {
        let sim_artefact = ARTEFACTS.iter().find(|sim_artefact| sim_artefact.name == artefact).ok_or_else(|| {
            WorldError(format!("there is no artefact {artefact}; there are checkout, mailer, search and storefront"))
        })?;
        let files = if files.is_empty() {
            history::default_push_files(&self.github, sim_artefact, branch, message)
        } else {
            files
        };
        let commit = NewCommit {
            repository: sim_artefact.repository.to_owned(),
            branch: branch.to_owned(),
            message: message.to_owned(),
            author: history::author(author),
            files,
            at: self.clock.now(),
        };
        self.github.commit(commit).map_err(|error| WorldError(error.to_string()))
    }

    fn connect_services(&self) {
        // Weak, because the world holds the simulators.
        let world = Arc::downgrade(&self.0);
        let with_world = move |act: fn(&Self)| {
            if let Some(inner) = world.upgrade() {
                act(&Self(inner));
            }
        };
        self.slack.on_change({
            let with_world = with_world.clone();
            move || with_world(|world| world.publish_update(UpdateTopic::Messages))
        });
        self.github.on_tag({
            let with_world = with_world.clone();
            move || with_world(|world| world.publish_update(UpdateTopic::Git))
        });
        self.github.on_event({
            let with_world = with_world.clone();
            move |_| with_world(|world| world.publish_update(UpdateTopic::Git))
        });
        self.cluster.on_change(move |_| with_world(|world| world.publish_update(UpdateTopic::State)));
        let world = Arc::downgrade(&self.0);
        self.github.on_move(move |branch_move| {
            if let Some(inner) = world.upgrade() {
                Self(inner).branch_moved(branch_move);
            }
        });
        let world = Arc::downgrade(&self.0);
        self.ci.on_built(move |built| {
            if let Some(inner) = world.upgrade() {
                Self(inner).handle_built_image(built);
            }
        });
    }

    fn branch_moved(&self, branch_move: &BranchMove) {
        self.publish_update(UpdateTopic::Git);
        if !ARTEFACTS.iter().any(|artefact| artefact.repository == branch_move.repository) {
            // A repository without code has manifests. A controller follows its default branch.
            if self.github.default_branch(&branch_move.repository).as_ref() == Some(&branch_move.branch) {
                self.manifests_moved(branch_move);
            }
            return;
        }
        for build in list_build_configs()
            .iter()
            .filter(|build| build.repository == branch_move.repository && build.branches.contains(&branch_move.branch))
        {
            let mut builds = self.lock_builds();
            builds.push(BuildProgress {
                artefact: build.artefact.clone(),
                branch: branch_move.branch.clone(),
                commit: branch_move.after.clone(),
                state: "building",
                tag: None,
            });
            let surplus = builds.len().saturating_sub(SHOWN_BUILDS);
            builds.drain(..surplus);
        }
        self.publish_update(UpdateTopic::Builds);
        self.ci.branch_moved(&branch_move.repository, &branch_move.branch, &branch_move.after);
    }

    /// After a change of the manifests, the controller deploys every image that differs from before.
    fn manifests_moved(&self, branch_move: &BranchMove) {
        for artefact in &ARTEFACTS {
            for (environment, _) in ENVIRONMENTS {
                let (folder, image) = (manifests::folder(environment, artefact.name), artefact.image());
                let find_reference =
                    |commit: &Sha| manifests::reference(&self.github, &branch_move.repository, commit, &folder, &image);
                let before = branch_move.before.as_ref().and_then(find_reference);
                if let Some(reference) =
                    find_reference(&branch_move.after).filter(|reference| Some(reference) != before.as_ref())
                {
                    let revision = Revision { branch: branch_move.branch.clone(), commit: branch_move.after.clone() };
                    self.controller.handle_manifest_image(environment, artefact.name, &reference, &revision);
                }
            }
        }
    }

    fn handle_built_image(&self, built: &BuiltImage) {
        for progress in self
            .lock_builds()
            .iter_mut()
            .filter(|p| p.artefact == built.artefact && p.commit == built.commit && p.branch == built.branch)
        {
            progress.state = "built";
            progress.tag = Some(built.tag.clone());
        }
        self.publish_update(UpdateTopic::Builds);
        self.controller.handle_built_image(built);
        // With manifests, CI writes the tag of the first environment, as image automation would.
        if ARTEFACTS.iter().any(|artefact| artefact.uses_manifest && artefact.name == built.artefact) {
            let (environment, _) = ENVIRONMENTS[0];
            let commit = history::manifest_commit(&self.clock, environment, &built.artefact, &built.tag);
            if let Err(error) = self.github.commit(commit) {
                tracing::error!(%error, "the simulated CI could not write a manifest");
            }
        }
    }

    pub(super) fn publish_update(&self, topic: UpdateTopic) {
        // Without an open page there is no receiver.
        let _ = self.updates.send(topic);
    }

    fn lock_builds(&self) -> MutexGuard<'_, Vec<BuildProgress>> {
        self.builds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the people of Slack to GitHub with the same names.
fn populate(github: &GitHub) {
    for (name, _) in PEOPLE {
        github.add_person(&history::author(name));
    }
    github.add_team("acme", "release-managers", &["bob", "carol"]);
}

fn create_slack(
    clock: &Clock,
    faults: &Faults,
    unknown_requests: &UnknownRequests,
    origin: &str,
) -> Result<Slack, WorldError> {
    let manifest = Manifest::parse(manifest::HTTP).map_err(WorldError)?;
    let slack = Slack::new(Setup {
        clock: clock.clone(),
        faults: faults.clone(),
        unknown_requests: unknown_requests.clone(),
        origin: origin.to_owned(),
        signing_secret: SIGNING_SECRET.to_owned(),
        bot_token: BOT_TOKEN.to_owned(),
        app_token: APP_TOKEN.to_owned(),
        manifest: Some(manifest),
        team: (TEAM.0.to_owned(), TEAM.1.to_owned()),
    });
    for (name, real_name) in PEOPLE {
        slack.add_person(Person {
            id: format!("U0{}", name.to_uppercase()),
            name: name.to_owned(),
            real_name: real_name.to_owned(),
            email: format!("{name}@acme.example"),
            guest: name == "dave",
            ..Person::default()
        });
    }
    for name in ["deploys", "releases"] {
        let id = format!("C0{}", name.to_uppercase());
        slack.add_channel(Channel { id, name: name.to_owned(), bot_is_member: true, archived: false });
    }
    slack.add_group("S0RELEASE", "release-managers", &["bob", "carol"]);
    slack.set_commands(&["/promote", "/rollback", "/diff", "/list", "/gantry"]);
    Ok(slack)
}

fn list_build_configs() -> Vec<BuildConfig> {
    let branches: Vec<String> = ENVIRONMENTS.iter().map(|(_, branch)| (*branch).to_owned()).collect();
    let build = |artefact: &SimArtefact| BuildConfig {
        artefact: artefact.name.to_owned(),
        repository: artefact.repository.to_owned(),
        image: artefact.image(),
        branches: if artefact.uses_manifest { branches[..1].to_vec() } else { branches.clone() },
        tag_style: artefact.tag_style,
        paths: Vec::new(),
    };
    ARTEFACTS.iter().map(build).collect()
}

fn targets() -> Vec<Target> {
    let target = |artefact: &SimArtefact, (environment, branch): (&str, &str)| Target {
        artefact: artefact.name.to_owned(),
        environment: environment.to_owned(),
        branch: (!artefact.uses_manifest).then(|| branch.to_owned()),
        namespace: environment.to_owned(),
        image: artefact.image(),
        container: artefact.name.to_owned(),
        workloads: artefact.workloads(),
        replicas: history::replicas(environment),
    };
    ARTEFACTS.iter().flat_map(|artefact| ENVIRONMENTS.map(|environment| target(artefact, environment))).collect()
}

/// The secret of each environment's reports.
pub fn webhook_secrets() -> BTreeMap<String, String> {
    ENVIRONMENTS
        .iter()
        .map(|(environment, _)| ((*environment).to_owned(), format!("flux-secret-of-{environment}")))
        .collect()
}
