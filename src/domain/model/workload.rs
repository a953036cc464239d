//! The workloads that run an image, and their namespace.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::nearest::find_nearest;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadKind {
    Deployment,
    StatefulSet,
    DaemonSet,
}

impl WorkloadKind {
    pub const ALL: [Self; 3] = [Self::Deployment, Self::StatefulSet, Self::DaemonSet];

    /// The name before the slash, as in `deployment/checkout`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
            Self::DaemonSet => "daemonset",
        }
    }
}

/// A workload in a namespace, written `deployment/checkout`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    pub kind: WorkloadKind,
    pub name: Arc<str>,
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, name) = text.split_once('/').ok_or_else(|| {
            format!("`{text}` is not a workload: write its kind and its name, as in `deployment/{text}`")
        })?;
        let kinds = || WorkloadKind::ALL.into_iter();
        let kind =
            kinds().find(|candidate| candidate.as_str().eq_ignore_ascii_case(kind)).ok_or_else(
                || match find_nearest(kind, kinds().map(WorkloadKind::as_str)) {
                    Some(suggestion) => format!("`{kind}` is not a kind of workload: did you mean `{suggestion}`?"),
                    None => {
                        format!("`{kind}` is not a kind of workload: use `deployment`, `statefulset` or `daemonset`")
                    }
                },
            )?;
        // Names follow RFC 1123, which the API server requires.
        let is_legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
        let is_alphanumeric = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let has_valid_ends = is_alphanumeric(name.bytes().next()) && is_alphanumeric(name.bytes().last());
        if !has_valid_ends || name.len() > 253 || !name.bytes().all(is_legal) {
            return Err(format!(
                "`{name}` cannot be the name of a workload: Kubernetes takes lower-case letters, digits, `-` and `.`"
            ));
        }
        Ok(Self { kind, name: name.into() })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.as_str(), self.name)
    }
}

/// The location of workloads: a kubeconfig context (`None`: the default context, or in-cluster) and a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace {
    pub context: Option<Arc<str>>,
    pub name: Arc<str>,
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.context {
            Some(context) => write!(f, "{} in {context}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_kind_slash_name() {
        assert_eq!("Deployment/checkout".parse::<Workload>().unwrap().to_string(), "deployment/checkout");
        assert_eq!(
            "checkout".parse::<Workload>().unwrap_err(),
            "`checkout` is not a workload: write its kind and its name, as in `deployment/checkout`"
        );
        assert!("job/checkout".parse::<Workload>().is_err());
        assert_eq!(
            "deploymnet/checkout".parse::<Workload>().unwrap_err(),
            "`deploymnet` is not a kind of workload: did you mean `deployment`?"
        );
        for wrong in ["deployment/Checkout", "deployment/", "deployment/-checkout", "deployment/a/b"] {
            assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
        }
    }
}
