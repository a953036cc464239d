//! Scopes that an admin took from the app again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::Slack;
use super::manifest::Manifest;

/// Clones share them.
#[derive(Clone, Default)]
pub(super) struct RevokedScopes(Arc<Mutex<BTreeSet<String>>>);

impl Slack {
    pub fn revoke_scope(&self, scope: &str) {
        self.revoked_scopes.0.lock().unwrap_or_else(PoisonError::into_inner).insert(scope.to_owned());
    }

    /// What is left of what the manifest grants; `None` where the app may do everything.
    pub(super) fn manifest(&self) -> Option<Manifest> {
        let mut manifest = self.setup.manifest.clone()?;
        let revoked = self.revoked_scopes.0.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.scopes.retain(|scope| !revoked.contains(scope));
        Some(manifest)
    }
}
