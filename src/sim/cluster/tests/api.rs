//! Lists, watches, and the answers to wrong requests.

use super::*;

#[tokio::test]
async fn a_watcher_sees_the_beginning_and_every_change() {
    let bench = Bench::open().await;
    bench.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    bench.cluster.set_running("prod", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let mut events = pin!(watcher(bench.deployments("qa"), watcher::Config::default()));
    for expected in ["Init", "InitApply checkout", "InitDone"] {
        assert_eq!(describe_event(&next(&mut events).await.unwrap()), expected);
    }
    bench.cluster.set_running("prod", &workload("deployment/other"), "app", "x:1", 1);
    bench.cluster.set_running("qa", &workload("deployment/search"), "app", "search:1", 1);
    let Event::Apply(search) = next(&mut events).await.unwrap() else { panic!("no Apply") };
    assert_eq!(search.name_any(), "search");
    let version = bench.cluster.last_change("qa", WorkloadKind::Deployment).to_string();
    assert_eq!(search.resource_version().unwrap(), version);
    bench.cluster.remove("qa", &workload("deployment/search"));
    assert_eq!(describe_event(&next(&mut events).await.unwrap()), "Delete search");
}

#[tokio::test]
async fn a_watcher_of_a_forgotten_history_lists_again() {
    let bench = Bench::open().await;
    bench.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let mut events = pin!(watcher(bench.deployments("qa"), watcher::Config::default()));
    for expected in ["Init", "InitApply checkout", "InitDone"] {
        assert_eq!(describe_event(&next(&mut events).await.unwrap()), expected);
    }
    bench.cluster.compact();
    let gone = next(&mut events).await.unwrap_err();
    assert!(matches!(&gone, watcher::Error::WatchError(status) if status.code == 410), "{gone:?}");
    for expected in ["Init", "InitApply checkout", "InitDone"] {
        assert_eq!(describe_event(&next(&mut events).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_list_comes_in_pages_until_its_history_is_forgotten() {
    let bench = Bench::open().await;
    for name in ["a", "b", "c"] {
        bench.cluster.set_running("qa", &workload(&format!("deployment/{name}")), "app", "x:1", 1);
    }
    let api = bench.deployments("qa");
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["a", "b"]);
    let token = first.metadata.continue_.unwrap();
    let rest = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(rest.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["c"]);
    assert_eq!((rest.metadata.continue_, rest.metadata.resource_version), (None, first.metadata.resource_version));

    bench.cluster.compact();
    let gone = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap_err();
    assert!(matches!(&gone, kube::Error::Api(status) if status.code == 410 && status.reason == "Expired"), "{gone}");
}

#[tokio::test]
async fn a_watch_carries_bookmarks_and_ends_by_its_timeout() {
    let bench = Bench::open().await;
    bench.cluster.set_bookmark_interval(Duration::from_millis(50));
    bench.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let url = format!(
        "{}/apis/apps/v1/namespaces/qa/deployments?watch=true&allowWatchBookmarks=true&timeoutSeconds=1",
        bench.address
    );
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "ADDED", "without a version it begins with what exists");
    assert_eq!(lines[1]["type"], "BOOKMARK");
    let version = bench.cluster.lock().store.version().to_string();
    assert_eq!(lines[1]["object"]["metadata"]["resourceVersion"], version);
    assert!(lines.len() > 3, "{text}");
}

#[tokio::test]
async fn a_watch_with_a_selector_sees_objects_come_and_go() {
    let bench = Bench::open().await;
    let checkout = workload("deployment/checkout");
    bench.cluster.set_running("qa", &checkout, "app", "checkout:1", 1);
    let api = Api::<Pod>::namespaced(bench.client.clone(), "qa");
    let config = watcher::Config::default().labels("app=checkout").fields("status.phase=Pending");
    let mut events = pin!(watcher(api, config));
    for _ in ["Init", "InitDone"] {
        next(&mut events).await.unwrap();
    }
    bench.cluster.set_image("qa", &checkout, "app", "checkout:2");
    assert!(matches!(next(&mut events).await.unwrap(), Event::Apply(_)), "the new pod is pending");
    bench.run_until_idle().await;
    assert!(matches!(next(&mut events).await.unwrap(), Event::Delete(_)), "it runs, so it is pending no more");
}

#[tokio::test]
async fn a_forbidden_namespace_is_said_with_its_verb() {
    let bench = Bench::open().await;
    bench.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    bench.cluster.forbid("qa");
    let no = bench.deployments("qa").list(&ListParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = no else { panic!("{no}") };
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert!(status.message.contains("cannot list resource \"deployments\""), "{}", status.message);
    assert!(bench.deployments("prod").list(&ListParams::default()).await.is_ok());
    bench.cluster.allow("qa");
    assert!(bench.deployments("qa").get("checkout").await.is_ok());
}

#[tokio::test]
async fn a_cluster_that_is_down_cuts_its_watches_and_comes_back() {
    let bench = Bench::open().await;
    bench.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let mut events = pin!(watcher(bench.deployments("qa"), watcher::Config::default()));
    for _ in ["Init", "InitApply", "InitDone"] {
        next(&mut events).await.unwrap();
    }
    let mut other = pin!(watcher(bench.deployments("prod"), watcher::Config::default()));
    for _ in ["Init", "InitDone"] {
        next(&mut other).await.unwrap();
    }
    bench.cluster.set_down("qa", true);
    let down = next(&mut events).await.unwrap_err();
    assert!(matches!(&down, watcher::Error::WatchFailed(_) | watcher::Error::WatchStartFailed(_)), "{down:?}");
    bench.cluster.set_running("prod", &workload("deployment/search"), "app", "search:1", 1);
    assert_eq!(describe_event(&next(&mut other).await.unwrap()), "Apply search", "others are not hindered");

    bench.cluster.set_running("qa", &workload("deployment/search"), "app", "search:1", 1);
    bench.cluster.set_down("qa", false);
    let back = loop {
        if let Ok(event) = next(&mut events).await {
            break describe_event(&event);
        }
    };
    assert_eq!(back, "Apply search", "what happened meanwhile is not lost");
}

#[tokio::test]
async fn an_armed_fault_strikes_requests_and_finds_open_watches() {
    let bench = Bench::open().await;
    bench.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    bench.faults.arm(Fault::ClusterDown, 1, None, Some("qa".into()));
    assert!(bench.deployments("prod").list(&ListParams::default()).await.is_ok());
    let down = bench.deployments("qa").get("checkout").await.unwrap_err();
    assert!(matches!(&down, kube::Error::Api(status) if status.code == 503), "{down}");
    assert!(bench.deployments("qa").get("checkout").await.is_ok());

    let url = format!("{}/apis/apps/v1/namespaces/qa/deployments?watch=true&resourceVersion=9999", bench.address);
    let mut stream = reqwest::get(url).await.unwrap().bytes_stream();
    bench.faults.arm(Fault::ClusterDown, 1, None, Some("qa".into()));
    let cut = tokio::time::timeout(Duration::from_secs(10), stream.try_next()).await.expect("the fault is noticed");
    assert!(cut.is_err(), "{cut:?}");
}

#[tokio::test]
async fn ended_streams_stay_ended() {
    let bench = Bench::open().await;
    let url = format!("{}/api/v1/namespaces/qa/pods?watch=true", bench.address);
    let open = reqwest::get(&url).await.unwrap();
    bench.cluster.end_streams();
    assert_eq!(open.text().await.unwrap(), "");
    assert_eq!(reqwest::get(&url).await.unwrap().status(), 503);
}

#[tokio::test]
async fn what_is_not_there_is_a_status_and_what_is_unknown_is_recorded() {
    let bench = Bench::open().await;
    assert!(bench.deployments("qa").get_opt("nothing").await.unwrap().is_none());
    let no = bench.deployments("qa").get("nothing").await.unwrap_err();
    let kube::Error::Api(status) = no else { panic!("{no}") };
    assert_eq!((status.code, status.to_string().as_str()), (404, "deployments.apps \"nothing\" not found: NotFound"));
    assert_eq!(bench.unknown_requests.all(), Vec::<String>::new());

    bench.client.apiserver_version().await.unwrap();
    assert_eq!(bench.client.list_core_api_versions().await.unwrap().versions, ["v1"]);
    let apps = bench.client.list_api_group_resources("apps/v1").await.unwrap();
    assert_eq!(apps.resources.len(), 5);
    assert_eq!(bench.client.list_api_groups().await.unwrap().groups[0].name, "apps");

    let delete = bench.deployments("qa").delete("checkout", &kube::api::DeleteParams::default()).await;
    assert!(delete.is_err());
    let jobs = reqwest::get(format!("{}/apis/batch/v1/jobs", bench.address)).await.unwrap();
    assert_eq!(jobs.status(), 404);
    let secrets = reqwest::get(format!("{}/api/v1/namespaces/qa/secrets", bench.address)).await.unwrap();
    assert_eq!(secrets.status(), 404);
    assert_eq!(
        bench.unknown_requests.all(),
        [
            "cluster: DELETE /apis/apps/v1/namespaces/qa/deployments/checkout",
            "cluster: GET /apis/batch/v1/jobs",
            "cluster: GET /api/v1/namespaces/qa/secrets",
        ]
    );
}

#[tokio::test]
async fn hostile_parameters_are_refused() {
    let bench = Bench::open().await;
    for query in [
        "limit=-1",
        "limit=x",
        "continue=rubbish",
        "labelSelector=a%20in%20(b)",
        "fieldSelector=spec.x%3D1",
        "watch=true&resourceVersion=latest",
        "watch=true&timeoutSeconds=-5",
    ] {
        let answer = reqwest::get(format!("{}/api/v1/pods?{query}", bench.address)).await.unwrap();
        assert_eq!(answer.status(), 400, "{query}");
        let status: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(status["kind"], "Status", "{query}");
    }
    let streaming = format!("{}/api/v1/pods?watch=true&sendInitialEvents=true", bench.address);
    assert_eq!(reqwest::get(streaming).await.unwrap().status(), 422);
}
