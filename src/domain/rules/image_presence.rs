//! The registry's answer on the image of a version.

/// What the registry says of the image that goes, where it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ImagePresence {
    #[default]
    Yes,
    /// By branch only a warning: CI builds it anew.
    Gone,
    Unknown {
        why: String,
    },
}
