//! The Web API: with slack-morphism if it supports the call, and with raw requests for Slack's errors.

use jiff::SignedDuration;

use super::*;
use crate::sim::faults::Fault;

#[tokio::test]
async fn slack_morphism_posts_edits_replies_and_reads_people() {
    let world = world().await;
    let (client, token) = (world.client(), token());
    let session: Session<'_> = client.open_session(&token);

    let me = session.auth_test().await.unwrap();
    assert_eq!((me.user_id.to_string(), me.team_id.to_string()), ("U0GANTRY".to_owned(), "T0ACME".to_owned()));

    let blocks: Vec<SlackBlock> = slack_blocks![some_into(SlackSectionBlock::new().with_text(md!("*checkout*")))];
    let content = SlackMessageContent::new().with_text("checkout".to_owned()).with_blocks(blocks);
    let request = SlackApiChatPostMessageRequest::new("#deploys".into(), content).with_unfurl_links(false);
    let posted = session.chat_post_message(&request).await.unwrap();
    assert_eq!(posted.channel.to_string(), "C0DEPLOYS");
    assert_eq!(posted.ts.to_string(), "1794823200.000000");

    let reply = SlackApiChatPostMessageRequest::new(
        "C0DEPLOYS".into(),
        SlackMessageContent::new().with_text("details".to_owned()),
    )
    .with_thread_ts(posted.ts.clone());
    session.chat_post_message(&reply).await.unwrap();

    // Without blocks in the update, the old blocks stay.
    let update = SlackApiChatUpdateRequest::new(
        posted.channel.clone(),
        SlackMessageContent::new().with_text("checkout runs".to_owned()),
        posted.ts.clone(),
    );
    session.chat_update(&update).await.unwrap();

    let ephemeral = SlackApiChatPostEphemeralRequest::new(
        "C0DEPLOYS".into(),
        "U0ALICE".into(),
        SlackMessageContent::new().with_text("only for you".to_owned()),
    );
    session.chat_post_ephemeral(&ephemeral).await.unwrap();

    let seen = world.slack.messages("deploys", Some("alice"));
    assert_eq!(seen.len(), 3);
    assert_eq!((seen[0].text.as_str(), seen[0].edited, seen[0].user.as_str()), ("checkout runs", 1, "gantry"));
    assert_eq!(seen[0].blocks[0]["text"]["text"], "*checkout*");
    assert_eq!(seen[0].history[0].text, "checkout");
    assert_eq!(seen[1].thread, Some(posted.ts.to_string()));
    assert_eq!(seen[2].only_to.as_deref(), Some("alice"));
    assert_eq!(world.texts("deploys", Some("bob")), ["checkout runs", "details"]);
    assert_eq!(world.texts("deploys", None).len(), 3);

    let dave = session.users_info(&SlackApiUsersInfoRequest::new("U0DAVE".into())).await.unwrap().user;
    assert_eq!(dave.flags.is_restricted, Some(true));
    let groups = session.usergroups_list(&SlackApiUserGroupsListRequest::new().with_include_users(true)).await.unwrap();
    assert_eq!(groups.usergroups[0].users, Some(vec!["U0BOB".into(), "U0CAROL".into()]));
    let members = SlackApiUserGroupsUsersListRequest::new("S0MANAGERS".into());
    assert_eq!(session.usergroups_users_list(&members).await.unwrap().users.len(), 2);
    let channels = session.conversations_list(&SlackApiConversationsListRequest::new()).await.unwrap().channels;
    assert_eq!(channels.len(), 4);
    let info = SlackApiConversationsInfoRequest::new("C0SECRET".into());
    assert_eq!(session.conversations_info(&info).await.unwrap().channel.flags.is_member, Some(false));

    assert_eq!(world.slack.calls()["chat.postMessage"], 2);
    let gets: Vec<_> = world.slack.last_requests().into_iter().filter(|r| r.http == "GET").map(|r| r.method).collect();
    assert!(gets.contains(&"auth.test".to_owned()) && gets.contains(&"users.info".to_owned()), "{gets:?}");
    assert_eq!(world.unknown_requests.all(), Vec::<String>::new());
}

