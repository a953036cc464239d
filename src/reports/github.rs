//! What GitHub tells of a repository by its webhooks: only that there is something to look at. What it is, we ask.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::hex;
use crate::domain::artefact::Repository;
use crate::domain::version::Sha;

/// Something happened there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What makes this one this one. The delivery's id is not signed, so what it says counts.
    pub key: String,
    pub event: String,
    pub repository: Repository,
    /// The pull request that it is about.
    pub pull: Option<u64>,
    /// The commit that it is about.
    pub commit: Option<Sha>,
}

/// The events that can make a change go on. Others are none of our business.
pub const EVENTS: [&str; 5] = ["pull_request", "pull_request_review", "check_suite", "check_run", "status"];

/// `None` for what tells us nothing.
pub fn parse(event: &str, body: &[u8]) -> Result<Option<Notice>, String> {
    if !EVENTS.contains(&event) {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| format!("The body is not JSON: {error}."))?;
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let repository = text("/repository/full_name").ok_or("The body has no `repository.full_name`.")?;
    let repository = repository.parse().map_err(|error: String| format!("{error}."))?;
    let commit = match event {
        "status" => text("/sha"),
        "check_run" => text("/check_run/head_sha"),
        "check_suite" => text("/check_suite/head_sha"),
        _ => text("/pull_request/head/sha"),
    };
    Ok(Some(Notice {
        key: hex(&Sha256::digest(body)),
        event: event.to_owned(),
        repository,
        pull: value.pointer("/pull_request/number").and_then(Value::as_u64),
        commit: commit.and_then(|commit| commit.parse().ok()),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_event_tells_what_to_look_at() {
        let sha = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";
        let repository = json!({ "full_name": "acme/checkout" });
        let pull = json!({ "number": 12, "head": { "sha": sha } });
        let cases = [
            ("pull_request", json!({ "action": "closed", "pull_request": pull }), (Some(12), true)),
            ("pull_request_review", json!({ "action": "submitted", "pull_request": pull }), (Some(12), true)),
            ("check_run", json!({ "check_run": { "head_sha": sha } }), (None, true)),
            ("check_suite", json!({ "check_suite": { "head_sha": sha } }), (None, true)),
            ("status", json!({ "sha": sha, "state": "success" }), (None, true)),
            ("status", json!({ "sha": "nonsense" }), (None, false)),
        ];
        for (event, mut body, (number, commit)) in cases {
            body["repository"] = repository.clone();
            let notice = parse(event, body.to_string().as_bytes()).unwrap().unwrap();
            assert_eq!((notice.pull, notice.commit.is_some()), (number, commit), "{event}");
        }
        assert_eq!(parse("ping", b"{}"), Ok(None));
        assert!(parse("status", b"{}").is_err());
        assert!(parse("status", b"nonsense").is_err());
    }

    proptest! {
        #[test]
        fn any_body_is_answered(event in prop::sample::select(EVENTS.to_vec()), body in "[\\[\\]{}\":,a-z0-9]{0,80}") {
            let _ = parse(event, body.as_bytes());
        }
    }
}
