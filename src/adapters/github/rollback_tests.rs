//! Tests of rollbacks and promotion results against a fake of GitHub. The end-to-end tests prove the effects in real
//! Git.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::client::tests::{FakeGithub, error_body, shop};
use super::*;

fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn sha_object(digit: char) -> Value {
    json!({ "sha": sha(digit).as_str() })
}

fn object(tree: char) -> Value {
    json!({ "sha": sha('0').as_str(), "tree": sha_object(tree) })
}

fn merge(digit: char, parents: [char; 2]) -> Value {
    json!({
        "sha": sha(digit).as_str(), "parents": parents.map(sha_object),
        "commit": { "message": "m", "tree": sha_object('7') }, "author": null,
    })
}

fn rollback(commit: char, parent: char) -> OpenRollback {
    OpenRollback {
        change: ChangeId::new(Timestamp::UNIX_EPOCH),
        commit: sha(commit),
        parent: sha(parent),
        restores: sha('0'),
    }
}

#[tokio::test]
async fn a_branch_is_fast_forwarded_without_force_and_the_outcome_is_returned() {
    let rules = [
        (
            422,
            "You're not authorized to push to this branch. Visit https://docs.github.com. Cannot update this protected branch",
        ),
        (422, "Changes must be made through a pull request."),
        (422, "Repository rule violations found\n\nCannot update this protected ref."),
        (422, "Required status check \"build\" is expected."),
        (422, "At least 1 approving review is required by reviewers with write access. Protected branch update failed"),
        (403, "Protected branch update failed for refs/heads/qa."),
    ];
    for (status, why) in rules {
        let fake = FakeGithub::default().answers(status, error_body(why));
        let refused = FastForwardOutcome::Refused(why.to_owned());
        assert_eq!(fake.client().await.fast_forward(&shop(), "qa", &sha('a')).await, Ok(refused));
    }
    let cases = [
        (200, "", Ok(FastForwardOutcome::Done)),
        (422, "Update is not a fast forward", Ok(FastForwardOutcome::BranchMoved)),
        (409, "is at 1111 but expected 2222", Ok(FastForwardOutcome::BranchMoved)),
        (422, "Reference does not exist", Ok(FastForwardOutcome::NoBranch)),
        (422, "Object does not exist", Err(GithubError::NotFound("the commit aaaaaaa".to_owned()))),
        (422, "Reference update failed", Err(GithubError::Unclear("Reference update failed".to_owned()))),
        (404, "Not Found", Err(GithubError::NotFound("Not Found".to_owned()))),
        (403, "Resource not accessible", Err(GithubError::Unauthorised("Resource not accessible".to_owned()))),
        (502, "Bad gateway", Err(GithubError::Unavailable("it answered 502".to_owned()))),
    ];
    for (status, message, expected) in cases {
        let fake = FakeGithub::default().answers(status, error_body(message));
        assert_eq!(fake.client().await.fast_forward(&shop(), "env/qa", &sha('a')).await, expected, "{message}");
        assert_eq!(fake.list_requests(), ["PATCH /sim/github/repos/acme/shop/git/refs/heads/env/qa"], "once");
        assert_eq!(fake.written(), [json!({ "sha": sha('a').as_str(), "force": false })]);
    }
    let fake = FakeGithub::default();
    assert_eq!(fake.client().await.fast_forward(&shop(), "../x", &sha('a')).await, Ok(FastForwardOutcome::NoBranch));
    assert!(fake.list_requests().is_empty());
}

#[tokio::test]
async fn a_rollback_is_the_old_tree_on_top_of_the_head() {
    let fake = FakeGithub::default().answers(200, object('7')).answers(201, sha_object('c'));
    assert_eq!(
        fake.client().await.create_rollback_commit(&shop(), &sha('b'), &sha('a'), "m").await,
        Ok(Some(sha('c')))
    );
    let expected = [
        format!("GET /sim/github/repos/acme/shop/git/commits/{}", sha('a')),
        "POST /sim/github/repos/acme/shop/git/commits".to_owned(),
    ];
    assert_eq!(fake.list_requests(), expected);
    let body = json!({ "message": "m", "tree": sha('7').as_str(), "parents": [sha('b').as_str()] });
    assert_eq!(fake.written(), [body]);

    let missing = FakeGithub::default().answers(404, error_body("Not Found"));
    assert_eq!(missing.client().await.create_rollback_commit(&shop(), &sha('b'), &sha('a'), "m").await, Ok(None));
}

