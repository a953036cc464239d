//! The version of an image in a YAML file of a `GitOps` repository: reads it, and changes that one scalar while every
//! other byte stays. Knows no repository and no file name.

mod edit;
mod find;
mod path;
mod problem;
mod selector;
#[cfg(test)]
mod tests;
mod tree;

pub use path::check_path;
pub use problem::ManifestError;
pub use selector::{ImageSelector, ManifestFormat};

use crate::domain::model::version::Version;
use tree::ManifestTree;

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestVersion {
    /// Never knows a commit; knows nothing where the place is there and empty, as in `tag: ""`.
    pub version: Version,
    pub format: ManifestFormat,
}

/// Also reads what [`write_version`] refuses to change: what Flux writes, aliases, a digest where a tag is to be pinned.
pub fn read_version(text: &str, place: &ImageSelector<'_>) -> Result<ManifestVersion, ManifestError> {
    let tree = ManifestTree::parse_yaml(text)?;
    let spot = find::find_location(&tree, place)?;
    Ok(ManifestVersion { version: spot.read_version(&tree)?, format: spot.format })
}

/// The file with the version in it, and the very same text where it says so already. Writes the tag, or for
/// `pin: digest` the digest (and the tag with it, where both are in one scalar).
pub fn write_version(text: &str, place: &ImageSelector<'_>, version: &Version) -> Result<String, ManifestError> {
    let tree = ManifestTree::parse_yaml(text)?;
    let spot = find::find_location(&tree, place)?;
    let (scalar, said) = edit::compute_edit(&tree, &spot, place, version)?;
    edit::replace_scalar(text, &tree, scalar, &said)
}
