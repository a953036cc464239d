//! Tests of the requests to a registry, their authentication, and the handling of responses.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, RegistryError};
use super::fake::{FakeRegistry, RequiredAuth, bob, digest, image};
use crate::config::RegistryLogin;
use crate::domain::model::version::Image;

const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";
const REVISION: &str = "org.opencontainers.image.revision";
/// The query of the first page of tags; a mirror gets the name of the registry.
const FIRST: &str = "n=1000&ns=ghcr.io";
/// `bob:s3cr3t`.
const BOB: &str = "Basic Ym9iOnMzY3IzdA==";

async fn revision(fake: &FakeRegistry, tag: &str) -> Result<Option<String>, RegistryError> {
    fake.client().await.fetch_revision(&image(tag)).await
}

#[tokio::test]
async fn an_image_exists_or_not() {
    let fake = FakeRegistry::default();
    let digest = fake.image("1.4", &json!({}), &json!({}));
    let client = fake.client().await;
    assert_eq!(client.fetch_digest(&image("1.4")).await, Ok(Some(digest.clone())));
    assert_eq!(fake.requests().last().unwrap(), "HEAD /v2/acme/checkout/manifests/1.4?ns=ghcr.io");
    assert_eq!(client.fetch_digest(&image("1.5")).await, Ok(None));
    let by_digest = Image::parse(&format!("ghcr.io/acme/checkout@{digest}"));
    assert_eq!(client.fetch_digest(&by_digest).await, Ok(Some(digest)));
    assert_eq!(client.fetch_digest(&Image::parse("ghcr.io/acme/nothing:1")).await, Ok(None));
}

#[tokio::test]
async fn logins_work_for_basic_and_bearer_authentication() {
    let cases = [
        (RequiredAuth::Basic(BOB), Some(bob("s3cr3t"))),
        (RequiredAuth::Bearer(BOB, "t0k"), Some(bob("s3cr3t"))),
        (RequiredAuth::Bearer("", "t0k"), None),
        (RequiredAuth::Bearer(BOB, "t0k"), Some(RegistryLogin::Token("t0k".into()))),
    ];
    for (required_auth, login) in cases {
        let fake = FakeRegistry::default();
        let digest = fake.image("1.4", &json!({}), &json!({ REVISION: SHA }));
        fake.tags(FIRST, &["1.4"], None);
        fake.require_auth(required_auth);
        let client = fake.client_as(login.clone()).await;
        assert_eq!(client.fetch_digest(&image("1.4")).await, Ok(Some(digest)), "{login:?}");
        assert_eq!(client.fetch_revision(&image("1.4")).await, Ok(Some(SHA.to_owned())), "{login:?}");
        assert_eq!(client.list_tags("ghcr.io/acme/checkout").await, Ok(vec!["1.4".to_owned()]), "{login:?}");
    }
}

