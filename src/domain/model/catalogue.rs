//! The configured artefacts and the ladder of environments on which they move.

use super::artefact::{Artefact, Delivery};
use super::environment::{Environment, EnvironmentName, Policy};

/// The environments in order, lowest first. The first is fed by pushes, never by a promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder(Vec<Environment>);

impl Ladder {
    /// `rungs` has been validated: at least two, names, aliases and branches unique.
    pub fn new(environments: Vec<Environment>) -> Self {
        Self(environments)
    }

    pub fn environments(&self) -> &[Environment] {
        &self.0
    }

    /// Finds a rung by its name or an alias, in any case.
    pub fn find(&self, text: &str) -> Option<&Environment> {
        self.0.iter().find(|environment| {
            environment.name.as_str().eq_ignore_ascii_case(text)
                || environment.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(text))
        })
    }

    /// The policy of the environment with exactly this name. `None` where it is not configured any more.
    pub fn find_policy(&self, environment: &EnvironmentName) -> Option<&Policy> {
        self.0.iter().find(|rung| rung.name == *environment).map(|rung| &rung.policy)
    }

    /// The next rung downwards that has the artefact.
    pub fn find_next_below(&self, environment: &EnvironmentName, artefact: &Artefact) -> Option<&Environment> {
        let at = self.0.iter().position(|rung| rung.name == *environment)?;
        self.0[..at].iter().rev().find(|rung| artefact.places.contains_key(&rung.name))
    }

    /// The next rung upwards that has the artefact.
    pub fn find_next_above(&self, environment: &EnvironmentName, artefact: &Artefact) -> Option<&Environment> {
        let at = self.0.iter().position(|rung| rung.name == *environment)?;
        self.0[at + 1..].iter().find(|rung| artefact.places.contains_key(&rung.name))
    }
}

/// Everything that is configured to move, and the ladder it moves on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    pub ladder: Ladder,
    /// Sorted by name, names unique.
    pub artefacts: Vec<Artefact>,
}

impl Catalogue {
    /// Finds an artefact by its name, in any case.
    pub fn find_artefact(&self, text: &str) -> Option<&Artefact> {
        match self.artefacts.binary_search_by(|artefact| artefact.name.as_str().cmp(text)) {
            Ok(at) => self.artefacts.get(at),
            Err(_) => self.artefacts.iter().find(|artefact| artefact.name.as_str().eq_ignore_ascii_case(text)),
        }
    }

    /// What else moves in an environment when the artefact's branch does.
    pub fn iter_co_deployed<'a>(
        &'a self,
        artefact: &'a Artefact,
        environment: &'a EnvironmentName,
    ) -> impl Iterator<Item = &'a Artefact> {
        self.artefacts.iter().filter(move |other| {
            other.repository.is_same_as(&artefact.repository)
                && other.name != artefact.name
                && artefact.delivery == Delivery::Branch
                && other.delivery == Delivery::Branch
                && other.places.contains_key(environment)
        })
    }
}
