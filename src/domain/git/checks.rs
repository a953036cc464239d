//! The results of CI for a commit.

/// What CI says of a commit, by the names of what it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiChecks {
    pub green: usize,
    pub red: Vec<String>,
    pub running: Vec<String>,
}
