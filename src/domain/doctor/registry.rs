//! Can the images be read where they are kept, and is what runs still there?

use super::{Check, Learned, Service, listed};

const REGISTRY: Service = Service::Registry;

/// One image, and what its registry says of what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Without tag and digest.
    pub image: String,
    pub held: Learned<Held>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Something runs; these references of it are not there.
    Runs { missing: Vec<String> },
    /// Nothing is known to run that could be looked for; whether there is any tag.
    Unused { any: bool },
}

pub fn registry(all: &[Kept]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut well = Vec::new();
    let mut readable = Vec::new();
    for Kept { image, held } in all {
        match held {
            Ok(Held::Runs { missing }) if missing.is_empty() => well.push(image),
            Ok(Held::Unused { any: true }) => readable.push(image),
            Ok(Held::Unused { any: false }) => checks.push(Check::bad(
                REGISTRY,
                format!("The registry does not have {image}"),
                "Correct `image`, or push the first one.",
            )),
            Ok(Held::Runs { missing }) => checks.push(Check::warning(
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
    if !readable.is_empty() {
        checks.push(Check::good(
            REGISTRY,
            format!("Can be read, with nothing that runs to look for: {}", listed(&readable)),
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
        let kept = |image: &str, held| Kept { image: image.to_owned(), held: Ok(held) };
        let checks = registry(&[
            kept("here", Held::Runs { missing: Vec::new() }),
            kept("unused", Held::Unused { any: true }),
            kept("mistyped", Held::Unused { any: false }),
            kept("gone", Held::Runs { missing: vec!["1.2.3".to_owned()] }),
        ]);
        let said: Vec<_> = checks.iter().map(|check| (check.health, check.what.as_str())).collect();
        let expected = [
            (Health::Bad, "The registry does not have mistyped"),
            (Health::Warning, "gone runs as 1.2.3, which the registry does not have"),
            (Health::Good, "What runs is there: here"),
            (Health::Good, "Can be read, with nothing that runs to look for: unused"),
        ];
        assert_eq!(said, expected);
    }
}
