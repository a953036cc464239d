//! A person's yes, for one change and one commit; and everything else that a change waits for before it is merged.

use jiff::{SignedDuration, Timestamp};

use crate::domain::change::RetryState;
use crate::domain::model::actor::{MemberLabel, PersonId};
use crate::domain::rules::merge_condition::MergeCondition;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub by: PersonId,
    pub at: Timestamp,
    pub way: ApprovalPlatform,
}

/// How somebody said yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalPlatform {
    Slack,
    /// By a review of the pull request.
    Github,
}

/// A change that waits for people, and for whatever else must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalState {
    /// How many must say yes; none where only GitHub's conditions are waited for.
    pub required: u32,
    /// Who may say yes.
    pub asked: Vec<MemberLabel>,
    /// For what is shown now, one a person, in the order in which they were given.
    pub approvals: Vec<Approval>,
    pub since: Timestamp,
    pub deadline: Timestamp,
    /// Those who can approve were reminded.
    pub nudged: bool,
    /// What stands in the way besides approvals.
    pub waits_for: Vec<MergeCondition>,
    /// Reviews on GitHub that do not count, and why.
    pub ignored: Vec<IgnoredReview>,
    /// Why earlier approvals do not count any more.
    pub voided: Option<VoidedApprovals>,
    pub trouble: Option<RetryState>,
}

/// A review that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredReview {
    pub login: String,
    pub why: IgnoredReviewReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoredReviewReason {
    /// Nobody knows who this is in Slack.
    Unmapped,
    /// Nobody knows who the requester is on GitHub: it could be this one.
    RequesterUnmapped,
    Requester,
    /// Not one of those who may approve.
    NotAsked,
    /// May not write to the repository, or not any more.
    NoAccess,
}

/// Approvals were for something that is no longer what would be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoidedApprovals {
    pub at: Timestamp,
    pub count: u32,
    pub why: VoidReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoidReason {
    /// The environment's branch moved, so the result was made anew on top of it.
    BranchMoved,
    /// Somebody pushed to the frozen branch: what they pushed is left out, and named.
    Pushed { commit: String },
}

/// What becomes of somebody's yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalOutcome {
    Counted,
    /// The same person said so before.
    Duplicate,
    /// Nobody approves what they asked for.
    OwnChange,
}

impl ApprovalState {
    pub fn new(required: u32, asked: Vec<MemberLabel>, now: Timestamp, timeout: SignedDuration) -> Self {
        Self {
            required,
            asked,
            approvals: Vec::new(),
            since: now,
            deadline: now + timeout,
            nudged: false,
            waits_for: Vec::new(),
            ignored: Vec::new(),
            voided: None,
            trouble: None,
        }
    }

    /// The same question asked once more, from the beginning.
    #[must_use]
    pub fn restart_at(self, now: Timestamp) -> Self {
        let timeout = self.deadline.duration_since(self.since);
        Self::new(self.required, self.asked, now, timeout)
    }

    /// When something is to be said though nothing happened: at half time, and at the end.
    pub fn next_reminder_at(&self) -> Timestamp {
        if self.nudged || self.is_approved() { self.deadline } else { self.halfway_at() }
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

    /// Adds a yes of `by`, who has been found to be one of those who may.
    pub fn record_approval(
        &mut self,
        by: &PersonId,
        way: ApprovalPlatform,
        requester: &PersonId,
        at: Timestamp,
    ) -> ApprovalOutcome {
        if by == requester {
            return ApprovalOutcome::OwnChange;
        }
        if self.approvals.iter().any(|known| known.by == *by) {
            return ApprovalOutcome::Duplicate;
        }
        self.approvals.push(Approval { by: by.clone(), at, way });
        ApprovalOutcome::Counted
    }

    /// What was approved is not what would be merged any more.
    #[must_use]
    pub fn void_approvals(mut self, why: VoidReason, at: Timestamp) -> Self {
        let count = u32::try_from(self.approvals.len()).unwrap_or(u32::MAX);
        self.approvals.clear();
        self.voided = Some(VoidedApprovals { at, count, why });
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
        let mut waiting = awaiting(2);
        assert_eq!(waiting.record_approval(&alice, ApprovalPlatform::Slack, &alice, at(1)), ApprovalOutcome::OwnChange);
        assert_eq!(waiting.record_approval(&bob, ApprovalPlatform::Slack, &alice, at(2)), ApprovalOutcome::Counted);
        assert_eq!(waiting.record_approval(&bob, ApprovalPlatform::Github, &alice, at(3)), ApprovalOutcome::Duplicate);
        assert_eq!((waiting.count_missing(), waiting.is_approved()), (1, false));
        assert_eq!(waiting.record_approval(&carol, ApprovalPlatform::Github, &alice, at(4)), ApprovalOutcome::Counted);
        assert!(waiting.is_approved());
        let waiting = waiting.void_approvals(VoidReason::BranchMoved, at(5));
        assert_eq!((waiting.count_missing(), waiting.voided.map(|voided| voided.count)), (2, Some(2)));
    }

    #[test]
    fn the_next_word_is_the_reminder_and_then_the_end() {
        let mut waiting = awaiting(1);
        assert_eq!(waiting.next_reminder_at(), at(50));
        waiting.nudged = true;
        assert_eq!(waiting.next_reminder_at(), at(100));
        assert!(awaiting(0).is_approved());
        assert_eq!(awaiting(0).next_reminder_at(), at(100), "where nobody is asked, nobody is reminded");
        let anew = waiting.restart_at(at(80));
        assert_eq!((anew.deadline, anew.nudged), (at(180), false));
    }
}
