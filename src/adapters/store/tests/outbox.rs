//! Tests of the outbox: queues, the newest text of each message, and patient edits.

use super::*;

#[tokio::test]
async fn a_channel_has_one_queue_by_its_name_and_by_its_id() {
    let house = House::new().await;
    house.says(post("#deploys", "card", "merging")).await;
    let turn = house.store.list_next_messages().await.unwrap().remove(0);
    let said =
        PostedMessage { location: MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.1".into() }, note: None };
    house.store.commit(Transaction::new().mark_sent(turn.id, 0, Some(said))).await.unwrap();

    house.says(post("C0DEPLOYS", "by its id", "a")).await;
    house.says(post("#deploys", "by its name", "b")).await;
    let thread = Some(MessageKey::from_location(&MessageLocation { channel: "C0DEPLOYS".into(), ts: "0.9".into() }));
    let to = Destination::Post { channel: "C0DEPLOYS".into(), key: MessageKey::new("thread"), thread, asked: None };
    house.says(Message { to, ..post("", "", "c") }).await;
    let queues: Vec<_> = house.turns().await.into_iter().map(|(queue, _)| queue).collect();
    assert_eq!(queues, ["#deploys"], "all three are in one");
    house.says(post("C0RELEASES", "elsewhere", "d")).await;
    assert_eq!(house.turns().await.len(), 2);
}

/// Each case: the edits after the card was posted, with their times, and the due time and text that result.
#[tokio::test]
async fn a_patient_edit_waits_until_its_message_has_stood_for_a_moment() {
    type Edit<'a> = (i64, bool, &'a str);
    let cases: [(&str, &[Edit<'_>], i64, &str); 6] = [
        ("at once", &[(1_000, true, "1/3")], 3_000, "1/3"),
        ("the newest text of those that wait", &[(1_000, true, "1/3"), (2_000, true, "2/3")], 3_000, "2/3"),
        ("what stood long enough", &[(4_000, true, "1/3")], 4_000, "1/3"),
        ("what cannot wait", &[(1_000, false, "failed")], 1_000, "failed"),
        (
            "what cannot wait in the place of what could",
            &[(500, true, "1/3"), (1_000, false, "failed")],
            1_000,
            "failed",
        ),
        ("what could after what cannot", &[(500, false, "failed"), (1_000, true, "failed, 1/3")], 500, "failed, 1/3"),
    ];
    for (name, said, due, text) in cases {
        let house = House::new().await;
        house.says(post("#deploys", "card", "merging").with_coalescing()).await;
        let turn = house.store.list_next_messages().await.unwrap().remove(0);
        assert_eq!(turn.due_at, start(), "{name}: what nobody has read yet waits for nothing");
        let place = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
        house
            .store
            .commit(Transaction::new().mark_sent(turn.id, 0, Some(PostedMessage { location: place, note: None })))
            .await
            .unwrap();
        for (at, patient, text) in said {
            house.clock.advance_to(start() + SignedDuration::from_millis(*at));
            let edit = edit("card", text);
            house.says(if *patient { edit.with_coalescing() } else { edit }).await;
        }
        let turn = house.store.list_next_messages().await.unwrap().remove(0);
        assert_eq!(turn.due_at, start() + SignedDuration::from_millis(due), "{name}");
        assert_eq!(house.store.measure_outstanding_work().await.unwrap().next_due, Some(turn.due_at), "{name}");
        assert_eq!(house.turns().await, [("#deploys".into(), text.into())], "{name}");
    }
}

#[tokio::test]
async fn a_patient_edit_holds_up_nobody_and_keeps_its_place() {
    let house = House::new().await;
    house.says(post("#deploys", "card", "merging")).await;
    let turn = house.store.list_next_messages().await.unwrap().remove(0);
    let place = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
    house
        .store
        .commit(Transaction::new().mark_sent(turn.id, 0, Some(PostedMessage { location: place, note: None })))
        .await
        .unwrap();
    house.says(edit("card", "1/3").with_coalescing()).await;
    house.says(post("#deploys", "other", "first")).await;
    house.says(post("#deploys", "another", "second")).await;
    let turns =
        |texts: &[&str]| texts.iter().map(|text| ("#deploys".to_owned(), (*text).to_owned())).collect::<Vec<_>>();
    assert_eq!(house.turns().await, turns(&["first", "1/3"]));
    house.says(edit("card", "failed")).await;
    assert_eq!(house.turns().await, turns(&["failed"]), "it was said before the others");
}

#[tokio::test]
async fn a_patient_text_that_came_while_another_was_on_its_way_waits_as_well() {
    let house = House::new().await;
    house.says(post("#deploys", "card", "merging")).await;
    let turn = house.store.list_next_messages().await.unwrap().remove(0);
    house.says(edit("card", "1/3").with_coalescing()).await;
    let place = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
    house
        .store
        .commit(Transaction::new().mark_sent(turn.id, 0, Some(PostedMessage { location: place, note: None })))
        .await
        .unwrap();
    let turn = house.store.list_next_messages().await.unwrap().remove(0);
    assert_eq!(turn.due_at, start() + SignedDuration::from_secs(3));
}

#[tokio::test]
async fn only_the_newest_unsent_text_of_a_message_is_kept_in_its_place() {
    let house = House::new().await;
    house.says(post("#deploys", "card", "merging")).await;
    house.says(post("#deploys", "other", "another")).await;
    house.says(edit("card", "deploying")).await;
    house.says(post("#elsewhere", "card", "deployed")).await;
    assert_eq!(house.store.measure_outstanding_work().await.unwrap().outbox, 2);
    assert_eq!(house.turns().await, [("#deploys".into(), "deployed".into())]);
}

#[tokio::test]
async fn an_edit_that_came_while_its_message_was_being_sent_is_sent_after_it() {
    let house = House::new().await;
    let place = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.1".into() };
    house.says(post("#deploys", "card", "merging")).await;
    let turn = house.store.list_next_messages().await.unwrap().remove(0);
    let on_its_way = house.store.find_outgoing_message(turn.id).await.unwrap().unwrap();
    house.says(edit("card", "deploying")).await;
    let sent = Transaction::new().mark_sent(
        on_its_way.id,
        on_its_way.revision,
        Some(PostedMessage { location: place.clone(), note: None }),
    );
    house.store.commit(sent).await.unwrap();

    assert_eq!(house.turns().await, [("#deploys".into(), "deploying".into())]);
    assert_eq!(house.store.find_posted_message(&MessageKey::new("card")).await.unwrap().unwrap().location, place);

    let newer = house.store.find_outgoing_message(turn.id).await.unwrap().unwrap();
    house.store.commit(Transaction::new().mark_sent(newer.id, newer.revision, None)).await.unwrap();
    assert_eq!(
        house.store.measure_outstanding_work().await.unwrap(),
        OutstandingWork { inbox: 0, outbox: 0, changes: 0, next_due: None }
    );
}

#[tokio::test]
async fn what_belongs_to_a_message_goes_into_its_queue() {
    let house = House::new().await;
    house.says(post("#releases", "card", "merging")).await;
    let thread = Destination::Post {
        channel: "#deploys".into(),
        key: MessageKey::new("end"),
        thread: Some(MessageKey::new("card")),
        asked: None,
    };
    house.says(Message { to: thread, ..post("", "", "done") }).await;
    assert_eq!(house.turns().await, [("#releases".into(), "merging".into())], "the thread waits for its first message");

    let reply = ResponseUrl { url: "https://hooks.slack.com/secret".into(), until: start() };
    house
        .says(Message {
            to: Destination::Reply { response_url: reply, in_channel: true, replace: false },
            ..edit("", "hi")
        })
        .await;
    let queues = house.store.list_next_messages().await.unwrap();
    assert!(queues.iter().all(|turn| !turn.queue.contains("secret")), "{queues:?}");
}
