//! Tests of every method of attribution, their order, and every reason for its failure.

use super::*;
use crate::domain::model::artefact::Repository;
use crate::domain::sample;

fn qa() -> EnvironmentName {
    EnvironmentName::new("qa")
}

fn catalogue() -> Catalogue {
    let mut catalogue = sample::catalogue();
    let mailer = catalogue.artefacts.iter_mut().find(|artefact| artefact.name.as_str() == "mailer").unwrap();
    mailer.places.remove(&EnvironmentName::new("staging"));
    let search = catalogue.artefacts.iter_mut().find(|artefact| artefact.name.as_str() == "search").unwrap();
    search.image = "ghcr.io/acme/checkout".into();
    catalogue
}

fn rule(kind: Option<&str>, name: Option<&str>, environments: &[&str], artefacts: &[&str]) -> AttributionRule {
    AttributionRule {
        kind: kind.map(Into::into),
        namespace: None,
        name: name.map(Into::into),
        environments: environments.iter().map(|name| EnvironmentName::new(name)).collect(),
        artefacts: artefacts.iter().map(|name| ArtefactName::new(name)).collect(),
    }
}

/// The object that applied each artefact, and the running version.
fn applied(artefact: &Artefact, _: &Place) -> AppliedWorkload {
    let (applied_by, tag): (&[&str], &str) = match artefact.name.as_str() {
        "checkout" => (&["Kustomization/flux-system/apps"], "1.4"),
        "search" => (&["Kustomization/flux-system/apps"], "2.0"),
        "mailer" => (&["Application//post"], "7"),
        _ => (&[], "7"),
    };
    let version = Version { tag: Some(tag.into()), ..Version::default() };
    AppliedWorkload {
        applied_by: applied_by.iter().map(|reference| (*reference).into()).collect(),
        version: Some(version),
    }
}

struct ReportContent {
    environment: EnvironmentName,
    object: Option<ControllerObject>,
    artefact: Option<&'static str>,
    images: Vec<String>,
    repository: Option<Repository>,
}

fn empty_report() -> ReportContent {
    ReportContent { environment: qa(), object: None, artefact: None, images: Vec::new(), repository: None }
}

fn report_on(kind: &str, namespace: &str, name: &str) -> ReportContent {
    ReportContent { object: ControllerObject::new(kind, namespace, name), ..empty_report() }
}

impl ReportContent {
    fn to_subject(&self) -> AttributionSubject<'_> {
        AttributionSubject {
            sender: "Flux",
            naming_hint: "in the Alert's eventMetadata",
            environment: &self.environment,
            object: self.object.clone(),
            artefact: self.artefact,
            images: &self.images,
            repository: self.repository.as_ref(),
        }
    }

    /// `method: artefacts`, or the reason and its repair.
    fn attribute(&self, rules: &[AttributionRule]) -> String {
        let catalogue = catalogue();
        let subject = self.to_subject();
        match (ReportAttributor { catalogue: &catalogue, rules, applied: &applied }).attribute_report(&subject) {
            Ok(Attribution { artefacts, method }) => {
                let names: Vec<&str> = artefacts.iter().map(ArtefactName::as_str).collect();
                format!("{}: {}", method.as_str(), names.join(" "))
            }
            Err(reason) => format!("{} {}", reason.describe_problem(&subject), reason.describe_repair(&subject)),
        }
    }
}

#[test]
fn the_named_artefact_then_a_rule_then_images_and_repositories_are_used() {
    let rules = [rule(None, Some("*"), &[], &["storefront"])];
    let apps = || report_on("Kustomization", "flux-system", "apps");
    assert_eq!(ReportContent { artefact: Some("mailer"), ..apps() }.attribute(&rules), "named: mailer");
    let with_images =
        |images: &[&str]| ReportContent { images: images.iter().map(|image| (*image).to_owned()).collect(), ..apps() };
    assert_eq!(with_images(&["ghcr.io/acme/mailer"]).attribute(&rules), "rule: storefront", "a configured rule");
    let rules = [];
    assert_eq!(with_images(&["ghcr.io/acme/mailer"]).attribute(&rules), "image: mailer");
    assert_eq!(with_images(&["ghcr.io/acme/mailer:9@sha256:00", "envoy:1"]).attribute(&rules), "image: mailer");
    assert_eq!(
        with_images(&["ghcr.io/acme/checkout"]).attribute(&rules),
        "image: checkout search",
        "two artefacts have the image"
    );
    assert_eq!(
        with_images(&["ghcr.io/acme/checkout:2.0"]).attribute(&rules),
        "image: search",
        "the tag tells them apart"
    );
    assert_eq!(
        with_images(&["ghcr.io/acme/checkout:9"]).attribute(&rules),
        "image: checkout search",
        "an unknown tag excludes none of them"
    );
    let from_shop =
        |content: ReportContent| ReportContent { repository: Some("Acme/Shop".parse().unwrap()), ..content };
    assert_eq!(from_shop(empty_report()).attribute(&rules), "repository: mailer storefront");
    assert_eq!(
        from_shop(apps()).attribute(&rules),
        "repository: mailer storefront",
        "an object that applied none of them"
    );
    assert_eq!(from_shop(report_on("Application", "argocd", "post")).attribute(&rules), "repository: mailer");
}

