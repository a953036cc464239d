//! Reads: repositories, branches, commits, comparisons and contents.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{REPOSITORY, World, new_commit, status_and_message, unwrap_github_error};

#[tokio::test]
async fn a_repository_and_its_branches_can_be_read() {
    let world = World::with_history().await;
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");
    assert_eq!(repos.get().await.unwrap().default_branch.as_deref(), Some("develop"));
    let branches = repos.list_branches().send().await.unwrap().items;
    let branches: Vec<_> = branches.iter().map(|branch| (branch.name.as_str(), branch.commit.sha.as_str())).collect();
    assert_eq!(branches, [("develop", world.head("develop").as_str()), ("qa", world.head("qa").as_str())]);
    let (status, qa) = world.get("/repos/Acme/Checkout/branches/qa").await;
    assert_eq!((status, qa["commit"]["sha"].as_str()), (200, Some(world.head("qa").as_str())));
    let (status, none) = world.get("/repos/acme/checkout/branches/feature/x").await;
    assert_eq!(
        (status, none["message"].as_str(), none["status"].as_str()),
        (404, Some("Branch not found"), Some("404"))
    );
}

#[tokio::test]
async fn a_commit_is_found_by_sha_prefix_or_branch() {
    let world = World::with_history().await;
    let develop = world.head("develop");
    world.github.create_branch(REPOSITORY, "feature/x", &develop).unwrap();
    let octocrab = world.octocrab();
    let commits = octocrab.commits("acme", "checkout");
    for name in [develop.as_str(), develop.short(), &develop.as_str()[..4], "develop", "heads/develop", "feature/x"] {
        let commit = commits.get(name).await.unwrap();
        assert_eq!(commit.sha, develop.as_str(), "{name}");
        assert_eq!(commit.author.unwrap().login, "alice-gh");
        assert_eq!(commit.stats.unwrap().total, Some(2));
        assert_eq!(commit.files.unwrap()[0].patch.as_deref(), Some("@@ -1 +1 @@\n-12\n+12.00"));
    }
    for name in ["nothing", &develop.as_str()[..3], "0123456789012345678901234567890123456789"] {
        assert_eq!(
            unwrap_github_error(commits.get(name).await),
            status_and_message(422, &format!("No commit found for SHA: {name}"))
        );
    }
}

#[tokio::test]
async fn an_author_without_an_account_has_no_login() {
    let world = World::open().await;
    let mut new = new_commit("develop", "m", BTreeMap::new(), world.clock.now());
    (new.author.email, new.author.login) = ("stranger@acme.test".to_owned(), None);
    let sha = world.github.commit(new).unwrap();
    let (_, commit) = world.get(&format!("/repos/acme/checkout/commits/{sha}")).await;
    assert_eq!(
        (&commit["author"], commit["commit"]["author"]["email"].as_str()),
        (&Value::Null, Some("stranger@acme.test"))
    );
}

