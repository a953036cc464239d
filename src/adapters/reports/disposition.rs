//! What becomes of each webhook, counted by who sent it.

use super::Sender;
use crate::telemetry::metrics::Counts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its artefacts were found.
    Mapped,
    /// It is about nobody whom we know.
    Unmapped,
    /// A report that says nothing about any artefact.
    Noise,
    /// A word of GitHub's that wakes a look: a review, a check, a build.
    Notice,
    /// Of a kind that does not concern us.
    Ignored,
    /// It was told before.
    Duplicate,
    /// Let in, and not understood.
    Unreadable,
    /// Without the right secret.
    Refused,
    /// Too long, too slow, or cut off.
    Broken,
    /// The store did not take it: the sender is told to send it again.
    NotKept,
}

impl Fate {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mapped => "mapped",
            Self::Unmapped => "unmapped",
            Self::Noise => "noise",
            Self::Notice => "notice",
            Self::Ignored => "ignored",
            Self::Duplicate => "duplicate",
            Self::Unreadable => "unreadable",
            Self::Refused => "refused",
            Self::Broken => "broken",
            Self::NotKept => "not_kept",
        }
    }
}

impl Sender {
    pub const ALL: [Self; 5] = [Self::Flux, Self::ArgoCd, Self::GitHub, Self::Deployments, Self::CdEvents];

    /// As machines call it, and as it stands in the address.
    pub fn word(self) -> &'static str {
        match self {
            Self::Flux => "flux",
            Self::ArgoCd => "argocd",
            Self::GitHub => "github",
            Self::Deployments => "deployments",
            Self::CdEvents => "cdevents",
        }
    }
}

/// Clones share the counts.
#[derive(Clone, Debug)]
pub struct Fates(Counts<2>);

impl Default for Fates {
    fn default() -> Self {
        let fates = Self(Counts::by(["source", "result"]));
        for sender in Sender::ALL {
            for fate in [Fate::Mapped, Fate::Unmapped, Fate::Unreadable, Fate::Refused] {
                fates.0.of([sender.word(), fate.as_str()]);
            }
        }
        fates
    }
}

impl Fates {
    pub fn met(&self, sender: Sender, fate: Fate) {
        self.0.up([sender.word(), fate.as_str()]);
    }

    pub fn counts(&self) -> &Counts<2> {
        &self.0
    }
}