#[test]
fn the_first_matching_rule_comes_before_the_cluster() {
    let apps = report_on("Kustomization", "flux-system", "apps");
    let rules = [
        rule(Some("HelmRelease"), Some("apps"), &[], &["search"]),
        rule(None, Some("a*s"), &["prod"], &["search"]),
        rule(Some("Kustom*"), Some("ap*"), &["qa", "prod"], &["mailer", "storefront"]),
        rule(None, Some("*"), &[], &["search"]),
    ];
    assert_eq!(apps.attribute(&rules), "rule: mailer storefront");
    let namespaced = |namespace: &str| AttributionRule { namespace: Some(namespace.to_owned()), ..rules[3].clone() };
    assert_eq!(apps.attribute(&[namespaced("flux-*")]), "rule: search");
    assert_eq!(apps.attribute(&[namespaced("argo*")]), "cluster: checkout search");
}

#[test]
fn the_cluster_knows_what_an_object_applied_and_its_name_is_the_last_hint() {
    assert_eq!(report_on("Kustomization", "flux-system", "apps").attribute(&[]), "cluster: checkout search");
    assert_eq!(report_on("Kustomization", "", "apps").attribute(&[]), "cluster: checkout search");
    assert_eq!(report_on("Application", "argocd", "post").attribute(&[]), "cluster: mailer");
    assert_eq!(report_on("Kustomization", "flux-system", "storefront").attribute(&[]), "name: storefront");
    let with_unknown_image =
        ReportContent { images: vec!["mirror/x:1".to_owned()], ..report_on("Kustomization", "", "storefront") };
    assert_eq!(with_unknown_image.attribute(&[]), "name: storefront", "an unknown image does not matter");
}

#[test]
fn an_unmapped_report_has_a_reason_and_a_repair() {
    let in_staging = |content: ReportContent| ReportContent { environment: EnvironmentName::new("staging"), ..content };
    let with_image = |image: &str| ReportContent { images: vec![image.to_owned()], ..empty_report() };
    let rules = [rule(Some("HelmRelease"), None, &[], &["mailer"])];
    let all = [
        ReportContent { artefact: Some("chekout"), ..empty_report() },
        ReportContent { artefact: Some("Checkout"), ..empty_report() },
        ReportContent { artefact: Some("nobody-at-all"), ..empty_report() },
        in_staging(ReportContent { artefact: Some("mailer"), ..empty_report() }),
        in_staging(with_image("ghcr.io/acme/mailer:1")),
        with_image("ghcr.io/acme/redis:7"),
        ReportContent { repository: Some("acme/gitops".parse().unwrap()), ..empty_report() },
        in_staging(report_on("HelmRelease", "flux-system", "x")),
        in_staging(report_on("Kustomization", "flux-system", "mailer")),
        report_on("Kustomization", "argocd", "apps"),
        report_on("Kustomization", "", &"x".repeat(254)),
    ];
    let sentences: Vec<String> = all.iter().map(|content| content.attribute(&rules)).collect();
    insta::assert_snapshot!(sentences.join("\n"), @"
    It names the artefact chekout, which I do not know. Did you mean checkout? Correct it in the Alert's eventMetadata.
    It names the artefact Checkout, which I do not know. Did you mean checkout? Correct it in the Alert's eventMetadata.
    It names the artefact nobody-at-all, which I do not know. Name one that the configuration has in the Alert's eventMetadata, or add this one under `artefacts`.
    It is about mailer, which is not in staging. Send it to the environment that it is about, or let mailer be in staging under `artefacts`.
    It is about mailer, which is not in staging. Send it to the environment that it is about, or let mailer be in staging under `artefacts`.
    It brought ghcr.io/acme/redis:7, which is the image of no artefact in qa. Name the artefact in the Alert's eventMetadata, or add a rule under `reports`.
    Nothing of acme/gitops is delivered to qa by branch. Name the artefact in the Alert's eventMetadata, or add a rule under `reports`.
    Rule 1 under `reports` is for it, and none of its artefacts is in staging. Name an artefact of staging in that rule, or limit it by `environments`.
    It is about mailer, which is not in staging. Send it to the environment that it is about, or let mailer be in staging under `artefacts`.
    Flux's Kustomization argocd/apps applied nothing that I watch in qa. Name the artefact in the Alert's eventMetadata, or add a rule under `reports`.
    It names no artefact, no image and no object. Name the artefact in the Alert's eventMetadata.
    ");
}

#[test]
fn text_of_a_report_is_truncated_in_sentences() {
    let long = "я".repeat(5_000);
    for content in [
        ReportContent { artefact: Some(long.clone().leak()), ..empty_report() },
        ReportContent { images: vec![long.clone()], ..empty_report() },
        report_on(&"k".repeat(253), &"n".repeat(253), &"x".repeat(253)),
    ] {
        let sentences = content.attribute(&[]);
        assert!(sentences.chars().count() < 600, "{sentences}");
    }
}

#[test]
fn a_reference_names_its_object() {
    let apps = ControllerObject::new("Kustomization", "flux-system", "apps").unwrap();
    assert_eq!(apps.to_reference(), "Kustomization/flux-system/apps");
    for (reference, expected) in [
        ("Kustomization/flux-system/apps", true),
        ("Kustomization//apps", true),
        ("Kustomization/other/apps", false),
        ("HelmRelease/flux-system/apps", false),
        ("Kustomization/flux-system/apps/x", false),
        ("Kustomization", false),
        ("", false),
    ] {
        assert_eq!(apps.has_reference(reference), expected, "{reference}");
    }
    assert_eq!(ControllerObject::new("Kustomization", "flux-system", ""), None);
}