#[tokio::test]
async fn slack_morphism_opens_direct_messages_and_uploads_a_file() {
    let world = world().await;
    let (client, token) = (world.client(), token());
    let session: Session<'_> = client.open_session(&token);

    let open = SlackApiConversationsOpenRequest::new().with_users(vec!["U0ALICE".into()]);
    let direct = session.conversations_open(&open).await.unwrap().channel.id;
    let hello = SlackMessageContent::new().with_text("hello".to_owned());
    session.chat_post_message(&SlackApiChatPostMessageRequest::new(direct, hello)).await.unwrap();
    assert_eq!(world.texts("@gantry", Some("alice")), ["hello"]);
    assert_eq!(world.texts("@alice", None), ["hello"]);
    assert!(world.texts("@gantry", Some("bob")).is_empty());

    let content = b"- old\n+ new\n".to_vec();
    let upload_request = SlackApiFilesGetUploadUrlExternalRequest::new("checkout.diff".to_owned(), content.len());
    let upload_target = session.get_upload_url_external(&upload_request).await.unwrap();
    let upload =
        SlackApiFilesUploadViaUrlRequest::new(upload_target.upload_url, content.clone(), "text/plain".to_owned());
    session.files_upload_via_url(&upload).await.unwrap();
    let complete =
        SlackApiFilesCompleteUploadExternalRequest::new(vec![SlackApiFilesComplete::new(upload_target.file_id)])
            .with_channel_id("C0DEPLOYS".into());
    session.files_complete_upload_external(&complete).await.unwrap();
    let shared = world.slack.messages("deploys", None).remove(0).files.remove(0);
    assert_eq!(shared["name"], "checkout.diff");
    let url = shared["url_private"].as_str().unwrap();
    assert_eq!(world.slack.http.get(url).send().await.unwrap().bytes().await.unwrap(), content);
}

#[tokio::test]
async fn each_error_has_slacks_own_code() {
    let world = world().await;
    let post = |channel: &str| json!({ "channel": channel, "text": "x" });
    let alices_message = world.slack.type_message("alice", "deploys", None, "hi").await.unwrap().id;
    let ephemeral =
        world.call("chat.postEphemeral", json!({ "channel": "deploys", "user": "U0BOB", "text": "x" })).await;
    let ephemeral = ephemeral["message_ts"].as_str().unwrap();
    world.slack.leave("carol", "deploys");
    for (method, args, code) in [
        ("chat.postMessage", post("nowhere"), "channel_not_found"),
        ("chat.postMessage", post("#secret"), "not_in_channel"),
        ("chat.postMessage", post("old"), "is_archived"),
        ("chat.postMessage", json!({ "channel": "deploys" }), "no_text"),
        ("chat.postMessage", json!({ "text": "x" }), "invalid_arguments"),
        ("chat.postMessage", json!({ "channel": "deploys", "text": "x".repeat(40_001) }), "msg_too_long"),
        ("chat.postMessage", json!({ "channel": "deploys", "text": "x", "thread_ts": "1.2" }), "thread_not_found"),
        ("chat.postMessage", json!({ "channel": "deploys", "blocks": "{" }), "invalid_blocks_format"),
        ("chat.postMessage", json!({ "channel": "deploys", "blocks": [{ "type": "?" }] }), "invalid_blocks"),
        ("chat.postEphemeral", json!({ "channel": "deploys", "user": "U0NOBODY", "text": "x" }), "user_not_found"),
        ("chat.postEphemeral", json!({ "channel": "deploys", "user": "U0CAROL", "text": "x" }), "user_not_in_channel"),
        ("chat.update", json!({ "channel": "deploys", "ts": "1.2", "text": "x" }), "message_not_found"),
        ("chat.update", json!({ "channel": "deploys", "ts": alices_message, "text": "x" }), "cant_update_message"),
        ("chat.update", json!({ "channel": "deploys", "ts": ephemeral, "text": "x" }), "message_not_found"),
        ("chat.delete", json!({ "channel": "deploys", "ts": alices_message }), "cant_delete_message"),
        ("conversations.open", json!({}), "users_list_not_supplied"),
        ("conversations.open", json!({ "users": "U0NOBODY" }), "user_not_found"),
        ("views.open", json!({ "trigger_id": "1.2.3", "view": { "type": "modal" } }), "invalid_arguments"),
        ("reactions.add", json!({ "channel": "deploys", "timestamp": "1.2", "name": "eyes" }), "message_not_found"),
        // Slack ignores a JSON body for methods that only read.
        ("users.info", json!({ "user": "U0ALICE" }), "invalid_arguments"),
    ] {
        assert_eq!(world.call_result_code(method, args.clone()).await, code, "{method} {args}");
        // So that the rate limit of the channel is never reached.
        world.clock.advance(SignedDuration::from_secs(2));
    }
}

