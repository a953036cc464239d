//! The simulated CI: some time after a branch moves, an image of the new commit is in the registry under a new tag.
//! Its caller reports branch moves to it; it knows neither GitHub nor the cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::domain::model::glob::is_path_match;
use crate::domain::model::version::Sha;

use super::pace::Pace;
use super::registry::Registry;
use crate::sim::scheduler::Scheduler;

/// The repository and branches that CI builds for one artefact, and the names of the images.
#[derive(Clone, Debug)]
pub struct BuildConfig {
    pub artefact: String,
    /// `owner/name`
    pub repository: String,
    /// Without tag, as in `ghcr.io/acme/checkout`.
    pub image: String,
    pub branches: Vec<String>,
    pub tag_style: TagStyle,
    /// Globs. A commit that touches none of them is not built. If the list is empty, every commit is built.
    pub paths: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagStyle {
    /// `develop-4f1c2ab`: the tag contains the commit.
    ShortSha,
    /// `1.4.3`: the image's revision label contains the commit.
    Semver,
    /// `build-12`: neither the tag nor a label contains the commit.
    Opaque,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltImage {
    pub artefact: String,
    pub image: String,
    pub tag: String,
    pub digest: String,
    pub branch: String,
    pub commit: Sha,
}

type Listener = Arc<dyn Fn(&BuiltImage) + Send + Sync>;
type ChangedPathsLookup = Arc<dyn Fn(&str, &Sha) -> Vec<String> + Send + Sync>;

#[derive(Clone)]
pub struct Ci {
    scheduler: Scheduler,
    pace: Pace,
    registry: Registry,
    builds: Arc<Vec<BuildConfig>>,
    state: Arc<Mutex<CiState>>,
}

#[derive(Default)]
struct CiState {
    /// Commits by image and tag. CI remembers them even if neither the tag nor a label contains the commit.
    commits: BTreeMap<(String, String), Sha>,
    changed_paths: Option<ChangedPathsLookup>,
    listeners: Vec<Listener>,
}

impl Ci {
    pub fn new(scheduler: Scheduler, pace: Pace, registry: Registry, builds: Vec<BuildConfig>) -> Self {
        Self { scheduler, pace, registry, builds: Arc::new(builds), state: Arc::default() }
    }

    /// Sets the lookup of the paths that a commit of a repository touches. It is used by builds with `paths`.
    pub fn set_changed_paths_lookup(&self, lookup: impl Fn(&str, &Sha) -> Vec<String> + Send + Sync + 'static) {
        self.lock().changed_paths = Some(Arc::new(lookup));
    }

    /// Calls `listener` after each build, inside the scheduler's step.
    pub fn on_built(&self, listener: impl Fn(&BuiltImage) + Send + Sync + 'static) {
        self.lock().listeners.push(Arc::new(listener));
    }

    /// A branch of a repository now points to `after`. Moves in quick succession are all built, in order.
    pub fn branch_moved(&self, repository: &str, branch: &str, after: &Sha) {
        for build in self.select_builds(repository, branch, after) {
            let (ci, branch, commit) = (self.clone(), branch.to_owned(), after.clone());
            self.scheduler.schedule_after(self.pace.build, move || async move {
                let built = ci.build(&build, &branch, &commit, ci.scheduler.clock().now());
                let listeners = ci.lock().listeners.clone();
                for listener in listeners {
                    listener(&built);
                }
            });
        }
    }

    /// Builds at once and calls no listener. It creates the history before the world's start.
    pub fn build_now(&self, repository: &str, branch: &str, commit: &Sha, at: Timestamp) -> Vec<BuiltImage> {
        self.select_builds(repository, branch, commit)
            .iter()
            .map(|build| self.build(build, branch, commit, at))
            .collect()
    }

    /// The commit that an image was built from, even if its tag and labels do not contain it.
    pub fn commit_of(&self, image: &str, tag: &str) -> Option<Sha> {
        self.lock().commits.get(&(image.to_owned(), tag.to_owned())).cloned()
    }

    fn select_builds(&self, repository: &str, branch: &str, commit: &Sha) -> Vec<BuildConfig> {
        let lookup = self.lock().changed_paths.clone();
        let touches_paths = |build: &BuildConfig| match &lookup {
            Some(lookup) if !build.paths.is_empty() => {
                lookup(repository, commit).iter().any(|path| build.paths.iter().any(|glob| is_path_match(glob, path)))
            }
            _ => true,
        };
        let is_selected = |build: &&BuildConfig| {
            build.repository == repository && build.branches.iter().any(|b| b == branch) && touches_paths(build)
        };
        self.builds.iter().filter(is_selected).cloned().collect()
    }

    fn build(&self, build: &BuildConfig, branch: &str, commit: &Sha, at: Timestamp) -> BuiltImage {
        let mut state = self.lock();
        let tag = self.next_tag(&state, build, branch, commit);
        state.commits.insert((build.image.clone(), tag.clone()), commit.clone());
        drop(state);
        let revision = (build.tag_style == TagStyle::Semver).then_some(commit);
        let digest = self.registry.publish(&build.image, &tag, revision, at);
        BuiltImage {
            artefact: build.artefact.clone(),
            image: build.image.clone(),
            tag,
            digest,
            branch: branch.to_owned(),
            commit: commit.clone(),
        }
    }

    fn next_tag(&self, state: &CiState, build: &BuildConfig, branch: &str, commit: &Sha) -> String {
        // Tags that were removed from the registry count too, so that a number is never reused.
        let used_tags = || {
            let remembered =
                state.commits.keys().filter(|(image, _)| *image == build.image).map(|(_, tag)| tag.clone());
            self.registry.tags(&build.image).into_iter().chain(remembered)
        };
        match build.tag_style {
            TagStyle::ShortSha => format!("{}-{}", branch.replace('/', "-"), commit.short()),
            TagStyle::Semver => {
                let (major, minor, patch) = used_tags().filter_map(|tag| semver(&tag)).max().unwrap_or((1, 0, 0));
                format!("{major}.{minor}.{}", patch + 1)
            }
            TagStyle::Opaque => {
                let last = used_tags().filter_map(|tag| tag.strip_prefix("build-")?.parse::<u64>().ok()).max();
                format!("build-{}", last.unwrap_or_default() + 1)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, CiState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn semver(tag: &str) -> Option<(u64, u64, u64)> {
    let mut parts = tag.strip_prefix('v').unwrap_or(tag).splitn(3, '.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use tokio_util::sync::CancellationToken;

    use crate::clock::Clock;
    use crate::sim::unknown_requests::UnknownRequests;

    use super::*;

    fn build(artefact: &str, repository: &str, tags: TagStyle, paths: &[&str]) -> BuildConfig {
        BuildConfig {
            artefact: artefact.into(),
            repository: repository.into(),
            image: format!("ghcr.io/acme/{artefact}"),
            branches: vec!["develop".into(), "qa".into()],
            tag_style: tags,
            paths: paths.iter().map(|&path| path.into()).collect(),
        }
    }

    fn sha(digit: &str) -> Sha {
        digit.repeat(40).parse().unwrap()
    }

    fn ci() -> (Ci, Clock, Arc<Mutex<Vec<String>>>) {
        let clock = Clock::new_manual(Timestamp::UNIX_EPOCH);
        let scheduler = Scheduler::new(clock.clone());
        let builds = vec![
            build("checkout", "acme/checkout", TagStyle::ShortSha, &[]),
            build("search", "acme/search", TagStyle::Semver, &[]),
            build("mailer", "acme/shop", TagStyle::Opaque, &["mailer/**", "lib/*.rs"]),
        ];
        let ci = Ci::new(scheduler.clone(), Pace::default(), Registry::new(UnknownRequests::default()), builds);
        let built_images = Arc::new(Mutex::new(Vec::new()));
        ci.on_built({
            let built_images = built_images.clone();
            move |built| {
                built_images.lock().unwrap().push(format!("{}:{} {}", built.image, built.tag, built.commit.short()));
            }
        });
        tokio::spawn(scheduler.run(CancellationToken::new()));
        (ci, clock, built_images)
    }

    async fn run_until_idle(ci: &Ci, clock: &Clock) {
        while let Some(due) = ci.scheduler.next_due() {
            clock.advance_to(due);
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn two_quick_commits_are_both_built_in_order() {
        let (ci, clock, built_images) = ci();
        ci.branch_moved("acme/checkout", "develop", &sha("a"));
        clock.advance(SignedDuration::from_millis(10));
        ci.branch_moved("acme/checkout", "develop", &sha("b"));
        tokio::task::yield_now().await;
        assert!(built_images.lock().unwrap().is_empty(), "a build is not instant");
        run_until_idle(&ci, &clock).await;
        assert_eq!(
            *built_images.lock().unwrap(),
            ["ghcr.io/acme/checkout:develop-aaaaaaa aaaaaaa", "ghcr.io/acme/checkout:develop-bbbbbbb bbbbbbb"]
        );
        assert!(ci.registry.has("ghcr.io/acme/checkout", "develop-bbbbbbb"));
    }

    #[tokio::test]
    async fn each_tag_style_names_images_differently() {
        let (ci, clock, built_images) = ci();
        ci.registry.publish("ghcr.io/acme/search", "1.4.9", None, Timestamp::UNIX_EPOCH);
        ci.registry.publish("ghcr.io/acme/search", "1.4.10", None, Timestamp::UNIX_EPOCH);
        for repository in ["acme/search", "acme/shop", "acme/unknown"] {
            ci.branch_moved(repository, "develop", &sha("c"));
            ci.branch_moved(repository, "feature", &sha("d"));
        }
        run_until_idle(&ci, &clock).await;
        assert_eq!(
            *built_images.lock().unwrap(),
            ["ghcr.io/acme/search:1.4.11 ccccccc", "ghcr.io/acme/mailer:build-1 ccccccc"]
        );
        assert_eq!(ci.commit_of("ghcr.io/acme/mailer", "build-1"), Some(sha("c")));
    }

    #[tokio::test]
    async fn a_tag_number_is_not_reused_after_its_image_is_removed() {
        let (ci, _, built_images) = ci();
        let first = ci.build_now("acme/search", "develop", &sha("a"), Timestamp::UNIX_EPOCH);
        ci.registry.remove(&first[0].image, &first[0].tag);
        let second = ci.build_now("acme/search", "qa", &sha("b"), Timestamp::UNIX_EPOCH);
        assert_eq!((first[0].tag.as_str(), second[0].tag.as_str()), ("1.0.1", "1.0.2"));
        assert!(built_images.lock().unwrap().is_empty(), "listeners are not called for history");
    }

    #[tokio::test]
    async fn a_commit_outside_the_paths_of_an_artefact_is_not_built() {
        let (ci, _, _) = ci();
        ci.set_changed_paths_lookup(|_, commit| {
            vec![if commit.short() == "aaaaaaa" { "mailer/src/x.rs" } else { "shop/x.rs" }.to_owned()]
        });
        assert_eq!(ci.build_now("acme/shop", "develop", &sha("a"), Timestamp::UNIX_EPOCH).len(), 1);
        assert_eq!(ci.build_now("acme/shop", "develop", &sha("b"), Timestamp::UNIX_EPOCH).len(), 0);
    }
}
