//! Tests of sightings, and of the stored facts about images and commits.

use super::*;

#[tokio::test]
async fn the_same_version_stays_and_another_one_ends_its_stay() {
    let house = House::new().await;
    let later = |seconds| start() + SignedDuration::from_secs(seconds);
    house.sees(sighting("1.4", later(0))).await;
    house.sees(Sighting { running_at: Some(later(20)), announced: true, ..sighting("1.4", later(9)) }).await;
    let degraded = Sighting {
        running_at: Some(later(40)),
        failure: Some("CrashLoopBackOff".into()),
        ..sighting("1.4", later(40))
    };
    house.sees(degraded).await;

    let now = house.store.list_current_sightings().await.unwrap();
    assert_eq!(now.len(), 1);
    assert_eq!(now[0].seen_at, later(0));
    assert_eq!(now[0].running_at, Some(later(20)), "the first time it was complete");
    assert_eq!(now[0].failure.as_deref(), Some("CrashLoopBackOff"));
    assert!(now[0].announced, "told once is told");

    house.sees(sighting("1.5", later(60))).await;
    house.sees(Sighting { ended_at: Some(later(-50)), ..sighting("1.3", later(-100)) }).await;
    let (checkout, qa) = (ArtefactName::new("checkout"), EnvironmentName::new("qa"));
    let all: Vec<_> = house
        .store
        .list_sightings(&checkout, &qa, 10)
        .await
        .unwrap()
        .iter()
        .map(|s| (s.version.label().to_owned(), s.ended_at.map(|at| at.duration_since(start()).as_secs())))
        .collect();
    assert_eq!(all, [("1.5".into(), None), ("1.4".into(), Some(60)), ("1.3".into(), Some(-50))]);
    let two = house.store.list_recent_sightings(&[&checkout, &ArtefactName::new("search")], 2).await.unwrap();
    assert_eq!(two.iter().map(|stay| stay.version.label()).collect::<Vec<_>>(), ["1.5", "1.4"], "the newest of each");

    house.sees(Sighting { ended_at: Some(later(90)), ..sighting("1.5", later(60)) }).await;
    assert!(house.store.list_current_sightings().await.unwrap().is_empty(), "the workload is gone");
}

#[tokio::test]
async fn an_interruption_is_kept_although_the_first_run_is() {
    let house = House::new().await;
    let later = |seconds| start() + SignedDuration::from_secs(seconds);
    let runs = |well_since: Option<Timestamp>| Sighting {
        running_at: Some(later(20)),
        healthy_since: well_since,
        ..sighting("1.4", later(0))
    };
    for well_since in [Some(later(20)), None, Some(later(60)), Some(later(60)), None] {
        house.sees(runs(well_since)).await;
        let now = house.store.list_current_sightings().await.unwrap();
        assert_eq!((now.len(), now[0].healthy_since, now[0].running_at), (1, well_since, Some(later(20))));
    }

    house.sees(runs(Some(later(80)))).await;
    house.sees(Sighting { healthy_since: Some(later(90)), ..sighting("1.5", later(90)) }).await;
    let stays =
        house.store.list_sightings(&ArtefactName::new("checkout"), &EnvironmentName::new("qa"), 10).await.unwrap();
    let well_since: Vec<_> = stays.iter().map(|stay| stay.healthy_since).collect();
    assert_eq!(well_since, [Some(later(90)), Some(later(80))], "each stay has its own");
}

#[tokio::test]
async fn what_is_learned_is_kept() {
    let house = House::new().await;
    let [a, b] = ["a", "b"].map(|digit| digit.repeat(40).parse().unwrap());
    let image =
        ImageCommit { image: "ghcr.io/acme/mailer".into(), reference: "7".into(), commit: None, proof: "none".into() };
    let learned = ImageCommit { commit: Some(a), proof: "label".into(), ..image.clone() };
    let [base, head] = [learned.commit.clone().unwrap(), b];
    let shop: Repository = "acme/shop".parse().unwrap();
    let (commits, files) = (
        vec![ListedCommit::new(sample::commit('b', "One (#42)"), vec![base.clone()], None, None)],
        ChangedFiles::default(),
    );
    let comparison = Comparison { base, head, ahead_by: 1, behind_by: 1, commits, files, url: None };
    let learn = |transaction: Transaction| transaction.record_comparison(shop.clone(), comparison.clone());
    let transaction = learn(learn(Transaction::new().record_image_commit(image).record_image_commit(learned.clone())));
    house
        .store
        .commit(transaction.append_to_ledger(entry(LedgerKind::Begun)).append_to_ledger(entry(LedgerKind::Merging)))
        .await
        .unwrap();

    assert_eq!(house.store.list_image_commits().await.unwrap(), [learned]);
    let asked = house.store.find_comparison(&shop, &comparison.base, &comparison.head).await.unwrap();
    assert_eq!(asked, Some(comparison.clone()));
    let turned = house.store.find_comparison(&shop, &comparison.head, &comparison.base).await.unwrap();
    assert_eq!(turned, None);

    let all = house.store.list_ledger_entries(&LedgerFilter::default(), 10).await.unwrap();
    assert_eq!(all, [entry(LedgerKind::Merging), entry(LedgerKind::Begun)]);
    let first = LedgerFilter { kind: Some(LedgerKind::Begun), ..LedgerFilter::default() };
    assert_eq!(house.store.list_ledger_entries(&first, 10).await.unwrap(), [entry(LedgerKind::Begun)]);
}
