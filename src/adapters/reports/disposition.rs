//! The result of each webhook, counted by sender.

use super::ReportSender;
use crate::telemetry::metrics::LabelledCounter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportDisposition {
    /// It was attributed to artefacts.
    Mapped,
    /// It belongs to no configured artefact.
    Unmapped,
    /// A report that says nothing about any artefact.
    Noise,
    /// A GitHub event about a pull request, a review, a check or a build.
    Notice,
    /// Of a kind that Gantry does not use.
    Ignored,
    /// The same event was received before.
    Duplicate,
    /// The secret was right, but the content could not be parsed.
    Unreadable,
    /// Without the right secret.
    Refused,
    /// Too long, too slow, or cut off.
    Broken,
    /// The store did not accept it: the sender is asked to send it again.
    NotStored,
}

impl ReportDisposition {
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
            Self::NotStored => "not_kept",
        }
    }
}

impl ReportSender {
    pub const ALL: [Self; 5] = [Self::Flux, Self::ArgoCd, Self::GitHub, Self::Deployments, Self::CdEvents];

    /// The name in metrics and in the webhook's path.
    pub fn as_str(self) -> &'static str {
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
pub struct DispositionCounts(LabelledCounter<2>);

impl Default for DispositionCounts {
    fn default() -> Self {
        let counts = Self(LabelledCounter::with_labels(["source", "result"]));
        for sender in ReportSender::ALL {
            for disposition in [
                ReportDisposition::Mapped,
                ReportDisposition::Unmapped,
                ReportDisposition::Unreadable,
                ReportDisposition::Refused,
            ] {
                counts.0.ensure_counter([sender.as_str(), disposition.as_str()]);
            }
        }
        counts
    }
}

impl DispositionCounts {
    pub fn record_disposition(&self, sender: ReportSender, disposition: ReportDisposition) {
        self.0.increment([sender.as_str(), disposition.as_str()]);
    }

    pub fn counts(&self) -> &LabelledCounter<2> {
        &self.0
    }
}
