//! Can the images be read where they are kept, and is what runs still there?

use super::run::{ProbeResult, format_list};
use crate::domain::doctor::{HealthCheck, Service};

const REGISTRY: Service = Service::Registry;

/// One image, and what its registry says of what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryImage {
    /// Without tag and digest.
    pub image: String,
    pub usage: ProbeResult<ImageUsage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageUsage {
    /// Something runs; these references of it are not there.
    InUse { missing: Vec<String> },
    /// Nothing is known to run that could be looked for; whether there is any tag.
    Unused { has_tags: bool },
}

pub fn check_registry(all: &[RegistryImage]) -> Vec<HealthCheck> {
    let mut checks = Vec::new();
    let mut well = Vec::new();
    let mut readable = Vec::new();
    for RegistryImage { image, usage: held } in all {
        match held {
            Ok(ImageUsage::InUse { missing }) if missing.is_empty() => well.push(image),
            Ok(ImageUsage::Unused { has_tags: true }) => readable.push(image),
            Ok(ImageUsage::Unused { has_tags: false }) => checks.push(HealthCheck::new_bad(
                REGISTRY,
                format!("The registry does not have {image}"),
                "Correct `image`, or push the first one.",
            )),
            Ok(ImageUsage::InUse { missing }) => checks.push(HealthCheck::new_warning(
                REGISTRY,
                format!("{image} runs as {}, which the registry does not have", format_list(missing)),
                "Keep what runs: a pod that is started anew could not be, and nobody could roll back to it.",
            )),
            Err(trouble) => checks.push(HealthCheck::from_probe_error(
                REGISTRY,
                format!("{image} cannot be read"),
                trouble,
                "Give `registry.docker_config` a login that may read it.",
            )),
        }
    }
    if !well.is_empty() {
        checks.push(HealthCheck::new_good(REGISTRY, format!("What runs is there: {}", format_list(&well))));
    }
    if !readable.is_empty() {
        checks.push(HealthCheck::new_good(
            REGISTRY,
            format!("Can be read, with nothing that runs to look for: {}", format_list(&readable)),
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::Health;

    #[test]
    fn that_what_runs_is_there_is_said_only_where_it_was_looked_for() {
        let kept = |image: &str, held| RegistryImage { image: image.to_owned(), usage: Ok(held) };
        let checks = check_registry(&[
            kept("here", ImageUsage::InUse { missing: Vec::new() }),
            kept("unused", ImageUsage::Unused { has_tags: true }),
            kept("mistyped", ImageUsage::Unused { has_tags: false }),
            kept("gone", ImageUsage::InUse { missing: vec!["1.2.3".to_owned()] }),
        ]);
        let said: Vec<_> = checks.iter().map(|check| (check.health, check.summary.as_str())).collect();
        let expected = [
            (Health::Bad, "The registry does not have mistyped"),
            (Health::Warning, "gone runs as 1.2.3, which the registry does not have"),
            (Health::Good, "What runs is there: here"),
            (Health::Good, "Can be read, with nothing that runs to look for: unused"),
        ];
        assert_eq!(said, expected);
    }
}
