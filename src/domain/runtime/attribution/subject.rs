//! The subject of a report: an object of a controller, an artefact, images or a repository.

use std::borrow::Cow;
use std::fmt;

use crate::domain::model::artefact::Repository;
use crate::domain::model::environment::EnvironmentName;

/// The longest name in Kubernetes.
pub(super) const MAX_NAME_LENGTH: usize = 253;
/// The longest foreign text in a sentence.
pub(super) const MAX_QUOTED_CHARS: usize = 100;

/// An object with which a controller applies others: a `Kustomization`, a `HelmRelease`, an `Application`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerObject {
    pub kind: String,
    /// Empty if unknown.
    pub namespace: String,
    pub name: String,
}

impl ControllerObject {
    /// `None` if the name is empty, or a part is longer than Kubernetes allows.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Option<Self> {
        let is_valid = !name.is_empty() && [kind, namespace, name].iter().all(|part| part.len() <= MAX_NAME_LENGTH);
        is_valid.then(|| Self { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// The object as one text, which the view of the cluster stores: `Kustomization/flux-system/checkout`.
    pub fn to_reference(&self) -> String {
        [&*self.kind, &*self.namespace, &*self.name].join("/")
    }

    /// Whether the reference names this object. An empty namespace on either side matches any.
    pub fn has_reference(&self, reference: &str) -> bool {
        let mut parts = reference.splitn(3, '/');
        let (kind, namespace, name) = (parts.next(), parts.next().unwrap_or_default(), parts.next());
        kind == Some(&*self.kind)
            && name == Some(&*self.name)
            && (namespace == self.namespace || namespace.is_empty() || self.namespace.is_empty())
    }
}

impl fmt::Display for ControllerObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.kind, &self.namespace, &self.name].map(|part| truncate_text(part, MAX_QUOTED_CHARS));
        let [kind, namespace, name] = parts;
        match (&*kind, &*namespace) {
            ("", "") => write!(f, "{name}"),
            ("", _) => write!(f, "{namespace}/{name}"),
            (_, "") => write!(f, "{kind} {name}"),
            _ => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

/// The subject of a report, as its sender describes it. The environment is that of the secret which signed the report.
#[derive(Clone, Debug)]
pub struct AttributionSubject<'a> {
    /// The name of the sender in messages.
    pub sender: &'a str,
    /// How to name an artefact in reports of this sender: `in the Alert's eventMetadata`.
    pub naming_hint: &'a str,
    pub environment: &'a EnvironmentName,
    pub object: Option<ControllerObject>,
    pub artefact: Option<&'a str>,
    /// With or without tag and digest.
    pub images: &'a [String],
    pub repository: Option<&'a Repository>,
}

/// Cuts the text after `max_chars` characters.
pub(super) fn truncate_text(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]).into(),
        None => text.into(),
    }
}
