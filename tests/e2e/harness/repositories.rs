//! Test repositories: promotions and rollbacks through the GitHub client in the product's order, and a record of every
//! move of a branch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gantry::adapters::github::client::Auth;
use gantry::adapters::github::{
    BuildPromotionOutcome, Client, FastForwardOutcome, MergeOutcome, OpenRollback, PromotionMerge,
};
use gantry::clock::Clock;
use gantry::domain::git::trailer::Trailers;
use gantry::domain::model::artefact::Repository;
use gantry::domain::model::ids::ChangeId;
use gantry::domain::model::version::Sha;
use gantry::sim::faults::Faults;
use gantry::sim::github::{Author, BranchMove, GitHub, NewCommit};
use gantry::sim::unknown_requests::UnknownRequests;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use tokio::net::TcpListener;

/// Path and content of every file.
pub(crate) type Files = BTreeMap<String, String>;

/// The result of a promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromotionResult {
    Merged(Sha),
    AlreadyMerged,
    Conflict,
}

/// A simulated GitHub with its client. A test can have many repositories.
pub(crate) struct GithubHarness {
    pub(crate) github: GitHub,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    moves: Arc<Mutex<BTreeMap<String, Vec<BranchMove>>>>,
}

pub(crate) struct TestRepository<'a> {
    pub(crate) harness: &'a GithubHarness,
    pub(crate) repository: Repository,
}

impl GithubHarness {
    pub(crate) async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::new_manual("2026-11-16T09:00:00Z".parse::<Timestamp>().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let github = GitHub::new(clock.clone(), Faults::default(), UnknownRequests::default(), origin.clone());
        let router = github.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let client = Client::new(&origin, Auth::Token(SecretString::from("x")), clock.clone()).unwrap();
        let moves: Arc<Mutex<BTreeMap<String, Vec<BranchMove>>>> = Arc::default();
        let recorded = moves.clone();
        github.on_move(move |moved| {
            recorded.lock().unwrap().entry(moved.repository.clone()).or_default().push(moved.clone());
        });
        Self { github, client, clock, moves }
    }

    /// Creates a repository with all branches at one first commit.
    pub(crate) fn create_repository(&self, name: &str, branches: &[&str], files: &Files) -> (TestRepository<'_>, Sha) {
        let repo = TestRepository { harness: self, repository: name.parse().unwrap() };
        self.github.create_repository(name, branches[0]).unwrap();
        let first = repo.commit(branches[0], "Begin", &Files::new(), files);
        for branch in &branches[1..] {
            self.github.create_branch(name, branch, &first).unwrap();
        }
        repo.take_moves();
        (repo, first)
    }
}

