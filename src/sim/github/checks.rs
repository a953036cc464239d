//! Check runs and commit statuses: the two systems by which GitHub shows the results of CI for a commit.

use std::collections::BTreeMap;

use git2::Oid;
use jiff::Timestamp;

#[derive(Clone, Debug)]
pub(super) struct CheckRun {
    pub(super) number: usize,
    pub(super) name: String,
    /// `queued`, `in_progress` or `completed`.
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) started: Timestamp,
    pub(super) completed: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct Status {
    pub(super) number: usize,
    pub(super) state: String,
    pub(super) context: String,
    pub(super) description: Option<String>,
    pub(super) target_url: Option<String>,
    pub(super) at: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Checks {
    runs: BTreeMap<Oid, Vec<CheckRun>>,
    statuses: BTreeMap<Oid, Vec<Status>>,
    last_number: usize,
}

impl Checks {
    pub(super) fn set(&mut self, commit: Oid, name: &str, conclusion: &str, now: Timestamp) {
        let open = matches!(conclusion, "queued" | "in_progress");
        let status = if open { conclusion } else { "completed" }.to_owned();
        let (conclusion, completed) = if open { (None, None) } else { (Some(conclusion.to_owned()), Some(now)) };
        let runs = self.runs.entry(commit).or_default();
        if let Some(run) = runs.iter_mut().find(|run| run.name == name) {
            (run.status, run.conclusion, run.completed) = (status, conclusion, completed);
        } else {
            self.last_number += 1;
            let (number, name) = (self.last_number, name.to_owned());
            runs.push(CheckRun { number, name, status, conclusion, started: now, completed });
        }
    }

    pub(super) fn runs(&self, commit: Oid) -> &[CheckRun] {
        self.runs.get(&commit).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_red(&self, commit: Oid) -> bool {
        self.runs(commit).iter().any(|run| run.conclusion.as_deref() == Some("failure"))
    }

    /// Makes all checks of the commit fail until they are set again. A commit without checks gets the failed check
    /// `build`. Returns the names of the failed checks.
    pub(super) fn turn_red(&mut self, commit: Oid, now: Timestamp) -> Vec<String> {
        let mut names: Vec<String> = self.runs(commit).iter().map(|run| run.name.clone()).collect();
        if names.is_empty() {
            names.push("build".to_owned());
        }
        for name in &names {
            self.set(commit, name, "failure", now);
        }
        names
    }

    pub(super) fn add_status(&mut self, commit: Oid, mut status: Status) -> Status {
        self.last_number += 1;
        status.number = self.last_number;
        self.statuses.entry(commit).or_default().push(status.clone());
        status
    }

    /// All statuses of a commit, newest first.
    pub(super) fn statuses(&self, commit: Oid) -> Vec<&Status> {
        self.statuses.get(&commit).into_iter().flatten().rev().collect()
    }

    /// The newest status of each context, and the combined state.
    pub(super) fn combined(&self, commit: Oid) -> (&'static str, Vec<&Status>) {
        let mut latest: Vec<&Status> = Vec::new();
        for status in self.statuses(commit) {
            if !latest.iter().any(|newer| newer.context == status.context) {
                latest.push(status);
            }
        }
        let any = |state: &str| latest.iter().any(|status| status.state == state);
        let state = match () {
            () if any("failure") || any("error") => "failure",
            () if latest.is_empty() || any("pending") => "pending",
            () => "success",
        };
        (state, latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_combined_state_is_that_of_the_newest_status_of_each_context() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[], "pending"),
            (&[("ci", "success")], "success"),
            (&[("ci", "success"), ("lint", "pending")], "pending"),
            (&[("ci", "error"), ("lint", "pending")], "failure"),
            (&[("ci", "failure"), ("ci", "success")], "success"),
            (&[("ci", "success"), ("ci", "failure")], "failure"),
        ];
        for (given, state) in cases {
            let mut checks = Checks::default();
            for (context, state) in *given {
                let (state, context, at) = ((*state).to_owned(), (*context).to_owned(), Timestamp::UNIX_EPOCH);
                let status = Status { number: 0, state, context, description: None, target_url: None, at };
                checks.add_status(Oid::ZERO_SHA1, status);
            }
            assert_eq!(checks.combined(Oid::ZERO_SHA1).0, *state, "{given:?}");
        }
    }

    #[test]
    fn a_check_that_is_running_has_no_conclusion_until_it_ends() {
        let mut checks = Checks::default();
        checks.set(Oid::ZERO_SHA1, "build", "in_progress", Timestamp::UNIX_EPOCH);
        assert_eq!(checks.runs(Oid::ZERO_SHA1)[0].conclusion, None);
        checks.set(Oid::ZERO_SHA1, "build", "success", Timestamp::UNIX_EPOCH);
        let runs = checks.runs(Oid::ZERO_SHA1);
        assert_eq!((runs.len(), runs[0].conclusion.as_deref()), (1, Some("success")));
    }
}
