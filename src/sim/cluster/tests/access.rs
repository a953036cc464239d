//! The permissions of the bot's account: allowed requests, refusals, and reviews of its own access.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::PostParams;

use super::*;

/// A client with the bot's token.
fn bot_client(fixture: &Fixture) -> Client {
    let mut config = kube::Config::new(fixture.address.parse().unwrap());
    config.default_retry = false;
    config.auth_info.token = Some(TOKEN.to_owned().into());
    Client::try_from(config).unwrap()
}

async fn is_allowed(client: &Client, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
    let text = |text: &str| Some(text.to_owned());
    let attributes = ResourceAttributes {
        verb: text(verb),
        group: text(group),
        resource: text(resource),
        namespace: text(namespace),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let reviewed = Api::all(client.clone()).create(&PostParams::default(), &review).await.unwrap();
    let SubjectAccessReviewStatus { allowed, .. } = reviewed.status.unwrap();
    allowed
}

#[tokio::test]
async fn the_bot_has_the_chart_permissions_and_is_refused_otherwise() {
    let fixture = Fixture::open().await;
    fixture.cluster.set_running("qa", &workload("deployment/checkout"), "app", "checkout:1", 1);
    let client = bot_client(&fixture);
    assert!(Api::<Deployment>::namespaced(client.clone(), "qa").get("checkout").await.is_ok());
    assert!(Api::<Pod>::namespaced(client.clone(), "qa").list(&ListParams::default()).await.is_ok());

    let error = Api::<Pod>::namespaced(client.clone(), "qa").get("checkout-1").await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        status.message,
        "pods \"checkout-1\" is forbidden: User \"system:serviceaccount:gantry:gantry\" cannot get resource \"pods\" in \
         API group \"\" in the namespace \"qa\""
    );
    let error = Api::<Deployment>::all(client.clone()).list(&ListParams::default()).await.unwrap_err();
    assert!(
        error.to_string().contains("deployments.apps is forbidden")
            && error.to_string().contains("at the cluster scope")
    );
    let params = kube::api::DeleteParams::default();
    assert!(Api::<Deployment>::namespaced(client.clone(), "qa").delete("checkout", &params).await.is_err());
    assert_eq!(
        fixture.unknown_requests.all(),
        [
            "cluster: may not get /api/v1/namespaces/qa/pods/checkout-1",
            "cluster: may not list /apis/apps/v1/deployments",
            "cluster: may not delete /apis/apps/v1/namespaces/qa/deployments/checkout",
        ]
    );
    let requested: Vec<String> = fixture.cluster.requested_permissions().iter().map(ToString::to_string).collect();
    assert_eq!(
        requested,
        ["get pods", "list pods", "delete deployments.apps", "get deployments.apps", "list deployments.apps"]
    );
}

#[tokio::test]
async fn a_self_review_answers_by_the_rules() {
    let fixture = Fixture::open().await;
    let client = bot_client(&fixture);
    for permission in crate::adapters::cluster::access::list_required_permissions() {
        assert!(
            is_allowed(&client, &permission.verb, &permission.group, &permission.resource, "qa").await,
            "{permission}"
        );
    }
    for (verb, group, resource) in [("get", "", "secrets"), ("patch", "apps", "deployments"), ("get", "", "pods/log")] {
        assert!(!is_allowed(&client, verb, group, resource, "qa").await, "{verb} {resource}");
        assert!(is_allowed(&fixture.client, verb, group, resource, "qa").await, "an admin may");
    }
    fixture.cluster.revoke("qa", "list", "pods");
    assert!(
        !is_allowed(&client, "list", "", "pods", "qa").await && is_allowed(&client, "list", "", "pods", "prod").await
    );
    assert!(Api::<Pod>::namespaced(client.clone(), "qa").list(&ListParams::default()).await.is_err());
    fixture.cluster.forbid("qa");
    assert!(!is_allowed(&client, "get", "apps", "deployments", "qa").await);
    assert_eq!(
        fixture.unknown_requests.all(),
        Vec::<String>::new(),
        "a refusal by the rules is not an unknown request"
    );
}
