//! The button that promotes exactly the version that its message shows, even if a newer version runs by then.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::blocks::{Button, button};
use super::mrkdwn::truncate_middle;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::version::{Sha, Version};

pub const PROMOTE: &str = "shown_promote";

/// A promote button that names the artefact, for messages with several buttons.
pub fn build_promote_artefact_button(
    artefact: &ArtefactName,
    environment: &EnvironmentName,
    version: &Version,
) -> Button {
    let label = format!("Promote {}", truncate_middle(artefact.as_str(), 60));
    Button::with_label(&label, PROMOTE, encode_value(artefact, environment, version))
}

/// A promote button that names the artefact and the environment.
pub fn build_promote_to_button(artefact: &ArtefactName, environment: &EnvironmentName, version: &Version) -> Button {
    let label =
        format!("Promote {} to {}", truncate_middle(artefact.as_str(), 30), truncate_middle(environment.as_str(), 30));
    Button::with_label(&label, PROMOTE, encode_value(artefact, environment, version))
}

/// `version` is pinned to its commit or, for delivery by manifest, to its image.
pub fn build_promote_button(artefact: &ArtefactName, environment: &EnvironmentName, version: &Version) -> Button {
    button("Promote", PROMOTE, encode_value(artefact, environment, version)).primary()
}

/// The version in the value of the button. The field names must not change, because people click buttons of old
/// messages.
#[derive(Serialize, Deserialize)]
struct ShownVersion {
    tag: Option<Arc<str>>,
    digest: Option<Arc<str>>,
    commit: Option<Sha>,
}

fn encode_value(artefact: &ArtefactName, environment: &EnvironmentName, version: &Version) -> String {
    let Version { tag, digest, commit } = version.clone();
    // Names and versions can always be serialised.
    serde_json::to_string(&(artefact, environment, ShownVersion { tag, digest, commit })).unwrap_or_default()
}

/// Parses the value of the button. `None` for a forged value.
pub fn decode_value(value: &str) -> Option<(ArtefactName, EnvironmentName, Version)> {
    let (artefact, environment, ShownVersion { tag, digest, commit }) = serde_json::from_str(value).ok()?;
    Some((artefact, environment, Version { tag, digest, commit }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample;

    #[test]
    fn a_button_value_round_trips_and_a_forged_one_is_refused() {
        let plan = sample::plan();
        let button = build_promote_button(&plan.artefact, &plan.environment, &plan.version);
        let json = serde_json::to_value(button).unwrap();
        let value = json["value"].as_str().unwrap();
        assert_eq!(decode_value(value), Some((plan.artefact, plan.environment, plan.version)));
        for forged in ["", "x", "[]", "[\"a\"]", "[\"a\", \"b\", {\"commit\": \"not one\"}]"] {
            assert_eq!(decode_value(forged), None, "{forged}");
        }
    }
}
