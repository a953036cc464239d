//! The version of an image in a YAML file of a `GitOps` repository: reads it, and changes this one scalar and no other
//! byte. Knows no repository and no file name.

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

/// The version in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestVersion {
    /// The commit is never known. All fields are `None` if the value is empty, as in `tag: ""`.
    pub version: Version,
    pub format: ManifestFormat,
}

/// Reads the version. It also reads values that [`write_version`] refuses to change: lines that Flux writes, aliases, a
/// digest instead of a pinned tag.
pub fn read_version(text: &str, selector: &ImageSelector<'_>) -> Result<ManifestVersion, ManifestError> {
    let tree = ManifestTree::parse_yaml(text)?;
    let location = find::find_location(&tree, selector)?;
    Ok(ManifestVersion { version: location.read_version(&tree)?, format: location.format })
}

/// Returns the file with the version in it, or the same text if it is there already. Writes the tag, or for `pin:
/// digest` the digest (and the tag, if both are in one scalar).
pub fn write_version(text: &str, selector: &ImageSelector<'_>, version: &Version) -> Result<String, ManifestError> {
    let tree = ManifestTree::parse_yaml(text)?;
    let location = find::find_location(&tree, selector)?;
    let (scalar, value) = edit::compute_edit(&tree, &location, selector, version)?;
    edit::replace_scalar(text, &tree, scalar, &value)
}
