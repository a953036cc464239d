//! Random histories of pushes, hotfixes and promotions, through the GitHub client: each branch must end with exactly
//! the commits that a simple model expects of it.

use std::collections::{BTreeMap, BTreeSet};

use gantry::adapters::github::client::Auth;
use gantry::adapters::github::{BranchComparison, Client, MergeOutcome};
use gantry::clock::Clock;
use gantry::domain::model::artefact::Repository;
use gantry::domain::model::version::Sha;
use gantry::sim::faults::Faults;
use gantry::sim::github::{Author, GitHub, NewCommit};
use gantry::sim::unknown_requests::UnknownRequests;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use tokio::net::TcpListener;

use crate::harness::series::{Random, Series};

/// The number of histories in a long run.
const HISTORIES: u64 = 1000;
const BRANCHES: [&str; 4] = ["develop", "qa", "staging", "prod"];

/// The content of a branch: the names of the pushes and hotfixes that were applied to it.
type Applied = BTreeSet<String>;

struct History<'a> {
    github: &'a GitHub,
    client: &'a Client,
    clock: &'a Clock,
    repository: Repository,
    /// For each environment, every commit that its branch has pointed at, with the content of the branch then.
    positions: [Vec<(Sha, Applied)>; 4],
    hotfixes: BTreeSet<String>,
}

impl History<'_> {
    fn current_position(&self, environment: usize) -> &(Sha, Applied) {
        self.positions[environment].last().unwrap()
    }

    fn commit(&mut self, environment: usize, name: &str) {
        let files = BTreeMap::from([(format!("changes/{name}"), Some(name.to_owned()))]);
        let commit = NewCommit {
            repository: self.repository.to_string(),
            branch: BRANCHES[environment].to_owned(),
            message: name.to_owned(),
            author: Author { name: "A".into(), email: "a@acme.example".into(), login: None },
            files,
            at: self.clock.now(),
        };
        let sha = self.github.commit(commit).unwrap();
        let mut applied = self.current_position(environment).1.clone();
        applied.insert(name.to_owned());
        self.positions[environment].push((sha, applied));
    }

    /// Promotes one of the last three positions of the environment below.
    async fn promote(&mut self, environment: usize, random: &mut Random) {
        let below = &self.positions[environment - 1];
        let offset = random.below(below.len().min(3));
        let (pinned, promoted) = below[below.len() - 1 - offset].clone();
        let branch = BRANCHES[environment];
        // Avoids GitHub's limits on writes, which this test does not cover.
        self.clock.advance(SignedDuration::from_secs(15));
        let BranchComparison::Pending(pending) =
            self.client.compare_with_branch(&self.repository, branch, &pinned).await.unwrap()
        else {
            panic!("the branches have a common ancestor");
        };
        let target = self.current_position(environment).1.clone();
        assert_eq!(
            pending.ahead_by == 0,
            self.contains_commit(environment, &pinned),
            "does {branch} contain {pinned}?"
        );
        let listed_hotfixes: BTreeSet<String> = pending.iter_hotfixes().map(|commit| commit.subject.clone()).collect();
        for hotfix in target.iter().filter(|name| self.hotfixes.contains(*name) && !promoted.contains(*name)) {
            assert!(listed_hotfixes.contains(hotfix), "{hotfix} is only in {branch}, and must be listed");
        }
        match self.client.merge_into_branch(&self.repository, branch, &pinned, "Promote").await.unwrap() {
            MergeOutcome::Done { commit, parents } => {
                assert_eq!(
                    parents,
                    [self.current_position(environment).0.clone(), pinned],
                    "the merge commit has exactly these parents"
                );
                self.positions[environment].push((commit, target.union(&promoted).cloned().collect()));
            }
            MergeOutcome::AlreadyMerged => assert!(promoted.is_subset(&target)),
            other => panic!("{other:?}"),
        }
    }

    /// Walks the commit graph instead of asking the client.
    fn contains_commit(&self, environment: usize, pinned: &Sha) -> bool {
        let parents: BTreeMap<Sha, Vec<Sha>> = self
            .github
            .graph(&self.repository.to_string(), 1000)
            .into_iter()
            .map(|commit| (commit.sha, commit.parents))
            .collect();
        let (mut open, mut seen) = (vec![self.current_position(environment).0.clone()], BTreeSet::new());
        while let Some(sha) = open.pop() {
            if seen.insert(sha.clone()) {
                open.extend(parents.get(&sha).into_iter().flatten().cloned());
            }
        }
        seen.contains(pinned)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_of_promotions_end_with_the_files_that_a_simple_model_expects() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let clock = Clock::new_manual("2026-11-16T09:00:00Z".parse::<Timestamp>().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let github = GitHub::new(clock.clone(), Faults::default(), UnknownRequests::default(), origin.clone());
    let router = github.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = Client::new(&origin, Auth::Token(SecretString::from("x")), clock.clone()).unwrap();

    let http = reqwest::Client::new();

    for number in Series::Histories.seeds(HISTORIES) {
        let mut random = Random(number);
        let repository: Repository = format!("acme/history-{number}").parse().unwrap();
        github.create_repository(&repository.to_string(), "develop").unwrap();
        let mut history = History {
            github: &github,
            client: &client,
            clock: &clock,
            repository,
            positions: Default::default(),
            hotfixes: BTreeSet::new(),
        };
        let commit = NewCommit {
            repository: history.repository.to_string(),
            branch: "develop".to_owned(),
            message: "Begin".to_owned(),
            author: Author { name: "A".into(), email: "a@acme.example".into(), login: None },
            files: [("README".to_owned(), Some("one\ntwo\n".to_owned()))].into(),
            at: clock.now(),
        };
        let first = github.commit(commit).unwrap();
        for (environment, branch) in BRANCHES.iter().enumerate() {
            if environment > 0 {
                github.create_branch(&history.repository.to_string(), branch, &first).unwrap();
            }
            history.positions[environment].push((first.clone(), Applied::new()));
        }
        for step in 0..12 {
            match random.below(10) {
                0..4 => history.commit(0, &format!("push-{step}")),
                4 => {
                    let name = format!("hotfix-{step}");
                    history.commit(1 + random.below(3), &name);
                    history.hotfixes.insert(name);
                }
                _ => {
                    let environment = 1 + random.below(3);
                    history.promote(environment, &mut random).await;
                }
            }
        }
        for (environment, branch) in BRANCHES.iter().enumerate() {
            let (head, applied) = history.current_position(environment);
            assert_eq!(github.head(&history.repository.to_string(), branch).as_ref(), Some(head));
            let found = files(&http, &origin, &history.repository, head).await;
            let expected: Applied =
                applied.iter().map(|name| format!("changes/{name}")).chain(["README".to_owned()]).collect();
            assert_eq!(found, expected, "history {number}, {branch}");
        }
    }
}

/// The paths of all files of a commit, from GitHub's API.
async fn files(http: &reqwest::Client, origin: &str, repository: &Repository, commit: &Sha) -> BTreeSet<String> {
    let url = format!("{origin}/repos/{repository}/git/trees/{commit}?recursive=1");
    let tree: serde_json::Value = http.get(url).send().await.unwrap().json().await.unwrap();
    let entries = tree["tree"].as_array().unwrap().iter().filter(|entry| entry["type"] == "blob");
    entries.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}
