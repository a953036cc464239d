//! The selection of an image in a manifest, and the formats in which a file can name it.

use crate::domain::model::version::Pin;

/// Selects the value in a file that says which version of an image runs.
#[derive(Clone, Copy, Debug)]
pub struct ImageSelector<'a> {
    /// The image without tag and digest.
    pub image: &'a str,
    /// The path to the scalar: `image.tag`, `images[0].newTag`. Without it, the file is searched.
    pub path: Option<&'a str>,
    pub pin: Pin,
}

/// The format in which the version was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestFormat {
    /// An entry in `images:` of a kustomization.
    Kustomize,
    /// `repository:` with `tag:` or `digest:` beside it, as in the values of a chart.
    Helm,
    /// `image:` with the whole reference.
    Raw,
    /// The scalar at the configured path.
    Path,
}
