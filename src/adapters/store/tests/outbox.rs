//! Tests of the outbox: queues, the newest text of each message, and patient edits.

use super::*;

#[tokio::test]
async fn a_channel_has_one_queue_by_its_name_and_by_its_id() {
    let fixture = Fixture::new().await;
    fixture.enqueue(post("#deploys", "card", "merging")).await;
    let next = fixture.store.list_next_messages().await.unwrap().remove(0);
    let posted =
        PostedMessage { location: MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.1".into() }, note: None };
    fixture.store.commit(Transaction::new().mark_sent(next.id, 0, Some(posted))).await.unwrap();

    fixture.enqueue(post("C0DEPLOYS", "by its id", "a")).await;
    fixture.enqueue(post("#deploys", "by its name", "b")).await;
    let thread = Some(MessageKey::from_location(&MessageLocation { channel: "C0DEPLOYS".into(), ts: "0.9".into() }));
    let to = Destination::Post { channel: "C0DEPLOYS".into(), key: MessageKey::new("thread"), thread, asked: None };
    fixture.enqueue(Message { to, ..post("", "", "c") }).await;
    let queues: Vec<_> = fixture.list_next().await.into_iter().map(|(queue, _)| queue).collect();
    assert_eq!(queues, ["#deploys"], "all three are in one queue");
    fixture.enqueue(post("C0RELEASES", "elsewhere", "d")).await;
    assert_eq!(fixture.list_next().await.len(), 2);
}

/// Each case: the edits after the card was posted, with their times, and the due time and text that result.
#[tokio::test]
async fn a_patient_edit_waits_until_the_posted_text_was_visible_for_a_moment() {
    type Edit<'a> = (i64, bool, &'a str);
    let cases: [(&str, &[Edit<'_>], i64, &str); 6] = [
        ("an early edit", &[(1_000, true, "1/3")], 3_000, "1/3"),
        ("two early edits", &[(1_000, true, "1/3"), (2_000, true, "2/3")], 3_000, "2/3"),
        ("a late edit", &[(4_000, true, "1/3")], 4_000, "1/3"),
        ("an urgent edit", &[(1_000, false, "failed")], 1_000, "failed"),
        ("an urgent edit after a patient one", &[(500, true, "1/3"), (1_000, false, "failed")], 1_000, "failed"),
        (
            "a patient edit after an urgent one",
            &[(500, false, "failed"), (1_000, true, "failed, 1/3")],
            500,
            "failed, 1/3",
        ),
    ];
    for (name, edits, due, text) in cases {
        let fixture = Fixture::new().await;
        fixture.enqueue(post("#deploys", "card", "merging").with_coalescing()).await;
        let next = fixture.store.list_next_messages().await.unwrap().remove(0);
        assert_eq!(next.due_at, start(), "{name}: the first text is due at once");
        let location = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
        fixture
            .store
            .commit(Transaction::new().mark_sent(next.id, 0, Some(PostedMessage { location, note: None })))
            .await
            .unwrap();
        for (millis, patient, text) in edits {
            fixture.clock.advance_to(start() + SignedDuration::from_millis(*millis));
            let edit = edit("card", text);
            fixture.enqueue(if *patient { edit.with_coalescing() } else { edit }).await;
        }
        let next = fixture.store.list_next_messages().await.unwrap().remove(0);
        assert_eq!(next.due_at, start() + SignedDuration::from_millis(due), "{name}");
        assert_eq!(fixture.store.measure_outstanding_work().await.unwrap().next_due, Some(next.due_at), "{name}");
        assert_eq!(fixture.list_next().await, [("#deploys".into(), text.into())], "{name}");
    }
}

#[tokio::test]
async fn a_patient_edit_does_not_delay_others_and_keeps_its_position() {
    let fixture = Fixture::new().await;
    fixture.enqueue(post("#deploys", "card", "merging")).await;
    let next = fixture.store.list_next_messages().await.unwrap().remove(0);
    let location = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
    fixture
        .store
        .commit(Transaction::new().mark_sent(next.id, 0, Some(PostedMessage { location, note: None })))
        .await
        .unwrap();
    fixture.enqueue(edit("card", "1/3").with_coalescing()).await;
    fixture.enqueue(post("#deploys", "other", "first")).await;
    fixture.enqueue(post("#deploys", "another", "second")).await;
    let turns =
        |texts: &[&str]| texts.iter().map(|text| ("#deploys".to_owned(), (*text).to_owned())).collect::<Vec<_>>();
    assert_eq!(fixture.list_next().await, turns(&["first", "1/3"]));
    fixture.enqueue(edit("card", "failed")).await;
    assert_eq!(fixture.list_next().await, turns(&["failed"]), "it was enqueued before the others");
}

#[tokio::test]
async fn a_patient_edit_during_sending_waits_too() {
    let fixture = Fixture::new().await;
    fixture.enqueue(post("#deploys", "card", "merging")).await;
    let next = fixture.store.list_next_messages().await.unwrap().remove(0);
    fixture.enqueue(edit("card", "1/3").with_coalescing()).await;
    let location = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
    fixture
        .store
        .commit(Transaction::new().mark_sent(next.id, 0, Some(PostedMessage { location, note: None })))
        .await
        .unwrap();
    let next = fixture.store.list_next_messages().await.unwrap().remove(0);
    assert_eq!(next.due_at, start() + SignedDuration::from_secs(3));
}

#[tokio::test]
async fn only_the_newest_unsent_text_of_a_message_is_kept() {
    let fixture = Fixture::new().await;
    fixture.enqueue(post("#deploys", "card", "merging")).await;
    fixture.enqueue(post("#deploys", "other", "another")).await;
    fixture.enqueue(edit("card", "deploying")).await;
    fixture.enqueue(post("#elsewhere", "card", "deployed")).await;
    assert_eq!(fixture.store.measure_outstanding_work().await.unwrap().outbox, 2);
    assert_eq!(fixture.list_next().await, [("#deploys".into(), "deployed".into())]);
}

#[tokio::test]
async fn an_edit_during_sending_is_sent_afterwards() {
    let fixture = Fixture::new().await;
    let location = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.1".into() };
    fixture.enqueue(post("#deploys", "card", "merging")).await;
    let next = fixture.store.list_next_messages().await.unwrap().remove(0);
    let sending = fixture.store.find_outgoing_message(next.id).await.unwrap().unwrap();
    fixture.enqueue(edit("card", "deploying")).await;
    let sent = Transaction::new().mark_sent(
        sending.id,
        sending.revision,
        Some(PostedMessage { location: location.clone(), note: None }),
    );
    fixture.store.commit(sent).await.unwrap();

    assert_eq!(fixture.list_next().await, [("#deploys".into(), "deploying".into())]);
    assert_eq!(fixture.store.find_posted_message(&MessageKey::new("card")).await.unwrap().unwrap().location, location);

    let newer = fixture.store.find_outgoing_message(next.id).await.unwrap().unwrap();
    fixture.store.commit(Transaction::new().mark_sent(newer.id, newer.revision, None)).await.unwrap();
    assert_eq!(
        fixture.store.measure_outstanding_work().await.unwrap(),
        OutstandingWork { inbox: 0, outbox: 0, changes: 0, next_due: None }
    );
}

#[tokio::test]
async fn the_thread_of_a_message_uses_its_queue() {
    let fixture = Fixture::new().await;
    fixture.enqueue(post("#releases", "card", "merging")).await;
    let thread = Destination::Post {
        channel: "#deploys".into(),
        key: MessageKey::new("end"),
        thread: Some(MessageKey::new("card")),
        asked: None,
    };
    fixture.enqueue(Message { to: thread, ..post("", "", "done") }).await;
    assert_eq!(
        fixture.list_next().await,
        [("#releases".into(), "merging".into())],
        "the thread waits for the first message"
    );

    let reply = ResponseUrl { url: "https://hooks.slack.com/secret".into(), until: start() };
    fixture
        .enqueue(Message {
            to: Destination::Reply { response_url: reply, in_channel: true, replace: false },
            ..edit("", "hi")
        })
        .await;
    let queues = fixture.store.list_next_messages().await.unwrap();
    assert!(queues.iter().all(|turn| !turn.queue.contains("secret")), "{queues:?}");
}
