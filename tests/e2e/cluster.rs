//! What the bot sees of a cluster that is forbidden, away, or forgets.

use jiff::SignedDuration;

use crate::town::Town;

#[tokio::test]
async fn a_forbidden_namespace_is_shown_as_such_and_hinders_nobody_else() {
    let town = Town::prepared(|sim| sim.cluster.forbid("qa"), |yaml| yaml).await;
    town.alice().types("/list checkout").await;
    let list = town.alice().types("/list checkout").await;
    let qa = list.lines().find(|line| line.starts_with("qa")).expect("qa's line");
    assert!(qa.contains("\u{26aa}") && qa.contains("unreadable") && qa.contains("forbidden"), "{list}");
    assert_eq!(list.matches("\u{1f7e2}").count(), 3, "{list}");

    town.push("checkout", "Told in spite of it");
    town.settle().await;
    assert_eq!(town.channel("deploys").len(), 1);

    let ready = reqwest::get(format!("{}/readyz", town.origin)).await.unwrap();
    assert_eq!(ready.status(), 200);
    assert!(ready.text().await.unwrap().contains("forbidden"), "it is said there, not waited for");
}

#[tokio::test]
async fn a_cluster_that_comes_back_is_seen_again_and_nothing_is_announced_twice() {
    let town = Town::open().await;
    town.alice().types("/list").await;
    town.sim.cluster.set_down("development", true);
    let mut list = String::new();
    for _ in 0..100 {
        list = town.alice().types_in("deploys", "/list checkout development").await;
        if list.contains("unreadable") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(list.contains("unreadable"), "{list}");

    town.push("checkout", "Behind closed doors");
    town.wait(SignedDuration::from_secs(30)).await;
    assert_eq!(town.channel("deploys"), Vec::<String>::new(), "what cannot be seen is not told");

    town.sim.cluster.set_down("development", false);
    for _ in 0..200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        if !town.channel("deploys").is_empty() {
            break;
        }
    }
    town.settle().await;
    let told = town.channel("deploys");
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("Behind closed doors"));
}

#[tokio::test]
async fn a_watch_that_is_too_old_starts_anew_without_a_word() {
    let town = Town::open().await;
    town.sim.cluster.compact();
    town.settle().await;
    town.push("checkout", "After the compaction");
    town.settle().await;
    assert_eq!(town.channel("deploys").len(), 1);
}
