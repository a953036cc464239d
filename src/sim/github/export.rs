//! Writes a repository to disk as a bare repository, so that `git` itself can read it.

use std::io::Write;
use std::path::Path;

use super::objects::Repo;
use super::{GitHub, WriteError};

impl GitHub {
    /// Exports all references and all objects that they reach.
    pub fn export(&self, repository: &str, to: &Path) -> Result<(), WriteError> {
        let missing = || WriteError::Refused(format!("There is no repository `{repository}`."));
        self.read(repository, |repo| repo.export(to)).ok_or_else(missing)?
    }
}

impl Repo {
    pub(super) fn export(&self, to: &Path) -> Result<(), WriteError> {
        let write_error = |error: std::io::Error| WriteError::Refused(format!("It cannot be written there: {error}"));
        let bare = git2::Repository::init_bare(to)?;
        let mut pack = self.git.packbuilder()?;
        let mut heads = Vec::new();
        for (_, id) in self.refs.starting_with("refs/") {
            heads.extend(self.peel(id));
            if self.git.find_tag(id).is_ok() {
                pack.insert_object(id, None)?;
            }
        }
        for commit in self.history(&heads, &[])? {
            pack.insert_commit(commit)?;
        }
        let mut bytes = git2::Buf::new();
        pack.write_buf(&mut bytes)?;
        let odb = bare.odb()?;
        let mut writer = odb.packwriter()?;
        writer.write_all(&bytes).map_err(write_error)?;
        writer.commit()?;
        let packed: Vec<_> = self.refs.starting_with("refs/").map(|(name, id)| format!("{id} {name}\n")).collect();
        std::fs::write(to.join("packed-refs"), packed.concat()).map_err(write_error)
    }
}
