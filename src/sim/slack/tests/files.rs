//! Files, from Gantry's client to the thread where people read them, and each of Slack's errors on the way.

use serde_json::{Value, json};

use super::*;
use crate::adapters::slack::client::{Client, PostedPlaces};
use crate::domain::model::message::{Destination, Message, MessageFile, MessageKey, MessageLocation};

impl World {
    fn bot_client(&self) -> Client {
        Client::new(&format!("{}/sim/slack/api", self.origin), &self.origin, TOKEN.to_owned().into()).unwrap()
    }

    async fn request_upload(&self, name: &str, length: &str) -> Value {
        let url = format!("{}/sim/slack/api/files.getUploadURLExternal", self.origin);
        let ask = self.slack.http.get(format!("{url}?filename={name}&length={length}")).bearer_auth(TOKEN);
        ask.send().await.unwrap().json().await.unwrap()
    }

    async fn upload_content(&self, upload: &Value, bytes: &'static str) -> u16 {
        let url = upload["upload_url"].as_str().unwrap();
        self.slack.http.post(url).body(bytes).send().await.unwrap().status().as_u16()
    }
}

#[tokio::test]
async fn our_client_puts_a_file_into_a_thread_and_people_can_read_it() {
    let world = world().await;
    let client = world.bot_client();
    let to = |key: &str| Destination::Post {
        channel: "#deploys".into(),
        key: MessageKey::new(key),
        thread: None,
        asked: None,
    };
    let card = Message::new(to("card"), "deployed".into(), vec![]);
    let at = client.send_message(&card, &PostedPlaces::default()).await.unwrap().place.unwrap();
    let file =
        MessageFile {
            name: "a & b.diff".into(), title: "All lines".into(), text: "-старе\n+нове \u{1f6d2}\n".into()
        };
    let more = Message { to: to("more"), text: "what differs".into(), ..card }.with_file(file.clone());
    let sent = client.send_message(&more, &PostedPlaces { message: None, thread: Some(at.clone()) }).await.unwrap();
    assert!(sent.includes_file);

    let message = world.slack.messages("deploys", None).remove(1);
    assert_eq!((message.thread, message.text.as_str()), (Some(at.ts), "what differs"));
    assert_eq!((&message.files[0]["name"], &message.files[0]["title"]), (&json!("a & b.diff"), &json!("All lines")));
    let url = format!("{}/sim/slack/files/{}", world.origin, message.files[0]["id"].as_str().unwrap());
    let read = world.slack.http.get(url).send().await.unwrap();
    assert_eq!(read.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(read.text().await.unwrap(), file.text);
    assert_eq!(world.unknown_requests.all(), Vec::<String>::new());

    let nowhere = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
    let refused = client
        .send_message(&more, &PostedPlaces { message: None, thread: Some(nowhere) })
        .await
        .expect_err("no such thread");
    assert_eq!(refused.to_string(), "Slack does not take the file: thread_not_found");
}

#[tokio::test]
async fn each_step_of_a_file_has_its_noes() {
    let world = world().await;
    for (name, length) in [("", "3"), ("x", ""), ("x", "0"), ("x", "-1"), ("x", "many")] {
        assert_eq!(world.request_upload(name, length).await["error"], "invalid_arguments", "{name} {length}");
    }
    let room = world.request_upload("x.diff", "3").await;
    let share = |id: &Value, channel: &str| json!({ "files": [{ "id": id }], "channel_id": channel });
    let complete = "files.completeUploadExternal";
    let id = &room["file_id"];
    assert_eq!(
        world.call_result_code(complete, share(id, "C0DEPLOYS")).await,
        "file_not_found",
        "nothing was put there yet"
    );
    assert_eq!(world.upload_content(&room, "four").await, 400, "another length than was announced");
    assert_eq!(world.upload_content(&room, "+a\n").await, 200);
    assert_eq!(world.upload_content(&room, "+b\n").await, 404, "once and for all");
    let elsewhere = json!({ "upload_url": format!("{}/sim/slack/upload/F0NONE", world.origin) });
    assert_eq!(world.upload_content(&elsewhere, "+a\n").await, 404);
    for (args, code) in [
        (json!({ "channel_id": "C0DEPLOYS" }), "invalid_arguments"),
        (json!({ "files": [], "channel_id": "C0DEPLOYS" }), "invalid_arguments"),
        (json!({ "files": [{ "title": "x" }], "channel_id": "C0DEPLOYS" }), "invalid_arguments"),
        (share(&json!("F0NONE"), "C0DEPLOYS"), "file_not_found"),
        (share(id, "C0NOWHERE"), "channel_not_found"),
        (share(id, "#deploys"), "channel_not_found"),
        (share(id, "U0ALICE"), "channel_not_found"),
        (share(id, "C0SECRET"), "not_in_channel"),
        (share(id, "C0DEPLOYS"), "ok"),
        (share(id, "C0DEPLOYS"), "file_not_found"),
    ] {
        assert_eq!(world.call_result_code(complete, args.clone()).await, code, "{args}");
    }
    assert_eq!(world.slack.messages("deploys", None).len(), 1);
}
