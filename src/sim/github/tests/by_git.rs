//! The simulator's store as a bare repository, to be checked by the `git` command line.

use std::path::Path;
use std::process::Command;

use super::super::objects::Repo;

pub(super) fn git(at: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(at).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", at);
    git
}

pub(super) fn git_is_there() -> bool {
    let there = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(there || std::env::var_os("CI").is_none(), "the `git` command line must be installed where CI runs");
    if !there {
        eprintln!("SKIPPED: the `git` command line is not installed, so nothing was compared with it");
    }
    there
}

/// Exports all references and all objects that they reach.
pub(super) fn export(repo: &Repo, to: &Path) {
    repo.export(to).unwrap();
}

pub(super) fn fsck(at: &Path) {
    let output = git(at).args(["fsck", "--strict", "--full"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    // The HEAD of a new repository names no existing branch. No other message is allowed.
    let complaints: Vec<_> = said.lines().filter(|line| !line.starts_with("notice:")).collect();
    assert!(output.status.success() && complaints.is_empty(), "{said}");
}
