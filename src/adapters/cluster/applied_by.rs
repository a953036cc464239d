//! Finds the controller object that applied a workload, by the labels and annotations that controllers set.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::domain::runtime::attribution::ControllerObject;

/// The object as one string, for example `Kustomization/flux-system/checkout`.
pub(super) fn detect_applier(metadata: &ObjectMeta) -> Option<Arc<str>> {
    let label = |key: &str| find_value(metadata.labels.as_ref(), key);
    let annotation = |key: &str| find_value(metadata.annotations.as_ref(), key);
    let flux = |kind: &str, group: &str| {
        let name = label(&format!("{group}.toolkit.fluxcd.io/name"))?;
        ControllerObject::new(kind, label(&format!("{group}.toolkit.fluxcd.io/namespace")).unwrap_or_default(), name)
    };
    let argo_cd = || parse_application(annotation("argocd.argoproj.io/tracking-id")?.split(':').next()?);
    let helm = || {
        let namespace = annotation("meta.helm.sh/release-namespace").unwrap_or_default();
        ControllerObject::new("HelmRelease", namespace, annotation("meta.helm.sh/release-name")?)
    };
    // The labels that Argo CD uses without tracking ids. Charts set `app.kubernetes.io/instance` for other purposes, so
    // the labels are tried last.
    let instance = || parse_application(label("argocd.argoproj.io/instance").or(label("app.kubernetes.io/instance"))?);
    let found = flux("Kustomization", "kustomize")
        .or_else(|| flux("HelmRelease", "helm"))
        .or_else(argo_cd)
        .or_else(helm)
        .or_else(instance);
    found.map(|object| object.to_reference().into())
}

/// `checkout`, or `<namespace>_checkout` for an application outside of Argo CD's own namespace.
fn parse_application(name: &str) -> Option<ControllerObject> {
    let (namespace, name) = name.split_once('_').unwrap_or(("", name));
    ControllerObject::new("Application", namespace, name)
}

fn find_value<'a>(metadata: Option<&'a BTreeMap<String, String>>, key: &str) -> Option<&'a str> {
    metadata?.get(key).map(String::as_str).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(labels: &Value, annotations: &Value) -> Option<String> {
        let metadata = serde_json::from_value(json!({ "labels": labels, "annotations": annotations })).unwrap();
        detect_applier(&metadata).map(|reference| reference.to_string())
    }

    #[test]
    fn the_labels_and_annotations_of_each_controller_are_read() {
        let kustomize = json!({ "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
            "app.kubernetes.io/instance": "chart" });
        let helm =
            json!({ "helm.toolkit.fluxcd.io/name": "checkout", "helm.toolkit.fluxcd.io/namespace": "flux-system" });
        let release = json!({ "meta.helm.sh/release-name": "shop-checkout", "meta.helm.sh/release-namespace": "shop" });
        let tracked = |id: &str| json!({ "argocd.argoproj.io/tracking-id": id });
        let cases = [
            (kustomize.clone(), json!({}), "Kustomization/flux-system/apps"),
            (kustomize, tracked("x:apps/Deployment:qa/x"), "Kustomization/flux-system/apps"),
            (helm, release.clone(), "HelmRelease/flux-system/checkout"),
            (json!({}), release.clone(), "HelmRelease/shop/shop-checkout"),
            (json!({ "app.kubernetes.io/instance": "checkout" }), release, "HelmRelease/shop/shop-checkout"),
            (json!({}), tracked("checkout:apps/Deployment:qa/checkout"), "Application//checkout"),
            (json!({}), tracked("team-a_checkout:apps/Deployment:qa/checkout"), "Application/team-a/checkout"),
            (json!({ "argocd.argoproj.io/instance": "checkout" }), json!({}), "Application//checkout"),
            (json!({ "app.kubernetes.io/instance": "checkout" }), json!({}), "Application//checkout"),
        ];
        for (labels, annotations, reference) in cases {
            assert_eq!(found(&labels, &annotations).as_deref(), Some(reference));
        }
    }

    #[test]
    fn a_workload_without_labels_and_annotations_of_a_controller_has_no_applier() {
        for (labels, annotations) in [
            (json!({}), json!({})),
            (Value::Null, Value::Null),
            (json!({ "kustomize.toolkit.fluxcd.io/namespace": "flux-system" }), json!({})),
            (json!({ "kustomize.toolkit.fluxcd.io/name": "" }), json!({ "argocd.argoproj.io/tracking-id": ":" })),
            (json!({}), json!({ "argocd.argoproj.io/tracking-id": "x".repeat(100_000) })),
        ] {
            assert_eq!(found(&labels, &annotations), None);
        }
    }
}
