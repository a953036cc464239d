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
    let (by, tag): (&[&str], &str) = match artefact.name.as_str() {
        "checkout" => (&["Kustomization/flux-system/apps"], "1.4"),
        "search" => (&["Kustomization/flux-system/apps"], "2.0"),
        "mailer" => (&["Application//post"], "7"),
        _ => (&[], "7"),
    };
    let version = Version { tag: Some(tag.into()), ..Version::default() };
    AppliedWorkload { applied_by: by.iter().map(|word| (*word).into()).collect(), version: Some(version) }
}

struct Says {
    environment: EnvironmentName,
    object: Option<ControllerObject>,
    artefact: Option<&'static str>,
    images: Vec<String>,
    repository: Option<Repository>,
}

fn nothing() -> Says {
    Says { environment: qa(), object: None, artefact: None, images: Vec::new(), repository: None }
}

fn object(kind: &str, namespace: &str, name: &str) -> Says {
    Says { object: ControllerObject::new(kind, namespace, name), ..nothing() }
}

impl Says {
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
    fn found(&self, rules: &[AttributionRule]) -> String {
        let catalogue = catalogue();
        let told = self.to_subject();
        match (ReportAttributor { catalogue: &catalogue, rules, applied: &applied }).attribute_report(&told) {
            Ok(Attribution { artefacts, method: by }) => {
                let names: Vec<&str> = artefacts.iter().map(ArtefactName::as_str).collect();
                format!("{}: {}", by.as_str(), names.join(" "))
            }
            Err(why) => format!("{} {}", why.describe_problem(&told), why.describe_repair(&told)),
        }
    }
}

#[test]
fn what_it_says_itself_comes_before_everything_else() {
    let rules = [rule(None, Some("*"), &[], &["storefront"])];
    let apps = || object("Kustomization", "flux-system", "apps");
    assert_eq!(Says { artefact: Some("mailer"), ..apps() }.found(&rules), "named: mailer");
    let images = |images: &[&str]| Says { images: images.iter().map(|it| (*it).to_owned()).collect(), ..apps() };
    assert_eq!(images(&["ghcr.io/acme/mailer"]).found(&rules), "rule: storefront", "what somebody wrote down for it");
    let rules = [];
    assert_eq!(images(&["ghcr.io/acme/mailer"]).found(&rules), "image: mailer");
    assert_eq!(images(&["ghcr.io/acme/mailer:9@sha256:00", "envoy:1"]).found(&rules), "image: mailer");
    assert_eq!(images(&["ghcr.io/acme/checkout"]).found(&rules), "image: checkout search", "two have it");
    assert_eq!(images(&["ghcr.io/acme/checkout:2.0"]).found(&rules), "image: search", "the tag tells them apart");
    assert_eq!(images(&["ghcr.io/acme/checkout:9"]).found(&rules), "image: checkout search", "and excludes nobody");
    let shop = |says: Says| Says { repository: Some("Acme/Shop".parse().unwrap()), ..says };
    assert_eq!(shop(nothing()).found(&rules), "repository: mailer storefront");
    assert_eq!(shop(apps()).found(&rules), "repository: mailer storefront", "that applied none of them");
    assert_eq!(shop(object("Application", "argocd", "post")).found(&rules), "repository: mailer");
}

#[test]
fn the_first_rule_that_fits_is_taken_before_the_cluster_is_asked() {
    let apps = object("Kustomization", "flux-system", "apps");
    let rules = [
        rule(Some("HelmRelease"), Some("apps"), &[], &["search"]),
        rule(None, Some("a*s"), &["prod"], &["search"]),
        rule(Some("Kustom*"), Some("ap*"), &["qa", "prod"], &["mailer", "storefront"]),
        rule(None, Some("*"), &[], &["search"]),
    ];
    assert_eq!(apps.found(&rules), "rule: mailer storefront");
    let namespaced = |namespace: &str| AttributionRule { namespace: Some(namespace.to_owned()), ..rules[3].clone() };
    assert_eq!(apps.found(&[namespaced("flux-*")]), "rule: search");
    assert_eq!(apps.found(&[namespaced("argo*")]), "cluster: checkout search");
}

#[test]
fn the_cluster_tells_what_an_object_applied_and_its_name_is_the_last_hint() {
    assert_eq!(object("Kustomization", "flux-system", "apps").found(&[]), "cluster: checkout search");
    assert_eq!(object("Kustomization", "", "apps").found(&[]), "cluster: checkout search");
    assert_eq!(object("Application", "argocd", "post").found(&[]), "cluster: mailer");
    assert_eq!(object("Kustomization", "flux-system", "storefront").found(&[]), "name: storefront");
    let silent = Says { images: vec!["mirror/x:1".to_owned()], ..object("Kustomization", "", "storefront") };
    assert_eq!(silent.found(&[]), "name: storefront", "an image that tells nothing hinders nobody");
}

#[test]
fn what_nothing_tells_has_a_reason_and_a_repair() {
    let staging = |says: Says| Says { environment: EnvironmentName::new("staging"), ..says };
    let image = |image: &str| Says { images: vec![image.to_owned()], ..nothing() };
    let rules = [rule(Some("HelmRelease"), None, &[], &["mailer"])];
    let all = [
        Says { artefact: Some("chekout"), ..nothing() },
        Says { artefact: Some("Checkout"), ..nothing() },
        Says { artefact: Some("nobody-at-all"), ..nothing() },
        staging(Says { artefact: Some("mailer"), ..nothing() }),
        staging(image("ghcr.io/acme/mailer:1")),
        image("ghcr.io/acme/redis:7"),
        Says { repository: Some("acme/gitops".parse().unwrap()), ..nothing() },
        staging(object("HelmRelease", "flux-system", "x")),
        staging(object("Kustomization", "flux-system", "mailer")),
        object("Kustomization", "argocd", "apps"),
        object("Kustomization", "", &"x".repeat(254)),
    ];
    let said: Vec<String> = all.iter().map(|says| says.found(&rules)).collect();
    insta::assert_snapshot!(said.join("\n"), @"
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
fn what_somebody_writes_is_repeated_only_in_part() {
    let long = "я".repeat(5_000);
    for says in [
        Says { artefact: Some(long.clone().leak()), ..nothing() },
        Says { images: vec![long.clone()], ..nothing() },
        object(&"k".repeat(253), &"n".repeat(253), &"x".repeat(253)),
    ] {
        let found = says.found(&[]);
        assert!(found.chars().count() < 600, "{found}");
    }
}

#[test]
fn a_word_names_its_object() {
    let apps = ControllerObject::new("Kustomization", "flux-system", "apps").unwrap();
    assert_eq!(apps.to_reference(), "Kustomization/flux-system/apps");
    for (word, same) in [
        ("Kustomization/flux-system/apps", true),
        ("Kustomization//apps", true),
        ("Kustomization/other/apps", false),
        ("HelmRelease/flux-system/apps", false),
        ("Kustomization/flux-system/apps/x", false),
        ("Kustomization", false),
        ("", false),
    ] {
        assert_eq!(apps.has_reference(word), same, "{word}");
    }
    assert_eq!(ControllerObject::new("Kustomization", "flux-system", ""), None);
}