impl TestRepository<'_> {
    pub(crate) fn name(&self) -> String {
        self.repository.to_string()
    }

    pub(crate) fn head(&self, branch: &str) -> Sha {
        self.harness.github.head(&self.name(), branch).unwrap()
    }

    /// A person's push that changes the files from one state to another.
    pub(crate) fn commit(&self, branch: &str, message: &str, from: &Files, to: &Files) -> Sha {
        let changed = to.iter().filter(|(path, text)| from.get(*path) != Some(text));
        let put = changed.map(|(path, text)| (path.clone(), Some(text.clone())));
        let gone = from.keys().filter(|path| !to.contains_key(*path)).map(|path| (path.clone(), None));
        self.harness.clock.advance(SignedDuration::from_secs(60));
        let commit = NewCommit {
            repository: self.name(),
            branch: branch.to_owned(),
            message: message.to_owned(),
            author: Author { name: "A".into(), email: "a@acme.example".into(), login: None },
            files: put.chain(gone).collect(),
            at: self.harness.clock.now(),
        };
        self.harness.github.commit(commit).unwrap()
    }

    /// The moves of the environments' branches since the last call.
    pub(crate) fn take_moves(&self) -> Vec<BranchMove> {
        let mut all = self.harness.moves.lock().unwrap();
        let branch_moves = all.get_mut(&self.name()).map(std::mem::take).unwrap_or_default();
        branch_moves.into_iter().filter(|moved| !moved.branch.starts_with("gantry/")).collect()
    }

    pub(crate) async fn open_rollbacks(&self, branch: &str) -> Vec<OpenRollback> {
        self.harness.client.find_open_rollbacks(&self.repository, &self.head(branch)).await.unwrap()
    }

    /// Moves the clock so far that GitHub's rate limits do not matter, and creates the id of a change.
    fn advance_and_create_id(&self, writes: usize) -> ChangeId {
        self.harness.clock.advance(SignedDuration::from_secs(120 * i64::try_from(writes).unwrap()));
        ChangeId::new(self.harness.clock.now())
    }

    /// Merges into the branch. If rollbacks are open, builds the result on a scratch branch first.
    pub(crate) async fn promote(&self, branch: &str, pinned: &Sha) -> PromotionResult {
        self.promote_past_rollbacks(branch, pinned, &self.open_rollbacks(branch).await).await
    }

    pub(crate) async fn promote_past_rollbacks(
        &self,
        branch: &str,
        pinned: &Sha,
        open: &[OpenRollback],
    ) -> PromotionResult {
        let (client, repository) = (&self.harness.client, &self.repository);
        let change = self.advance_and_create_id(6 + 2 * open.len());
        let message = format!("Promote\n\n{pinned} was seen running well.\n\n{}\n", Trailers::Change(change));
        let base = self.head(branch);
        if open.is_empty() {
            return match client.merge_into_branch(repository, branch, pinned, &message).await.unwrap() {
                MergeOutcome::Done { commit, parents } => {
                    assert_eq!(parents, [base, pinned.clone()], "the merge commit has exactly these parents");
                    PromotionResult::Merged(commit)
                }
                MergeOutcome::AlreadyMerged => PromotionResult::AlreadyMerged,
                MergeOutcome::Conflict => PromotionResult::Conflict,
                other => panic!("{other:?}"),
            };
        }
        let scratch_branch = format!("gantry/{change}");
        client.put_own_branch(repository, &scratch_branch, &base).await.unwrap();
        let merge = PromotionMerge { change, pinned, message: &message };
        let promoted =
            match client.build_promotion_commit(repository, &scratch_branch, &base, open, merge).await.unwrap() {
                BuildPromotionOutcome::Done(result) => {
                    let outcome = client.fast_forward(repository, branch, &result).await.unwrap();
                    assert_eq!(outcome, FastForwardOutcome::Done);
                    PromotionResult::Merged(result)
                }
                BuildPromotionOutcome::Conflict => PromotionResult::Conflict,
                other => panic!("{other:?}"),
            };
        client.delete_own_branch(repository, &scratch_branch).await.unwrap();
        promoted
    }

    pub(crate) async fn roll_back(&self, branch: &str, restore: &Sha) -> OpenRollback {
        let (client, repository) = (&self.harness.client, &self.repository);
        let change = self.advance_and_create_id(3);
        let parent = self.head(branch);
        let trailers = Trailers::Rollback { change, restores: Some(restore.clone()) };
        let message = format!("Roll back to {restore}\n\n{trailers}\n");
        let commit = client.create_rollback_commit(repository, &parent, restore, &message).await.unwrap().unwrap();
        assert_eq!(self.head(branch), parent, "the branch has not moved yet");
        assert_eq!(client.fast_forward(repository, branch, &commit).await.unwrap(), FastForwardOutcome::Done);
        OpenRollback { change, commit, parent, restores: restore.clone() }
    }

    /// The files of a commit with the hashes of their contents.
    pub(crate) fn tree(&self, commit: &Sha) -> BTreeMap<String, Sha> {
        self.harness.github.files(&self.name(), commit).unwrap()
    }
}

/// The same for expected files.
pub(crate) fn expected_tree(files: &Files) -> BTreeMap<String, Sha> {
    let name = |text: &String| git2::Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).unwrap().to_string();
    files.iter().map(|(path, text)| (path.clone(), name(text).parse().unwrap())).collect()
}