#[tokio::test]
async fn an_update_may_have_4000_characters() {
    let world = world().await;
    let ts = world.call("chat.postMessage", json!({ "channel": "deploys", "text": "x" })).await["ts"].clone();
    let update = |n: usize| json!({ "channel": "deploys", "ts": ts, "text": "x".repeat(n) });
    assert_eq!(world.call_result_code("chat.update", update(4000)).await, "ok");
    assert_eq!(world.call_result_code("chat.update", update(4001)).await, "msg_too_long");
}

#[tokio::test]
async fn invalid_blocks_are_refused_with_a_json_pointer() {
    let world = world().await;
    let header = json!([{ "type": "header", "text": { "type": "plain_text", "text": "x".repeat(151) } }]);
    let answer = world.call("chat.postMessage", json!({ "channel": "deploys", "text": "x", "blocks": header })).await;
    assert_eq!(
        answer["response_metadata"]["messages"],
        json!(["[ERROR] must be less than 151 characters [json-pointer:/blocks/0/text/text]"])
    );
    world.slack.refuse_tables(true);
    let table = json!([{ "type": "table", "rows": [[{ "type": "raw_text", "text": "x" }]] }]);
    let args = json!({ "channel": "deploys", "text": "x", "blocks": table });
    assert_eq!(world.call_result_code("chat.postMessage", args.clone()).await, "invalid_blocks");
    world.slack.refuse_tables(false);
    assert_eq!(world.call_result_code("chat.postMessage", args).await, "ok");
    assert_eq!(world.slack.messages("deploys", None).len(), 1, "a refused message is not shown");
}

#[tokio::test]
async fn a_call_without_a_valid_token_is_refused() {
    let world = world().await;
    let error = async |request: reqwest::RequestBuilder| {
        request.send().await.unwrap().json::<Value>().await.unwrap()["error"].clone()
    };
    assert_eq!(error(world.raw("auth.test")).await, "not_authed");
    assert_eq!(error(world.raw("auth.test").bearer_auth("xoxb-wrong")).await, "invalid_auth");
    let by_form = world.raw("auth.test").header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(error(by_form.body(format!("token={TOKEN}"))).await, Value::Null);
    assert_eq!(error(world.raw("api.test")).await, Value::Null, "api.test needs no token");
    assert_eq!(
        error(world.raw("auth.test").bearer_auth(TOKEN).header("content-type", "text/csv")).await,
        "invalid_post_type"
    );
    let recorded = serde_json::to_string(&world.slack.last_requests()).unwrap();
    assert!(!recorded.contains("xoxb"), "tokens are not recorded: {recorded}");
}

#[tokio::test]
async fn a_form_may_have_blocks_as_json_inside_a_string() {
    let world = world().await;
    let form =
        world.raw("chat.postMessage").bearer_auth(TOKEN).header("content-type", "application/x-www-form-urlencoded");
    let answer = form.body("channel=deploys&blocks=%5B%7B%22type%22%3A%22divider%22%7D%5D").send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["ok"], true);
    assert_eq!(world.slack.messages("deploys", None)[0].blocks[0]["type"], "divider");
}

#[tokio::test]
async fn an_unknown_method_is_refused_and_recorded() {
    let world = world().await;
    assert_eq!(world.call_result_code("chat.shout", json!({})).await, "unknown_method");
    let missing = world.slack.http.get(format!("{}/sim/slack/nothing", world.origin)).send().await.unwrap();
    assert_eq!(missing.status(), 404);
    let read = world.slack.http.get(format!("{}/sim/slack/hooks/H1", world.origin)).send().await.unwrap();
    assert_eq!(read.status(), 405);
    assert_eq!(
        world.unknown_requests.all(),
        ["slack: POST /api/chat.shout", "slack: GET /nothing", "slack: GET /hooks/H1"]
    );
}

