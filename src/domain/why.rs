//! What stands between an artefact and an environment: the first of it, which is a refusal, or all that can be known.
//! Both go one way through the rules, so that the one can never disagree with the other.

use super::policy::Refusal;
use super::version::Version;

/// Gathers what stands in the way, in the order in which the rules look.
#[derive(Debug)]
pub struct Blockers {
    all: bool,
    found: Vec<Refusal>,
    version: Option<Version>,
}

impl Blockers {
    /// The first is enough: nothing behind it is looked at.
    pub fn first() -> Self {
        Self { all: false, found: Vec::new(), version: None }
    }

    /// All that can be known. Where a blocker leaves nothing more to look at, it comes back as an error here as well.
    pub fn all() -> Self {
        Self { all: true, ..Self::first() }
    }

    /// Something stands in the way. It comes back where it is enough.
    pub fn add(&mut self, refusal: Refusal) -> Result<(), Refusal> {
        if !self.all {
            return Err(refusal);
        }
        self.found.push(refusal);
        Ok(())
    }

    /// There is nothing more to look at: the last comes back, if there was any. Only with `Ok` is the way free.
    pub fn end(&mut self) -> Result<(), Refusal> {
        self.found.pop().map_or(Ok(()), Err)
    }

    /// What would go is known.
    pub fn note(&mut self, version: &Version) {
        self.version = Some(version.clone());
    }

    /// What would go, as far as that is known, and what was gathered.
    pub fn into_parts(self) -> (Option<Version>, Vec<Refusal>) {
        (self.version, self.found)
    }
}
