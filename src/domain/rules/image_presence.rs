//! Whether the registry has the image of a version.

/// The registry's answer; `Yes` if it was not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ImagePresence {
    #[default]
    Present,
    /// Only a warning for delivery by branch, where CI builds the image again.
    Missing,
    Unknown {
        reason: String,
    },
}
