//! The image whose version is wanted, and the forms in which a file can name it.

use crate::domain::model::version::Pin;

/// Where a file says which version of an image is to run.
#[derive(Clone, Copy, Debug)]
pub struct ImageSelector<'a> {
    /// Without tag and digest.
    pub image: &'a str,
    /// To the scalar: `image.tag`, `images[0].newTag`. When absent the place is looked for.
    pub path: Option<&'a str>,
    pub pin: Pin,
}

/// How the place was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestFormat {
    /// An entry in `images:` of a kustomization.
    Kustomize,
    /// `repository:` with `tag:` or `digest:` beside it, as in the values of a chart.
    Helm,
    /// `image:` with the whole reference.
    Raw,
    /// By the configured path.
    Path,
}