#[tokio::test]
async fn commits_are_listed_newest_first_by_page_and_by_path() {
    let world = World::with_history().await;
    let messages = |page: &Value| {
        page.as_array().unwrap().iter().map(|c| c["commit"]["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (_, all) = world.get("/repos/acme/checkout/commits").await;
    assert_eq!(messages(&all), ["Round the price", "Add a price", "Add the cart\n\nIt holds things."]);
    let (_, page) = world.get("/repos/acme/checkout/commits?sha=develop&per_page=2&page=2").await;
    assert_eq!(messages(&page), ["Add the cart\n\nIt holds things."]);
    let (_, touched) = world.get("/repos/acme/checkout/commits?path=src/price.rs&sha=develop").await;
    assert_eq!(messages(&touched), ["Round the price", "Add a price"]);
    let (_, touched) = world.get("/repos/acme/checkout/commits?path=README.md").await;
    assert_eq!(messages(&touched), ["Add a price"]);
    assert_eq!(world.get("/repos/acme/checkout/commits?sha=nothing").await.0, 404);

    let page = world.octocrab().repos("acme", "checkout").list_commits().per_page(1).send().await.unwrap();
    let next: Option<octocrab::Page<octocrab::models::repos::RepoCommit>> =
        world.octocrab().get_page(&page.next).await.unwrap();
    assert_eq!(next.unwrap().items[0].commit.message, "Add a price");
}

#[tokio::test]
async fn a_comparison_counts_from_the_merge_base() {
    let world = World::with_history().await;
    let base = world.head("qa");
    world.commit("qa", "A hotfix", &[("fix.txt", "now")]);
    world.commit("develop", "Move the cart", &[("src/basket.rs", "one\ntwo\nthree\n")]);
    world
        .github
        .commit(new_commit("develop", "m", [("src/cart.rs".to_owned(), None)].into(), world.clock.now()))
        .unwrap();
    let octocrab = world.octocrab();
    let commits = octocrab.commits("acme", "checkout");
    let compared = commits.compare("qa", "develop").per_page(100).send().await.unwrap();
    assert_eq!((compared.ahead_by, compared.behind_by, compared.total_commits), (3, 1, 3));
    assert_eq!(format!("{:?}", compared.status), "Diverged");
    assert_eq!(
        (compared.merge_base_commit.sha.as_str(), compared.base_commit.sha.as_str()),
        (base.as_str(), world.head("qa").as_str())
    );
    assert_eq!(compared.commits[0].commit.message, "Round the price", "oldest first");
    let files = compared.files.unwrap();
    let files: Vec<_> = files.iter().map(|f| (f.filename.as_str(), format!("{:?}", f.status), f.changes)).collect();
    assert_eq!(files, [("src/basket.rs", "Renamed".to_owned(), 0), ("src/price.rs", "Modified".to_owned(), 2)]);

    let second = commits.compare("qa", "develop").per_page(2).page(2_u32).send().await.unwrap();
    assert_eq!((second.commits.len(), second.total_commits, second.files.unwrap().len()), (1, 3, 0));
    for (range, status) in [("develop...develop", "identical"), ("develop...qa", "diverged")] {
        let (_, compared) = world.get(&format!("/repos/acme/checkout/compare/{range}")).await;
        assert_eq!(compared["status"], status);
    }
    let path = format!("/repos/acme/checkout/compare/{}...{base}", world.head("develop"));
    assert_eq!(world.get(&path).await.1["status"], "behind");
}

#[tokio::test]
async fn a_comparison_shows_each_file_as_github_does() {
    let world = World::with_history().await;
    let lines = |last: &str| format!("one\ntwo\nthree\nfour\nfive\n{last}\n");
    world.commit("qa", "Begin", &[("old.txt", &lines("six")), ("gone.txt", "bye\n"), ("picture", "a\0b")]);
    let base = world.head("qa");
    world.github.create_branch(REPOSITORY, "next", &base).unwrap();
    let text = |text: &str| Some(text.to_owned());
    let files = BTreeMap::from([
        ("old.txt".to_owned(), None),
        ("new.txt".to_owned(), text(&lines("seven"))),
        ("gone.txt".to_owned(), None),
        ("more.txt".to_owned(), text("hello\n")),
        ("picture".to_owned(), text("a\0c")),
    ]);
    world.github.commit(new_commit("next", "Go on", files, world.clock.now())).unwrap();
    let head = world.head("next");
    let (_, compared) = world.get(&format!("/repos/acme/checkout/compare/{base}...{head}")).await;
    let files: Vec<Value> = compared["files"].as_array().unwrap().iter().map(shown_file).collect();
    let renamed = "@@ -3,4 +3,4 @@ two\n three\n four\n five\n-six\n+seven";
    assert_eq!(
        files,
        [
            json!(["gone.txt", null, "removed", 0, 1, 1, "@@ -1 +0,0 @@\n-bye"]),
            json!(["more.txt", null, "added", 1, 0, 1, "@@ -0,0 +1 @@\n+hello"]),
            json!(["new.txt", "old.txt", "renamed", 1, 1, 2, renamed]),
            json!(["picture", null, "modified", 0, 0, 0, null]),
        ]
    );
    let counts = ["status", "ahead_by", "behind_by", "total_commits"].map(|name| compared[name].clone());
    assert_eq!(counts, [json!("ahead"), json!(1), json!(0), json!(1)]);
    let commits = ["base_commit", "merge_base_commit"].map(|name| compared[name]["sha"].as_str().unwrap());
    assert_eq!(commits, [base.as_str(); 2]);
    assert_eq!(compared["commits"][0]["sha"], head.as_str());
    assert_eq!(compared["html_url"], format!("{}/acme/checkout/compare/{base}...{head}", world.url));
}

fn shown_file(file: &Value) -> Value {
    let names = ["filename", "previous_filename", "status", "additions", "deletions", "changes", "patch"];
    names.map(|name| file[name].clone()).into_iter().collect()
}

#[tokio::test]
async fn unrelated_or_missing_commits_cannot_be_compared() {
    let world = World::with_history().await;
    let tree = world
        .post("/repos/acme/checkout/git/trees", &json!({ "tree": [{ "path": "a", "mode": "100644", "content": "x" }] }))
        .await
        .1;
    let orphan =
        world.post("/repos/acme/checkout/git/commits", &json!({ "message": "m", "tree": tree["sha"] })).await.1;
    let orphan = orphan["sha"].as_str().unwrap();
    let octocrab = world.octocrab();
    let commits = octocrab.commits("acme", "checkout");
    let unrelated = commits.compare("qa", orphan).send().await;
    assert_eq!(
        unwrap_github_error(unrelated),
        status_and_message(404, &format!("No common ancestor between qa and {orphan}."))
    );
    assert_eq!(
        unwrap_github_error(commits.compare("qa", "nothing").send().await),
        status_and_message(404, "Not Found")
    );
    assert_eq!(
        unwrap_github_error(octocrab.repos("acme", "checkout").merge(orphan, "qa").send().await),
        status_and_message(409, "Merge conflict")
    );
}

#[tokio::test]
async fn a_long_comparison_is_cut_at_250_commits_and_300_files() {
    let world = World::with_history().await;
    for n in 0..260 {
        world.commit("develop", &format!("Step {n}"), &[(&format!("many/{n}"), "x\n"), (&format!("more/{n}"), "y\n")]);
    }
    let (_, compared) = world.get("/repos/acme/checkout/compare/qa...develop").await;
    assert_eq!((compared["total_commits"].as_u64(), compared["ahead_by"].as_u64()), (Some(261), Some(261)));
    let commits = compared["commits"].as_array().unwrap();
    assert_eq!((commits.len(), commits[249]["commit"]["message"].as_str()), (250, Some("Step 259")));
    assert_eq!(compared["files"].as_array().unwrap().len(), 300);
}

#[tokio::test]
async fn contents_are_files_or_directories() {
    let world = World::with_history().await;
    let octocrab = world.octocrab();
    let repos = octocrab.repos("acme", "checkout");
    let file = repos.get_content().path("src/price.rs").r#ref("qa").send().await.unwrap().take_items();
    assert_eq!(file[0].decoded_content().as_deref(), Some("12\n"));
    let listed = repos.get_content().path("src").send().await.unwrap().take_items();
    let listed: Vec<_> = listed.iter().map(|item| (item.name.as_str(), item.r#type.as_str())).collect();
    assert_eq!(listed, [("cart.rs", "file"), ("price.rs", "file")]);
    let root = world.get("/repos/acme/checkout/contents/").await.1;
    assert_eq!((root[0]["name"].as_str(), root[1]["type"].as_str()), (Some("README.md"), Some("dir")));
    assert_eq!(
        unwrap_github_error(repos.get_content().path("nothing").send().await),
        status_and_message(404, "Not Found")
    );
    let missing_ref = repos.get_content().path("src").r#ref("nothing").send().await;
    assert_eq!(unwrap_github_error(missing_ref), status_and_message(404, "No commit found for the ref nothing"));
    let long = "x".repeat(100) + "\n";
    world.commit("develop", "Long", &[("long", &long)]);
    let file = repos.get_content().path("long").send().await.unwrap().take_items();
    assert_eq!(file[0].decoded_content(), Some(long), "base64 in several lines");
}

#[tokio::test]
async fn the_links_to_a_commit_and_a_comparison_have_pages() {
    let world = World::with_history().await;
    let (_, compared) = world.get("/repos/acme/checkout/compare/qa...develop").await;
    for link in [&compared["html_url"], &compared["commits"][0]["html_url"]] {
        let page = reqwest::get(link.as_str().unwrap()).await.unwrap().text().await.unwrap();
        assert!(page.contains("Round the price") && page.contains("-12\n+12.00"), "{page}");
    }
}

#[tokio::test]
async fn an_unknown_route_or_method_is_recorded() {
    let world = World::with_history().await;
    assert_eq!(world.get("/repos/acme/checkout/pulls/1/oddities").await.0, 404);
    assert_eq!(world.get("/elsewhere").await.0, 404);
    assert_eq!(world.get("/repos/acme/checkout/merges").await.0, 404);
    assert_eq!(
        world.unknown_requests.all(),
        [
            "github: GET /repos/acme/checkout/pulls/1/oddities",
            "github: GET /elsewhere",
            "github: GET /repos/acme/checkout/merges"
        ]
    );
}

#[tokio::test]
async fn an_empty_repository_can_be_read() {
    let world = World::open().await;
    let message = |answer: (u16, Value)| (answer.0, answer.1["message"].as_str().unwrap_or_default().to_owned());
    assert_eq!(
        message(world.get("/repos/acme/checkout/commits").await),
        status_and_message(409, "Git Repository is empty.")
    );
    assert_eq!(
        message(world.get("/repos/acme/checkout/contents/x").await),
        status_and_message(404, "This repository is empty.")
    );
    assert_eq!(world.get("/repos/acme/checkout/branches").await, (200, json!([])));
    assert!(world.github.graph(REPOSITORY, 10).is_empty());
}

#[tokio::test]
async fn the_graph_shows_children_before_parents_with_their_refs() {
    let world = World::with_history().await;
    world.github.tag(REPOSITORY, "qa/1", &world.head("qa"), "m").unwrap();
    let graph = world.github.graph(REPOSITORY, 2);
    let shown: Vec<_> = graph.iter().map(|commit| (commit.subject.as_str(), commit.refs.clone())).collect();
    let expected =
        [("Round the price", vec!["develop".to_owned()]), ("Add a price", vec!["qa".to_owned(), "qa/1".to_owned()])];
    assert_eq!(shown, expected);
    assert_eq!(graph[0].parents, [graph[1].sha.clone()]);
    assert_eq!((graph[0].author.as_str(), graph[0].at), ("Alice", world.clock.now()));
}