#[tokio::test]
async fn a_promotion_undoes_the_newest_rollback_first_and_then_merges() {
    let fake = FakeGithub::default()
        .answers(200, object('1'))
        .answers(200, object('2'))
        .answers(201, sha_object('8'))
        .answers(201, merge('a', ['0', '8']))
        .answers(201, sha_object('9'))
        .answers(201, merge('b', ['a', '9']))
        .answers(201, merge('c', ['b', 'f']));
    let open = [rollback('5', '4'), rollback('4', '3')];
    let change = ChangeId::new(Timestamp::UNIX_EPOCH);
    let promotion = PromotionMerge { change, pinned: &sha('f'), message: "Promote" };
    let outcome = fake.client().await.build_promotion_commit(&shop(), "gantry/1", &sha('0'), &open, promotion).await;
    assert_eq!(outcome, Ok(BuildPromotionOutcome::Done(sha('c'))));
    let undoing = |of: &OpenRollback| {
        let trailers = Trailers::Reinstates { change, rollback: of.change };
        format!("Undo the rollback {}\n\n{trailers}\n", of.change.to_short_id())
    };
    let commit = |of: &OpenRollback, tree: char| json!({ "message": undoing(of), "tree": sha(tree).as_str(), "parents": [of.commit.as_str()] });
    let merging = |head: char, message: String| json!({ "base": "gantry/1", "head": sha(head).as_str(), "commit_message": message });
    let written = [
        commit(&open[0], '1'),
        merging('8', undoing(&open[0])),
        commit(&open[1], '2'),
        merging('9', undoing(&open[1])),
        merging('f', "Promote".to_owned()),
    ];
    assert_eq!(fake.written(), written);
    assert_eq!(
        Trailers::parse_message(&undoing(&open[0])),
        Some(Trailers::Reinstates { change, rollback: open[0].change })
    );
}

#[tokio::test]
async fn each_failure_to_build_a_promotion_has_its_outcome() {
    let (conflict, no_content) = (error_body("Merge conflict"), Value::Null);
    let change = ChangeId::new(Timestamp::UNIX_EPOCH);
    let unclear = |why: &str| Err(GithubError::Unclear(why.to_owned()));
    let open = rollback('5', '4');
    let undo = |fake: FakeGithub| fake.answers(200, object('1')).answers(201, sha_object('8'));
    let undone = |fake: FakeGithub| undo(fake).answers(201, merge('a', ['0', '8']));
    let cases: [(FakeGithub, bool, Result<BuildPromotionOutcome, GithubError>); 10] = [
        (FakeGithub::default().answers(204, no_content.clone()), false, Ok(BuildPromotionOutcome::AlreadyMerged)),
        (undone(FakeGithub::default()).answers(204, no_content), true, Ok(BuildPromotionOutcome::Done(sha('a')))),
        (undo(FakeGithub::default()).answers(409, conflict.clone()), true, Ok(BuildPromotionOutcome::Conflict)),
        (undone(FakeGithub::default()).answers(409, conflict), true, Ok(BuildPromotionOutcome::Conflict)),
        (
            undone(FakeGithub::default()).answers(404, error_body("Head does not exist")),
            true,
            Ok(BuildPromotionOutcome::NoCommit),
        ),
        (
            undo(FakeGithub::default()).answers(404, error_body("Base does not exist")),
            true,
            unclear("gantry/1 is gone again"),
        ),
        (
            undo(FakeGithub::default()).answers(404, error_body("Head does not exist")),
            true,
            unclear("it has not what it just made"),
        ),
        (
            undo(FakeGithub::default()).answers(201, merge('a', ['9', '8'])),
            true,
            unclear("somebody else writes to gantry/1"),
        ),
        (
            undo(FakeGithub::default()).answers(409, error_body("Not authorized")),
            true,
            Ok(BuildPromotionOutcome::Refused("Not authorized".to_owned())),
        ),
        (
            FakeGithub::default().answers(404, error_body("Not Found")),
            true,
            Err(GithubError::NotFound("the commit 4444444 before a rollback".to_owned())),
        ),
    ];
    for (index, (fake, is_open, expected)) in cases.into_iter().enumerate() {
        let open = if is_open { std::slice::from_ref(&open) } else { &[] };
        let promotion = PromotionMerge { change, pinned: &sha('f'), message: "Promote" };
        let outcome = fake.client().await.build_promotion_commit(&shop(), "gantry/1", &sha('0'), open, promotion).await;
        assert_eq!(outcome, expected, "case {index}");
    }
}
