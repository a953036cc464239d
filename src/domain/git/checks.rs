//! The checks of a commit.

/// The checks of CI for one commit: the number of green ones, and the names of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiChecks {
    pub green: usize,
    pub red: Vec<String>,
    pub running: Vec<String>,
}
