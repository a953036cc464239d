//! The simulator's store as a bare repository, to be checked by the `git` command line.

use std::path::Path;
use std::process::Command;

use super::super::objects::Repo;

pub(super) fn git(directory: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", directory);
    git
}

pub(super) fn is_git_installed() -> bool {
    let is_installed = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(is_installed || std::env::var_os("CI").is_none(), "install the `git` command line in CI");
    if !is_installed {
        eprintln!("SKIPPED: the `git` command line is not installed");
    }
    is_installed
}

/// Exports all references and all objects that they reach.
pub(super) fn export(repo: &Repo, to: &Path) {
    repo.export(to).unwrap();
}

pub(super) fn fsck(directory: &Path) {
    let output = git(directory).args(["fsck", "--strict", "--full"]).output().unwrap();
    let output_text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    // The HEAD of a new repository names no existing branch. No other message is allowed.
    let complaints: Vec<_> = output_text.lines().filter(|line| !line.starts_with("notice:")).collect();
    assert!(output.status.success() && complaints.is_empty(), "{output_text}");
}
