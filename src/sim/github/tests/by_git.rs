//! The simulator's store as a bare repository, for the `git` command line to judge.

use std::io::Write;
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

/// Everything that a reference leads to, and the references.
pub(super) fn export(repo: &Repo, to: &Path) {
    let bare = git2::Repository::init_bare(to).unwrap();
    let mut pack = repo.git.packbuilder().unwrap();
    let mut heads = Vec::new();
    for (_, id) in repo.refs.starting_with("refs/") {
        heads.extend(repo.peel(id));
        if repo.git.find_tag(id).is_ok() {
            pack.insert_object(id, None).unwrap();
        }
    }
    for commit in repo.history(&heads, &[]).unwrap() {
        pack.insert_commit(commit).unwrap();
    }
    let mut bytes = git2::Buf::new();
    pack.write_buf(&mut bytes).unwrap();
    let odb = bare.odb().unwrap();
    let mut writer = odb.packwriter().unwrap();
    writer.write_all(&bytes).unwrap();
    writer.commit().unwrap();
    let packed: Vec<_> = repo.refs.starting_with("refs/").map(|(name, id)| format!("{id} {name}\n")).collect();
    std::fs::write(to.join("packed-refs"), packed.concat()).unwrap();
}

pub(super) fn fsck(at: &Path) {
    let output = git(at).args(["fsck", "--strict", "--full"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    // A fresh repository's own HEAD names no branch of ours; that is all that may be said.
    let complaints: Vec<_> = said.lines().filter(|line| !line.starts_with("notice:")).collect();
    assert!(output.status.success() && complaints.is_empty(), "{said}");
}
