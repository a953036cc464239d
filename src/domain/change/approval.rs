//! Approvals of a change, and the other conditions for which it waits before its merge.

use jiff::{SignedDuration, Timestamp};

use crate::domain::change::RetryState;
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::rules::merge_condition::MergeCondition;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub by: PersonId,
    pub at: Timestamp,
    pub platform: ApprovalPlatform,
}

/// The platform on which a person approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalPlatform {
    Slack,
    /// By a review of the pull request.
    Github,
}

/// The state of a change that waits for approvals and other conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalState {
    /// The number of approvals that the change needs; 0 if it waits only for GitHub's conditions.
    pub required: u32,
    /// The members who may approve.
    pub approvers: Vec<MemberLabel>,
    /// Approvals for the commit that is shown now: one for each person, in the order in which they came.
    pub approvals: Vec<Approval>,
    pub since: Timestamp,
    pub deadline: Timestamp,
    /// The approvers were reminded.
    pub reminded: bool,
    /// The open conditions besides approvals.
    pub waits_for: Vec<MergeCondition>,
    /// Reviews on GitHub that do not count, and why.
    pub ignored: Vec<IgnoredReview>,
    /// Why earlier approvals no longer count.
    pub voided: Option<VoidedApprovals>,
    pub retry: Option<RetryState>,
}

/// A review that does not count as an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredReview {
    pub login: String,
    pub reason: IgnoredReviewReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoredReviewReason {
    /// The reviewer's account in Slack is unknown.
    Unmapped,
    /// The requester's account on GitHub is unknown: the reviewer could be the requester.
    RequesterUnmapped,
    Requester,
    /// The reviewer may not approve.
    NotAsked,
    /// The reviewer may not write to the repository, or no longer may.
    NoAccess,
}

/// Approvals that no longer count, because another commit would be merged now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoidedApprovals {
    pub at: Timestamp,
    pub count: u32,
    pub reason: VoidReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoidReason {
    /// The environment's branch moved, so the result was made again on top of it.
    BranchMoved,
    /// Another commit was pushed to the result branch. It is not merged, and its SHA is shown.
    Pushed { commit: String },
}

/// The outcome of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalOutcome {
    Counted,
    /// The same person approved before.
    Duplicate,
    /// The requester may not approve the change.
    OwnChange,
}

impl ApprovalState {
    pub fn new(required: u32, asked: Vec<MemberLabel>, now: Timestamp, timeout: SignedDuration) -> Self {
        Self {
            required,
            approvers: asked,
            approvals: Vec::new(),
            since: now,
            deadline: now + timeout,
            reminded: false,
            waits_for: Vec::new(),
            ignored: Vec::new(),
            voided: None,
            retry: None,
        }
    }

    /// Starts the wait again at `now`, without approvals and with the same timeout.
    #[must_use]
    pub fn restart_at(self, now: Timestamp) -> Self {
        let timeout = self.deadline.duration_since(self.since);
        Self::new(self.required, self.approvers, now, timeout)
    }

    /// The time of the next step if nothing happens: first the reminder at half time, then the deadline.
    pub fn next_reminder_at(&self) -> Timestamp {
        if self.reminded || self.is_approved() { self.deadline } else { self.halfway_at() }
    }

    pub fn halfway_at(&self) -> Timestamp {
        self.since + self.deadline.duration_since(self.since) / 2
    }

    pub fn is_approved(&self) -> bool {
        self.approvals.len() >= self.required as usize
    }

    pub fn count_missing(&self) -> u32 {
        self.required.saturating_sub(u32::try_from(self.approvals.len()).unwrap_or(u32::MAX))
    }

    /// Adds an approval of `by`. The caller has checked that `by` may approve.
    pub fn record_approval(
        &mut self,
        by: &PersonId,
        platform: ApprovalPlatform,
        requester: &PersonId,
        at: Timestamp,
    ) -> ApprovalOutcome {
        if by == requester {
            return ApprovalOutcome::OwnChange;
        }
        if self.approvals.iter().any(|approval| approval.by == *by) {
            return ApprovalOutcome::Duplicate;
        }
        self.approvals.push(Approval { by: by.clone(), at, platform });
        ApprovalOutcome::Counted
    }

    /// Drops all approvals, because another commit would be merged now.
    #[must_use]
    pub fn void_approvals(mut self, why: VoidReason, at: Timestamp) -> Self {
        let count = u32::try_from(self.approvals.len()).unwrap_or(u32::MAX);
        self.approvals.clear();
        self.voided = Some(VoidedApprovals { at, count, reason: why });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn awaiting(required: u32) -> ApprovalState {
        ApprovalState::new(required, vec![MemberLabel::Everyone], at(0), SignedDuration::from_secs(100))
    }

    #[test]
    fn each_person_counts_once_and_never_the_requester() {
        let (alice, bob, carol) = (PersonId::new("U0ALICE"), PersonId::new("U0BOB"), PersonId::new("U0CAROL"));
        let mut state = awaiting(2);
        assert_eq!(state.record_approval(&alice, ApprovalPlatform::Slack, &alice, at(1)), ApprovalOutcome::OwnChange);
        assert_eq!(state.record_approval(&bob, ApprovalPlatform::Slack, &alice, at(2)), ApprovalOutcome::Counted);
        assert_eq!(state.record_approval(&bob, ApprovalPlatform::Github, &alice, at(3)), ApprovalOutcome::Duplicate);
        assert_eq!((state.count_missing(), state.is_approved()), (1, false));
        assert_eq!(state.record_approval(&carol, ApprovalPlatform::Github, &alice, at(4)), ApprovalOutcome::Counted);
        assert!(state.is_approved());
        let state = state.void_approvals(VoidReason::BranchMoved, at(5));
        assert_eq!((state.count_missing(), state.voided.map(|voided| voided.count)), (2, Some(2)));
    }

    #[test]
    fn the_reminder_is_at_half_time_and_the_next_one_at_the_deadline() {
        let mut state = awaiting(1);
        assert_eq!(state.next_reminder_at(), at(50));
        state.reminded = true;
        assert_eq!(state.next_reminder_at(), at(100));
        assert!(awaiting(0).is_approved());
        assert_eq!(awaiting(0).next_reminder_at(), at(100), "without required approvals there is no reminder");
        let restarted = state.restart_at(at(80));
        assert_eq!((restarted.deadline, restarted.reminded), (at(180), false));
    }
}