#[tokio::test]
async fn a_wrong_password_is_an_error_that_does_not_contain_it() {
    for required_auth in [RequiredAuth::Basic(BOB), RequiredAuth::Bearer(BOB, "t0k")] {
        for login in [None, Some(bob("wr0ng")), Some(RegistryLogin::Token("wr0ng".into()))] {
            let fake = FakeRegistry::default();
            fake.image("1.4", &json!({}), &json!({}));
            fake.tags(FIRST, &["1.4"], None);
            fake.require_auth(required_auth.clone());
            let client = fake.client_as(login.clone()).await;
            let expected = if login.is_none() {
                "the registry refuses us: `registry.docker_config` has no login for 127.0.0.1:"
            } else {
                "the registry refuses us: the login that `registry.docker_config` has for 127.0.0.1:"
            };
            for error in [
                client.fetch_digest(&image("1.4")).await.unwrap_err(),
                client.fetch_revision(&image("1.4")).await.unwrap_err(),
                client.list_tags("ghcr.io/acme/checkout").await.unwrap_err(),
            ] {
                assert!(matches!(error, RegistryError::Unauthorised(_)), "{login:?} {error:?}");
                assert!(error.to_string().starts_with(expected) && !format!("{error:?}").contains("wr0ng"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_mirror_does_not_get_the_password_of_its_registry() {
    let fake = FakeRegistry::default();
    fake.image("1.4", &json!({}), &json!({}));
    fake.require_auth(RequiredAuth::Basic(BOB));
    let mirrors = BTreeMap::from([("ghcr.io".to_owned(), format!("http://{}", fake.listen().await))]);
    let client = Client::new(&mirrors, &BTreeMap::from([("ghcr.io".to_owned(), bob("s3cr3t"))])).unwrap();
    let error = client.fetch_digest(&image("1.4")).await.unwrap_err();
    assert!(error.to_string().contains("has no login for 127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn an_unreachable_token_service_is_unavailable_and_not_a_refusal() {
    let fake = FakeRegistry::default();
    fake.require_auth(RequiredAuth::BearerNowhere);
    let client = fake.client_as(Some(bob("s3cr3t"))).await;
    for error in [
        client.fetch_digest(&image("1.4")).await.unwrap_err(),
        client.list_tags("ghcr.io/acme/checkout").await.unwrap_err(),
    ] {
        assert!(matches!(&error, RegistryError::Unavailable(why) if why.to_lowercase().contains("refused")), "{error}");
    }
}

#[tokio::test]
async fn a_token_that_is_no_valid_header_is_an_error() {
    let fake = FakeRegistry::default();
    fake.require_auth(RequiredAuth::Bearer(BOB, "t0k\n"));
    let client = fake.client_as(Some(bob("s3cr3t"))).await;
    assert!(matches!(client.fetch_digest(&image("1.4")).await, Err(RegistryError::Other(_))));
    assert!(client.list_tags("ghcr.io/acme/checkout").await.is_err());
}

#[tokio::test]
async fn tags_are_read_page_by_page() {
    let fake = FakeRegistry::default();
    fake.tags(FIRST, &["1", "2"], Some("/v2/acme/checkout/tags/list?last=2&n=2"));
    fake.tags("last=2&n=2", &["3", "no tag", "4"], Some("list?next_page=opaque"));
    fake.tags("next_page=opaque", &["5"], None);
    let client = fake.client().await;
    assert_eq!(client.list_tags("ghcr.io/acme/checkout").await.unwrap(), ["1", "2", "3", "4", "5"]);
    assert_eq!(client.list_tags("ghcr.io/acme/nothing").await.unwrap(), Vec::<String>::new());
    assert!(matches!(client.list_tags("ghcr.io/acme/checkout:1").await, Err(RegistryError::Other(_))));
}

#[tokio::test]
async fn an_endless_list_of_tags_is_cut() {
    let fake = FakeRegistry::default();
    // Each page names the other as the next.
    fake.tags(FIRST, &["a"], Some("?page=2"));
    fake.tags("page=2", &["b"], Some(&format!("?{FIRST}")));
    assert_eq!(fake.client().await.list_tags("ghcr.io/acme/checkout").await.unwrap().len(), 50);
    fake.tags(FIRST, &["a"], Some(&format!("?{FIRST}")));
    assert_eq!(fake.client().await.list_tags("ghcr.io/acme/checkout").await.unwrap(), ["a"]);
    let many: Vec<String> = (0..12_000).map(|number| number.to_string()).collect();
    fake.tags(FIRST, &many.iter().map(String::as_str).collect::<Vec<_>>(), None);
    assert_eq!(fake.client().await.list_tags("ghcr.io/acme/checkout").await.unwrap().len(), 10_000);
    fake.put(
        &format!("tags/list?{FIRST}"),
        200,
        "application/json",
        &json!({ "tags": ["a".repeat(5_000_000)] }).to_string(),
    );
    assert!(matches!(fake.client().await.list_tags("ghcr.io/acme/checkout").await, Err(RegistryError::Other(_))));
    fake.put(&format!("tags/list?{FIRST}"), 200, "application/json", &json!({ "tags": null }).to_string());
    assert_eq!(fake.client().await.list_tags("ghcr.io/acme/checkout").await, Ok(vec![]));
}

#[tokio::test]
async fn a_link_to_another_host_is_not_followed() {
    let (fake, other) = (FakeRegistry::default(), FakeRegistry::default());
    let elsewhere = format!("http://{}/v2/acme/checkout/tags/list?{FIRST}", other.listen().await);
    other.tags(FIRST, &["2"], None);
    fake.tags(FIRST, &["1"], Some(&elsewhere));
    let error = fake.client().await.list_tags("ghcr.io/acme/checkout").await.unwrap_err();
    assert!(error.to_string().contains("its tags go on elsewhere"), "{error}");
    assert_eq!(other.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn each_failure_to_list_tags_has_its_error() {
    type Is = fn(&RegistryError) -> bool;
    let cases: [(u16, Is); 6] = [
        (401, |error| matches!(error, RegistryError::Unauthorised(_))),
        (403, |error| matches!(error, RegistryError::Unauthorised(_))),
        (429, |error| matches!(error, RegistryError::Unavailable(_))),
        (502, |error| matches!(error, RegistryError::Unavailable(_))),
        (301, |error| matches!(error, RegistryError::Other(_))),
        (200, |error| matches!(error, RegistryError::Other(_))),
    ];
    for (status, is) in cases {
        let fake = FakeRegistry::default();
        fake.put("tags/list", status, "application/json", "junk");
        let error = fake.client().await.list_tags("ghcr.io/acme/checkout").await.unwrap_err();
        assert!(is(&error), "{status}: {error:?}");
    }
}

#[tokio::test]
async fn a_slow_registry_is_unavailable() {
    let fake = FakeRegistry::default();
    fake.image("1.4", &json!({}), &json!({}));
    fake.delay(Duration::from_mins(1));
    let client = fake.client().await;
    let image = image("1.4");
    let (digest, tags) = tokio::join!(client.fetch_digest(&image), client.list_tags("ghcr.io/acme/checkout"));
    assert!(matches!(digest, Err(RegistryError::Unavailable(_))), "{digest:?}");
    assert!(matches!(tags, Err(RegistryError::Unavailable(_))), "{tags:?}");
}

#[tokio::test]
async fn the_revision_comes_from_the_annotation_or_else_from_the_label() {
    let revision_entry = json!({ REVISION: SHA });
    let other = json!({ REVISION: "0000000" });
    let cases = [
        (revision_entry.clone(), json!({}), Some(SHA)),
        (revision_entry.clone(), other, Some(SHA)),
        (json!({}), revision_entry.clone(), Some(SHA)),
        (json!(null), revision_entry, Some(SHA)),
        (json!({}), json!(null), None),
        (json!({}), json!({ REVISION: " " }), None),
    ];
    for (annotations, labels, expected) in cases {
        let fake = FakeRegistry::default();
        fake.image("1.4", &annotations, &labels);
        assert_eq!(revision(&fake, "1.4").await.unwrap().as_deref(), expected, "{annotations} {labels}");
    }
    assert_eq!(revision(&FakeRegistry::default(), "1.4").await, Ok(None), "an image that does not exist");
}

#[tokio::test]
async fn any_platform_of_an_image_is_used_but_no_attestation() {
    let index = |annotations: Value, entries: Value| json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries, "annotations": annotations });
    let entry = |digest: &str, os: &str, arch: &str| json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1, "platform": { "os": os, "architecture": arch } });
    let fake = FakeRegistry::default();
    let attestation = fake.image("attestation", &json!({ REVISION: "wrong" }), &json!({}));
    let arm = fake.image("arm", &json!({}), &json!({ REVISION: SHA }));
    fake.manifest(
        "1.4",
        &index(json!({}), json!([entry(&attestation, "unknown", "unknown"), entry(&arm, "linux", "arm64")])),
    );
    fake.manifest("1.5", &index(json!({ REVISION: "index" }), json!([])));
    fake.manifest("1.6", &index(json!({}), json!([])));
    assert_eq!(revision(&fake, "1.4").await.unwrap().as_deref(), Some(SHA));
    assert_eq!(revision(&fake, "1.5").await.unwrap().as_deref(), Some("index"));
    assert_eq!(revision(&fake, "1.6").await.unwrap(), None);
}

#[tokio::test]
async fn each_refusal_and_failure_has_its_error() {
    type Is = fn(&RegistryError) -> bool;
    let denied = json!({ "errors": [{ "code": "DENIED", "message": "no" }] }).to_string();
    let cases: [(u16, &str, Is); 7] = [
        (401, "", |error| matches!(error, RegistryError::Unauthorised(_))),
        (403, "", |error| matches!(error, RegistryError::Unauthorised(_))),
        (403, &denied, |error| matches!(error, RegistryError::Unauthorised(_))),
        (429, "", |error| matches!(error, RegistryError::Unavailable(_))),
        (500, "", |error| matches!(error, RegistryError::Unavailable(_))),
        (503, "", |error| matches!(error, RegistryError::Unavailable(_))),
        (200, "junk", |error| matches!(error, RegistryError::Other(_))),
    ];
    for (status, body, is) in cases {
        let fake = FakeRegistry::default();
        fake.put("manifests/1.4", status, "application/json", body);
        let error = revision(&fake, "1.4").await.unwrap_err();
        assert!(is(&error), "{status}: {error:?}");
    }
}

#[tokio::test]
async fn a_configuration_larger_than_announced_is_an_error() {
    let fake = FakeRegistry::default();
    let config = json!({ "config": { "Labels": { REVISION: SHA } } }).to_string();
    fake.put(&format!("blobs/{}", digest(&config)), 200, "application/octet-stream", &config);
    fake.manifest(
        "1.4",
        &json!({ "schemaVersion": 2, "layers": [],
        "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(&config), "size": 3 } }),
    );
    assert!(matches!(revision(&fake, "1.4").await, Err(RegistryError::Other(_))));
}

#[tokio::test]
async fn an_unreachable_registry_is_unavailable() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mirrors = BTreeMap::from([("ghcr.io".to_owned(), "http://127.0.0.1:1/".to_owned())]);
    let error = Client::new(&mirrors, &BTreeMap::new()).unwrap().fetch_digest(&image("1.4")).await.unwrap_err();
    assert!(matches!(&error, RegistryError::Unavailable(why) if why.to_lowercase().contains("refused")), "{error}");
}

#[test]
fn a_mirror_must_be_a_host_without_a_path() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for wrong in ["127.0.0.1:8484", "http://", "ftp://host", "http://host/path", "http://user@host"] {
        let mirrors = BTreeMap::from([("ghcr.io".to_owned(), wrong.to_owned())]);
        assert!(Client::new(&mirrors, &BTreeMap::new()).is_err(), "{wrong}");
    }
}

#[test]
fn plain_http_is_used_only_for_mirrors() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mirrors = BTreeMap::from([("ghcr.io".to_owned(), "http://127.0.0.1:8484".to_owned())]);
    let client = Client::new(&mirrors, &BTreeMap::new()).unwrap();
    let origin = |text: &str| client.origin_url(&client.resolve_reference(&Image::parse(text)).unwrap());
    assert_eq!(origin("ghcr.io/acme/checkout:1"), "http://127.0.0.1:8484");
    assert_eq!(origin("quay.io/acme/checkout:1"), "https://quay.io");
    assert_eq!(origin("busybox:1"), "https://index.docker.io");
    assert!(client.resolve_reference(&Image::parse("Not An Image")).is_err());
}
