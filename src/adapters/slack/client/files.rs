//! Uploads a file to a thread in Slack's three steps: request an upload URL, upload the file, share it.
//! After a failure all three steps are repeated, because Slack discards files that were not shared.

use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::json;

use super::{Client, EmptyResponse};
use crate::adapters::slack::client::response;
use crate::adapters::slack::client::response::SendError;
use crate::domain::model::message::{MessageFile, MessageLocation};

#[derive(Deserialize)]
struct UploadUrlResponse {
    upload_url: String,
    file_id: String,
}

impl Client {
    /// Shares the file in the thread of `parent`, with `comment` above the file.
    pub(super) async fn share_file(
        &self,
        file: &MessageFile,
        comment: &str,
        parent: &MessageLocation,
    ) -> Result<(), SendError> {
        let length = file.text.len().to_string();
        let parameters = vec![("filename", Some(file.name.as_str())), ("length", Some(length.as_str()))];
        let upload: UploadUrlResponse = self.call_with_query("files.getUploadURLExternal", parameters).await?;
        let Some(url) = self.parse_upload_url(&upload.upload_url) else {
            return Err(SendError::FileRefused("the upload URL does not point to Slack".to_owned()));
        };
        let request = self.0.http.post(url).header(CONTENT_TYPE, "text/plain; charset=utf-8").body(file.text.clone());
        self.count_call("upload_url", response::check_upload_response(request.send().await))?;
        let body = json!({
            "files": [{ "id": upload.file_id, "title": file.title }],
            "channel_id": parent.channel, "thread_ts": parent.ts, "initial_comment": comment,
        });
        self.call_with_json::<EmptyResponse>("files.completeUploadExternal", &body).await.map(drop)
    }

    /// The upload URL comes from the response. Only URLs of Slack are allowed, so that the text goes nowhere else.
    fn parse_upload_url(&self, text: &str) -> Option<Url> {
        let url = Url::parse(text).ok()?;
        let is_slack = url.scheme() == "https"
            && url.port().is_none()
            && url.host_str().is_some_and(|host| host == "slack.com" || host.ends_with(".slack.com"));
        let allowed = is_slack || url.origin() == self.0.api_origin;
        (allowed && url.username().is_empty() && url.password().is_none()).then_some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{FakeSlack, FakeSlackResponse};
    use super::*;

    fn file() -> MessageFile {
        MessageFile { name: "checkout & co.diff".into(), title: "All of it".into(), text: "-old\n+нове\n".into() }
    }

    fn parent() -> MessageLocation {
        MessageLocation { channel: "C0DEPLOYS".into(), ts: "7.0".into() }
    }

    async fn share(slack: &FakeSlack) -> Result<(), SendError> {
        slack.client().share_file(&file(), "what differs", &parent()).await
    }

    #[tokio::test]
    async fn a_file_is_uploaded_without_the_token_and_shared() {
        let slack = FakeSlack::start().await;
        share(&slack).await.unwrap();
        let calls = slack.recorded_calls();
        let methods: Vec<_> = calls.iter().map(|call| call.method.as_str()).collect();
        assert_eq!(methods, ["files.getUploadURLExternal", "upload", "files.completeUploadExternal"]);
        assert_eq!(calls[0].query, "filename=checkout+%26+co.diff&length=15");
        assert_eq!((calls[1].text.as_str(), &calls[1].token), ("-old\n+нове\n", &None));
        let shared = json!({
            "files": [{ "id": "F0FILE", "title": "All of it" }],
            "channel_id": "C0DEPLOYS", "thread_ts": "7.0", "initial_comment": "what differs",
        });
        assert_eq!(calls[2].body, shared);
    }

    #[tokio::test]
    async fn a_file_is_uploaded_to_slack_only() {
        let slack = FakeSlack::start().await;
        let address = slack.address();
        let port = address.rsplit(':').next().unwrap().to_owned();
        for elsewhere in [
            format!("http://localhost:{port}/upload"),
            format!("https://127.0.0.1:{port}/upload"),
            format!("http://user@127.0.0.1:{port}/upload"),
            "http://files.slack.com/upload".to_owned(),
            "https://files.slack.com.example.com/upload".to_owned(),
            "https://notslack.com/upload".to_owned(),
            "https://files.slack.com:8443/upload".to_owned(),
            "https://user:secret@files.slack.com/upload".to_owned(),
            "https://example.com/slack.com".to_owned(),
            "file:///etc/passwd".to_owned(),
            "not a url".to_owned(),
        ] {
            let response = json!({ "ok": true, "upload_url": elsewhere, "file_id": "F0FILE" });
            slack.script_response("files.getUploadURLExternal", FakeSlackResponse::Json(response));
            let refused = share(&slack).await;
            assert!(matches!(&refused, Err(SendError::FileRefused(why)) if why.contains("Slack")), "{refused:?}");
        }
        assert!(slack.recorded_calls().iter().all(|call| call.method == "files.getUploadURLExternal"));
        let client = slack.client();
        for url in ["https://files.slack.com/upload/v1/x", "https://slack.com/x", &format!("{address}/upload")] {
            assert!(client.parse_upload_url(url).is_some(), "{url}");
        }
    }

    #[tokio::test]
    async fn each_step_reports_whether_another_attempt_can_succeed() {
        let slack = FakeSlack::start().await;
        let refused = |why: &str| Err(SendError::FileRefused(why.into()));
        for (step, answer, expected) in [
            ("files.getUploadURLExternal", FakeSlackResponse::Code("missing_scope"), refused("missing_scope")),
            (
                "upload",
                FakeSlackResponse::Status(400, "12 bytes were announced"),
                refused("the upload URL was answered with HTTP status 400"),
            ),
            ("files.completeUploadExternal", FakeSlackResponse::Code("file_not_found"), refused("file_not_found")),
            (
                "files.completeUploadExternal",
                FakeSlackResponse::Code("not_in_channel"),
                Err(SendError::ChannelUnwritable { code: "not_in_channel".into() }),
            ),
        ] {
            slack.script_response(step, answer);
            assert_eq!(share(&slack).await, expected, "{step}");
        }
        for step in ["files.getUploadURLExternal", "upload", "files.completeUploadExternal"] {
            slack.script_response(step, FakeSlackResponse::RetryAfter(7));
            let limited = share(&slack).await;
            assert!(
                matches!(limited, Err(SendError::RateLimited { is_workspace_wide: true, .. })),
                "{step}: {limited:?}"
            );
            slack.script_response(step, FakeSlackResponse::Status(503, "secret"));
            let down = share(&slack).await;
            assert!(matches!(&down, Err(SendError::Transient(why)) if !why.contains("secret")), "{step}: {down:?}");
        }
        slack.script_response("upload", FakeSlackResponse::Redirect("/elsewhere"));
        assert!(matches!(share(&slack).await, Err(SendError::Transient(_))));
        assert!(slack.recorded_calls().iter().all(|call| call.method != "elsewhere"));
    }
}
