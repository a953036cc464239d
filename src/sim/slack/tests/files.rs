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
        let request = self.slack.http.get(format!("{url}?filename={name}&length={length}")).bearer_auth(TOKEN);
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn upload_content(&self, upload: &Value, bytes: &'static str) -> u16 {
        let url = upload["upload_url"].as_str().unwrap();
        self.slack.http.post(url).body(bytes).send().await.unwrap().status().as_u16()
    }
}

#[tokio::test]
async fn gantrys_client_posts_a_file_to_a_thread_and_people_can_read_it() {
    let world = world().await;
    let client = world.bot_client();
    let to = |key: &str| Destination::Post {
        channel: "#deploys".into(),
        key: MessageKey::new(key),
        thread: None,
        asked: None,
    };
    let card = Message::new(to("card"), "deployed".into(), vec![]);
    let card_location = client.send_message(&card, &PostedPlaces::default()).await.unwrap().place.unwrap();
    let file =
        MessageFile {
            name: "a & b.diff".into(), title: "All lines".into(), text: "-старе\n+нове \u{1f6d2}\n".into()
        };
    let with_file = Message { to: to("more"), text: "what differs".into(), ..card }.with_file(file.clone());
    let sent = client
        .send_message(&with_file, &PostedPlaces { message: None, thread: Some(card_location.clone()) })
        .await
        .unwrap();
    assert!(sent.includes_file);

    let message = world.slack.messages("deploys", None).remove(1);
    assert_eq!((message.thread, message.text.as_str()), (Some(card_location.ts), "what differs"));
    assert_eq!((&message.files[0]["name"], &message.files[0]["title"]), (&json!("a & b.diff"), &json!("All lines")));
    let url = format!("{}/sim/slack/files/{}", world.origin, message.files[0]["id"].as_str().unwrap());
    let read = world.slack.http.get(url).send().await.unwrap();
    assert_eq!(read.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(read.text().await.unwrap(), file.text);
    assert_eq!(world.unknown_requests.all(), Vec::<String>::new());

    let missing_thread = MessageLocation { channel: "C0DEPLOYS".into(), ts: "1.0".into() };
    let refused = client
        .send_message(&with_file, &PostedPlaces { message: None, thread: Some(missing_thread) })
        .await
        .expect_err("the thread does not exist");
    assert_eq!(refused.to_string(), "Slack does not take the file: thread_not_found");
}

#[tokio::test]
async fn each_step_of_a_file_upload_has_its_errors() {
    let world = world().await;
    for (name, length) in [("", "3"), ("x", ""), ("x", "0"), ("x", "-1"), ("x", "many")] {
        assert_eq!(world.request_upload(name, length).await["error"], "invalid_arguments", "{name} {length}");
    }
    let upload = world.request_upload("x.diff", "3").await;
    let share = |id: &Value, channel: &str| json!({ "files": [{ "id": id }], "channel_id": channel });
    let complete = "files.completeUploadExternal";
    let id = &upload["file_id"];
    assert_eq!(
        world.call_result_code(complete, share(id, "C0DEPLOYS")).await,
        "file_not_found",
        "nothing was uploaded yet"
    );
    assert_eq!(world.upload_content(&upload, "four").await, 400, "the length differs from the announced one");
    assert_eq!(world.upload_content(&upload, "+a\n").await, 200);
    assert_eq!(world.upload_content(&upload, "+b\n").await, 404, "an upload works once");
    let unknown_upload = json!({ "upload_url": format!("{}/sim/slack/upload/F0NONE", world.origin) });
    assert_eq!(world.upload_content(&unknown_upload, "+a\n").await, 404);
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
