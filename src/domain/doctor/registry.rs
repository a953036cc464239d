//! Can the images be read where they are kept, and is what runs still there?

use super::{Check, Learned, Service, listed};

const REGISTRY: Service = Service::Registry;

/// One image, and what its registry says of what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Without tag and digest.
    pub image: String,
    /// The references that run and are not there; nothing runs: whether it can be read at all.
    pub missing: Learned<Vec<String>>,
}

pub fn registry(all: &[Kept]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut well = Vec::new();
    for Kept { image, missing } in all {
        match missing {
            Ok(missing) if missing.is_empty() => well.push(image),
            Ok(missing) => checks.push(Check::warning(
                REGISTRY,
                format!("{image} runs as {}, which the registry does not have", listed(missing)),
                "Keep what runs: a pod that is started anew could not be, and nobody could roll back to it.",
            )),
            Err(trouble) => checks.push(Check::trouble(
                REGISTRY,
                format!("{image} cannot be read"),
                trouble,
                "Give `registry.docker_config` a login that may read it.",
            )),
        }
    }
    if !well.is_empty() {
        checks.push(Check::good(REGISTRY, format!("What runs is there: {}", listed(&well))));
    }
    checks
}
