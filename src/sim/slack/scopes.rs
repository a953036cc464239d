//! Scopes that an admin revoked.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::Slack;
use super::manifest::Manifest;

/// Clones share the scopes.
#[derive(Clone, Default)]
pub(super) struct RevokedScopes(Arc<Mutex<BTreeSet<String>>>);

impl Slack {
    pub fn revoke_scope(&self, scope: &str) {
        self.revoked_scopes.0.lock().unwrap_or_else(PoisonError::into_inner).insert(scope.to_owned());
    }

    /// The manifest without revoked scopes; `None` if the app has no manifest, and so all scopes.
    pub(super) fn manifest(&self) -> Option<Manifest> {
        let mut manifest = self.setup.manifest.clone()?;
        let revoked = self.revoked_scopes.0.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.scopes.retain(|scope| !revoked.contains(scope));
        Some(manifest)
    }
}
