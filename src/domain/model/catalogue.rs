//! The configured artefacts and the ladder of environments on which they move.

use super::artefact::{Artefact, Delivery};
use super::environment::{Environment, EnvironmentName, Policy};

/// The environments in order, lowest first. Pushes feed the first environment; promotions never do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder(Vec<Environment>);

impl Ladder {
    /// The configuration has validated `environments`: at least two; names, aliases and branches are unique.
    pub fn new(environments: Vec<Environment>) -> Self {
        Self(environments)
    }

    pub fn environments(&self) -> &[Environment] {
        &self.0
    }

    /// Finds an environment by its name or an alias, ignoring case.
    pub fn find(&self, text: &str) -> Option<&Environment> {
        self.0.iter().find(|environment| {
            environment.name.as_str().eq_ignore_ascii_case(text)
                || environment.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(text))
        })
    }

    /// The policy of the environment with exactly this name; `None` if it is no longer configured.
    pub fn find_policy(&self, name: &EnvironmentName) -> Option<&Policy> {
        self.0.iter().find(|environment| environment.name == *name).map(|environment| &environment.policy)
    }

    /// The next environment below that has the artefact.
    pub fn find_next_below(&self, name: &EnvironmentName, artefact: &Artefact) -> Option<&Environment> {
        let index = self.0.iter().position(|other| other.name == *name)?;
        self.0[..index].iter().rev().find(|other| artefact.places.contains_key(&other.name))
    }

    /// The next environment above that has the artefact.
    pub fn find_next_above(&self, name: &EnvironmentName, artefact: &Artefact) -> Option<&Environment> {
        let index = self.0.iter().position(|other| other.name == *name)?;
        self.0[index + 1..].iter().find(|other| artefact.places.contains_key(&other.name))
    }
}

/// All configured artefacts and their ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    pub ladder: Ladder,
    /// Sorted by name; names are unique.
    pub artefacts: Vec<Artefact>,
}

impl Catalogue {
    /// Finds an artefact by its name, ignoring case.
    pub fn find_artefact(&self, text: &str) -> Option<&Artefact> {
        match self.artefacts.binary_search_by(|artefact| artefact.name.as_str().cmp(text)) {
            Ok(index) => self.artefacts.get(index),
            Err(_) => self.artefacts.iter().find(|artefact| artefact.name.as_str().eq_ignore_ascii_case(text)),
        }
    }

    /// The other artefacts that are deployed when the artefact's branch moves in an environment.
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
