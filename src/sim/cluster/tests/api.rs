//! Lists, watches, and the answers to wrong requests.

use super::*;

#[tokio::test]
async fn a_watcher_sees_the_existing_objects_and_every_change() {
    let fixture = Fixture::open().await;
    fixture.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    fixture.cluster.set_running("prod", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let mut events = pin!(watcher(fixture.deployments("qa"), watcher::Config::default()));
    for expected in ["Init", "InitApply checkout", "InitDone"] {
        assert_eq!(describe_event(&next(&mut events).await.unwrap()), expected);
    }
    fixture.cluster.set_running("prod", &workload("deployment/other"), "app", "x:1", 1);
    fixture.cluster.set_running("qa", &workload("deployment/search"), "app", "search:1", 1);
    let Event::Apply(search) = next(&mut events).await.unwrap() else { panic!("no Apply") };
    assert_eq!(search.name_any(), "search");
    let version = fixture.cluster.last_change("qa", WorkloadKind::Deployment).to_string();
    assert_eq!(search.resource_version().unwrap(), version);
    fixture.cluster.remove("qa", &workload("deployment/search"));
    assert_eq!(describe_event(&next(&mut events).await.unwrap()), "Delete search");
}

#[tokio::test]
async fn a_watcher_lists_again_after_a_compaction() {
    let fixture = Fixture::open().await;
    fixture.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let mut events = pin!(watcher(fixture.deployments("qa"), watcher::Config::default()));
    for expected in ["Init", "InitApply checkout", "InitDone"] {
        assert_eq!(describe_event(&next(&mut events).await.unwrap()), expected);
    }
    fixture.cluster.compact();
    let gone = next(&mut events).await.unwrap_err();
    assert!(matches!(&gone, watcher::Error::WatchError(status) if status.code == 410), "{gone:?}");
    for expected in ["Init", "InitApply checkout", "InitDone"] {
        assert_eq!(describe_event(&next(&mut events).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_list_continues_by_page_until_a_compaction() {
    let fixture = Fixture::open().await;
    for name in ["a", "b", "c"] {
        fixture.cluster.set_running("qa", &workload(&format!("deployment/{name}")), "app", "x:1", 1);
    }
    let api = fixture.deployments("qa");
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["a", "b"]);
    let token = first.metadata.continue_.unwrap();
    let rest = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(rest.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["c"]);
    assert_eq!((rest.metadata.continue_, rest.metadata.resource_version), (None, first.metadata.resource_version));

    fixture.cluster.compact();
    let gone = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap_err();
    assert!(matches!(&gone, kube::Error::Api(status) if status.code == 410 && status.reason == "Expired"), "{gone}");
}

#[tokio::test]
async fn a_watch_sends_bookmarks_and_ends_at_its_timeout() {
    let fixture = Fixture::open().await;
    fixture.cluster.set_bookmark_interval(Duration::from_millis(50));
    fixture.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let url = format!(
        "{}/apis/apps/v1/namespaces/qa/deployments?watch=true&allowWatchBookmarks=true&timeoutSeconds=1",
        fixture.address
    );
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "ADDED", "without a version it begins with the existing objects");
    assert_eq!(lines[1]["type"], "BOOKMARK");
    let version = fixture.cluster.lock().store.version().to_string();
    assert_eq!(lines[1]["object"]["metadata"]["resourceVersion"], version);
    assert!(lines.len() > 3, "{text}");
}

#[tokio::test]
async fn a_watch_with_a_selector_sees_objects_enter_and_leave() {
    let fixture = Fixture::open().await;
    let checkout = workload("deployment/checkout");
    fixture.cluster.set_running("qa", &checkout, "app", "checkout:1", 1);
    let api = Api::<Pod>::namespaced(fixture.client.clone(), "qa");
    let config = watcher::Config::default().labels("app=checkout").fields("status.phase=Pending");
    let mut events = pin!(watcher(api, config));
    for _ in ["Init", "InitDone"] {
        next(&mut events).await.unwrap();
    }
    fixture.cluster.set_image("qa", &checkout, "app", "checkout:2");
    assert!(matches!(next(&mut events).await.unwrap(), Event::Apply(_)), "the new pod is pending");
    fixture.run_until_idle().await;
    assert!(matches!(next(&mut events).await.unwrap(), Event::Delete(_)), "it runs and is no longer pending");
}

#[tokio::test]
async fn a_refusal_in_a_forbidden_namespace_names_the_verb() {
    let fixture = Fixture::open().await;
    fixture.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    fixture.cluster.forbid("qa");
    let error = fixture.deployments("qa").list(&ListParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert!(status.message.contains("cannot list resource \"deployments\""), "{}", status.message);
    assert!(fixture.deployments("prod").list(&ListParams::default()).await.is_ok());
    fixture.cluster.allow("qa");
    assert!(fixture.deployments("qa").get("checkout").await.is_ok());
}

#[tokio::test]
async fn a_cluster_that_is_down_cuts_its_watches_and_comes_back() {
    let fixture = Fixture::open().await;
    fixture.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let mut events = pin!(watcher(fixture.deployments("qa"), watcher::Config::default()));
    for _ in ["Init", "InitApply", "InitDone"] {
        next(&mut events).await.unwrap();
    }
    let mut other = pin!(watcher(fixture.deployments("prod"), watcher::Config::default()));
    for _ in ["Init", "InitDone"] {
        next(&mut other).await.unwrap();
    }
    fixture.cluster.set_down("qa", true);
    let down = next(&mut events).await.unwrap_err();
    assert!(matches!(&down, watcher::Error::WatchFailed(_) | watcher::Error::WatchStartFailed(_)), "{down:?}");
    fixture.cluster.set_running("prod", &workload("deployment/search"), "app", "search:1", 1);
    assert_eq!(describe_event(&next(&mut other).await.unwrap()), "Apply search", "other namespaces work");

    fixture.cluster.set_running("qa", &workload("deployment/search"), "app", "search:1", 1);
    fixture.cluster.set_down("qa", false);
    let first_event = loop {
        if let Ok(event) = next(&mut events).await {
            break describe_event(&event);
        }
    };
    assert_eq!(first_event, "Apply search", "the change during the outage is seen");
}

#[tokio::test]
async fn an_armed_fault_fails_requests_and_cuts_open_watches() {
    let fixture = Fixture::open().await;
    fixture.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    fixture.faults.arm(Fault::ClusterDown, 1, None, Some("qa".into()));
    assert!(fixture.deployments("prod").list(&ListParams::default()).await.is_ok());
    let down = fixture.deployments("qa").get("checkout").await.unwrap_err();
    assert!(matches!(&down, kube::Error::Api(status) if status.code == 503), "{down}");
    assert!(fixture.deployments("qa").get("checkout").await.is_ok());

    let url = format!("{}/apis/apps/v1/namespaces/qa/deployments?watch=true&resourceVersion=9999", fixture.address);
    let mut stream = reqwest::get(url).await.unwrap().bytes_stream();
    fixture.faults.arm(Fault::ClusterDown, 1, None, Some("qa".into()));
    let cut = tokio::time::timeout(Duration::from_secs(10), stream.try_next()).await.expect("the fault is noticed");
    assert!(cut.is_err(), "{cut:?}");
}

#[tokio::test]
async fn ended_streams_stay_ended() {
    let fixture = Fixture::open().await;
    let url = format!("{}/api/v1/namespaces/qa/pods?watch=true", fixture.address);
    let open = reqwest::get(&url).await.unwrap();
    fixture.cluster.end_streams();
    assert_eq!(open.text().await.unwrap(), "");
    assert_eq!(reqwest::get(&url).await.unwrap().status(), 503);
}

#[tokio::test]
async fn a_missing_object_is_a_404_and_an_unknown_request_is_recorded() {
    let fixture = Fixture::open().await;
    assert!(fixture.deployments("qa").get_opt("nothing").await.unwrap().is_none());
    let error = fixture.deployments("qa").get("nothing").await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!((status.code, status.to_string().as_str()), (404, "deployments.apps \"nothing\" not found: NotFound"));
    assert_eq!(fixture.unknown_requests.all(), Vec::<String>::new());

    fixture.client.apiserver_version().await.unwrap();
    assert_eq!(fixture.client.list_core_api_versions().await.unwrap().versions, ["v1"]);
    let apps = fixture.client.list_api_group_resources("apps/v1").await.unwrap();
    assert_eq!(apps.resources.len(), 5);
    assert_eq!(fixture.client.list_api_groups().await.unwrap().groups[0].name, "apps");

    let delete = fixture.deployments("qa").delete("checkout", &kube::api::DeleteParams::default()).await;
    assert!(delete.is_err());
    let jobs = reqwest::get(format!("{}/apis/batch/v1/jobs", fixture.address)).await.unwrap();
    assert_eq!(jobs.status(), 404);
    let secrets = reqwest::get(format!("{}/api/v1/namespaces/qa/secrets", fixture.address)).await.unwrap();
    assert_eq!(secrets.status(), 404);
    assert_eq!(
        fixture.unknown_requests.all(),
        [
            "cluster: DELETE /apis/apps/v1/namespaces/qa/deployments/checkout",
            "cluster: GET /apis/batch/v1/jobs",
            "cluster: GET /api/v1/namespaces/qa/secrets",
        ]
    );
}

#[tokio::test]
async fn invalid_parameters_are_refused() {
    let fixture = Fixture::open().await;
    for query in [
        "limit=-1",
        "limit=x",
        "continue=rubbish",
        "labelSelector=a%20in%20(b)",
        "fieldSelector=spec.x%3D1",
        "watch=true&resourceVersion=latest",
        "watch=true&timeoutSeconds=-5",
    ] {
        let answer = reqwest::get(format!("{}/api/v1/pods?{query}", fixture.address)).await.unwrap();
        assert_eq!(answer.status(), 400, "{query}");
        let status: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(status["kind"], "Status", "{query}");
    }
    let streaming = format!("{}/api/v1/pods?watch=true&sendInitialEvents=true", fixture.address);
    assert_eq!(reqwest::get(streaming).await.unwrap().status(), 422);
}
