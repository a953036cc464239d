//! Tests of sightings, and of the stored facts about images and commits.

use super::*;

#[tokio::test]
async fn the_same_version_updates_a_sighting_and_another_one_ends_it() {
    let fixture = Fixture::new().await;
    let later = |seconds| start() + SignedDuration::from_secs(seconds);
    fixture.record_sighting(sighting("1.4", later(0))).await;
    fixture
        .record_sighting(Sighting { running_at: Some(later(20)), announced: true, ..sighting("1.4", later(9)) })
        .await;
    let degraded = Sighting {
        running_at: Some(later(40)),
        failure: Some("CrashLoopBackOff".into()),
        ..sighting("1.4", later(40))
    };
    fixture.record_sighting(degraded).await;

    let now = fixture.store.list_current_sightings().await.unwrap();
    assert_eq!(now.len(), 1);
    assert_eq!(now[0].seen_at, later(0));
    assert_eq!(now[0].running_at, Some(later(20)), "the time of the first complete rollout");
    assert_eq!(now[0].failure.as_deref(), Some("CrashLoopBackOff"));
    assert!(now[0].announced, "an announced sighting stays announced");

    fixture.record_sighting(sighting("1.5", later(60))).await;
    fixture.record_sighting(Sighting { ended_at: Some(later(-50)), ..sighting("1.3", later(-100)) }).await;
    let (checkout, qa) = (ArtefactName::new("checkout"), EnvironmentName::new("qa"));
    let all: Vec<_> = fixture
        .store
        .list_sightings(&checkout, &qa, 10)
        .await
        .unwrap()
        .iter()
        .map(|s| (s.version.label().to_owned(), s.ended_at.map(|at| at.duration_since(start()).as_secs())))
        .collect();
    assert_eq!(all, [("1.5".into(), None), ("1.4".into(), Some(60)), ("1.3".into(), Some(-50))]);
    let two = fixture.store.list_recent_sightings(&[&checkout, &ArtefactName::new("search")], 2).await.unwrap();
    assert_eq!(
        two.iter().map(|sighting| sighting.version.label()).collect::<Vec<_>>(),
        ["1.5", "1.4"],
        "the newest of each"
    );

    fixture.record_sighting(Sighting { ended_at: Some(later(90)), ..sighting("1.5", later(60)) }).await;
    assert!(fixture.store.list_current_sightings().await.unwrap().is_empty(), "the workload is gone");
}

#[tokio::test]
async fn an_interruption_resets_healthy_since_and_keeps_running_at() {
    let fixture = Fixture::new().await;
    let later = |seconds| start() + SignedDuration::from_secs(seconds);
    let runs = |healthy_since: Option<Timestamp>| Sighting {
        running_at: Some(later(20)),
        healthy_since,
        ..sighting("1.4", later(0))
    };
    for healthy_since in [Some(later(20)), None, Some(later(60)), Some(later(60)), None] {
        fixture.record_sighting(runs(healthy_since)).await;
        let now = fixture.store.list_current_sightings().await.unwrap();
        assert_eq!((now.len(), now[0].healthy_since, now[0].running_at), (1, healthy_since, Some(later(20))));
    }

    fixture.record_sighting(runs(Some(later(80)))).await;
    fixture.record_sighting(Sighting { healthy_since: Some(later(90)), ..sighting("1.5", later(90)) }).await;
    let sightings =
        fixture.store.list_sightings(&ArtefactName::new("checkout"), &EnvironmentName::new("qa"), 10).await.unwrap();
    let healthy_since: Vec<_> = sightings.iter().map(|sighting| sighting.healthy_since).collect();
    assert_eq!(healthy_since, [Some(later(90)), Some(later(80))], "each sighting has its own time");
}

#[tokio::test]
async fn image_commits_comparisons_and_ledger_entries_are_stored() {
    let fixture = Fixture::new().await;
    let [a, b] = ["a", "b"].map(|digit| digit.repeat(40).parse().unwrap());
    let image =
        ImageCommit { image: "ghcr.io/acme/mailer".into(), reference: "7".into(), commit: None, proof: "none".into() };
    let updated = ImageCommit { commit: Some(a), proof: "label".into(), ..image.clone() };
    let [base, head] = [updated.commit.clone().unwrap(), b];
    let shop: Repository = "acme/shop".parse().unwrap();
    let (commits, files) = (
        vec![ListedCommit::new(sample::commit('b', "One (#42)"), vec![base.clone()], None, None)],
        ChangedFiles::default(),
    );
    let comparison = Comparison { base, head, ahead_by: 1, behind_by: 1, commits, files, url: None };
    let record = |transaction: Transaction| transaction.record_comparison(shop.clone(), comparison.clone());
    let transaction =
        record(record(Transaction::new().record_image_commit(image).record_image_commit(updated.clone())));
    fixture
        .store
        .commit(transaction.append_to_ledger(entry(LedgerKind::Begun)).append_to_ledger(entry(LedgerKind::Merging)))
        .await
        .unwrap();

    assert_eq!(fixture.store.list_image_commits().await.unwrap(), [updated]);
    let found = fixture.store.find_comparison(&shop, &comparison.base, &comparison.head).await.unwrap();
    assert_eq!(found, Some(comparison.clone()));
    let reversed = fixture.store.find_comparison(&shop, &comparison.head, &comparison.base).await.unwrap();
    assert_eq!(reversed, None);

    let all = fixture.store.list_ledger_entries(&LedgerFilter::default(), 10).await.unwrap();
    assert_eq!(all, [entry(LedgerKind::Merging), entry(LedgerKind::Begun)]);
    let first = LedgerFilter { kind: Some(LedgerKind::Begun), ..LedgerFilter::default() };
    assert_eq!(fixture.store.list_ledger_entries(&first, 10).await.unwrap(), [entry(LedgerKind::Begun)]);
}