#[tokio::test]
async fn a_flooded_channel_answers_with_retry_after() {
    let world = world().await;
    let (client, token) = (world.client(), token());
    let session: Session<'_> = client.open_session(&token);
    let post =
        SlackApiChatPostMessageRequest::new("C0DEPLOYS".into(), SlackMessageContent::new().with_text("x".to_owned()));
    for _ in 0..5 {
        session.chat_post_message(&post).await.unwrap();
    }
    let Err(slack_morphism::errors::SlackClientError::RateLimitError(limited)) = session.chat_post_message(&post).await
    else {
        panic!("the sixth message must be refused");
    };
    assert_eq!(limited.retry_after, Some(Duration::from_secs(1)));
    world.clock.advance(SignedDuration::from_secs(1));
    session.chat_post_message(&post).await.unwrap();
    assert_eq!(world.slack.messages("deploys", None).len(), 6);
    assert_eq!(world.slack.calls()["chat.postMessage"], 7);
}

#[tokio::test]
async fn faults_strike_as_often_as_armed() {
    let world = world().await;
    let post = json!({ "channel": "deploys", "text": "x" });
    world.faults.arm(Fault::SlackDown, 1, None, None);
    world.faults.arm(Fault::Slack429, 1, None, None);
    let down = world.raw("chat.postMessage").bearer_auth(TOKEN).json(&post).send().await.unwrap();
    assert_eq!(down.status(), 503);
    let busy = world.raw("chat.postMessage").bearer_auth(TOKEN).json(&post).send().await.unwrap();
    assert_eq!((busy.status().as_u16(), busy.headers()["retry-after"].to_str().unwrap()), (429, "2"));
    assert_eq!(busy.json::<Value>().await.unwrap(), json!({ "ok": false, "error": "ratelimited" }));
    assert_eq!(world.call_result_code("chat.postMessage", post.clone()).await, "ratelimited", "too early");
    world.clock.advance(SignedDuration::from_secs(2));
    assert_eq!(world.call_result_code("chat.postMessage", post).await, "ok");
}

#[tokio::test]
async fn lists_have_pages() {
    let world = world().await;
    let page = async |query: &str| -> Value {
        let url = format!("{}/sim/slack/api/users.list?{query}", world.origin);
        world.slack.http.get(url).bearer_auth(TOKEN).send().await.unwrap().json().await.unwrap()
    };
    let first = page("limit=4").await;
    assert_eq!(first["members"].as_array().unwrap().len(), 4);
    let next = first["response_metadata"]["next_cursor"].as_str().unwrap();
    let second = page(&format!("limit=4&cursor={next}")).await;
    assert_eq!(second["members"].as_array().unwrap().len(), 2);
    assert_eq!(second["response_metadata"]["next_cursor"], "");
    assert_eq!(page("cursor=nonsense").await["error"], "invalid_cursor");
}

#[tokio::test]
async fn the_bot_can_react_to_delete_and_link_its_own_messages() {
    let world = world().await;
    let ts = world.call("chat.postMessage", json!({ "channel": "deploys", "text": "x" })).await["ts"].clone();
    let reaction = json!({ "channel": "deploys", "timestamp": ts, "name": "white_check_mark" });
    assert_eq!(world.call_result_code("reactions.add", reaction.clone()).await, "ok");
    assert_eq!(world.call_result_code("reactions.add", reaction.clone()).await, "already_reacted");
    assert_eq!(world.slack.messages("deploys", None)[0].reactions[0].users, ["gantry"]);
    assert_eq!(world.call_result_code("reactions.remove", reaction.clone()).await, "ok");
    assert_eq!(world.call_result_code("reactions.remove", reaction).await, "no_reaction");
    let url = format!("{}/sim/slack/api/chat.getPermalink?channel=C0DEPLOYS&message_ts=", world.origin);
    let link = world.slack.http.get(url + ts.as_str().unwrap()).bearer_auth(TOKEN).send().await.unwrap();
    let link: Value = link.json().await.unwrap();
    assert_eq!(link["permalink"], "https://acme.slack.com/archives/C0DEPLOYS/p1794823200000000");
    assert_eq!(world.call_result_code("chat.delete", json!({ "channel": "deploys", "ts": ts })).await, "ok");
    assert!(world.slack.messages("deploys", None).is_empty());
}
