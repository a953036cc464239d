//! Reviews of and comments on pull requests, and the reviews that count.

use git2::Oid;
use jiff::Timestamp;

use super::errors::ApiError;
use super::objects::{Repo, full_oid};
use super::pulls::PullRequest;

/// The verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Approve,
    RequestChanges,
    Comment,
}

impl Verdict {
    /// Parses the word that the control API and the page use.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "approve" => Some(Self::Approve),
            "request_changes" => Some(Self::RequestChanges),
            "comment" => Some(Self::Comment),
            _ => None,
        }
    }

    fn state(self) -> ReviewState {
        match self {
            Self::Approve => ReviewState::Approved,
            Self::RequestChanges => ReviewState::ChangesRequested,
            Self::Comment => ReviewState::Commented,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
}

impl ReviewState {
    /// As the API writes it. Webhooks write it in lower case.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) user: String,
    pub(super) state: ReviewState,
    pub(super) commit: Oid,
    pub(super) body: String,
    pub(super) at: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) user: String,
    pub(super) body: String,
    pub(super) at: Timestamp,
}

#[derive(Debug)]
pub(super) struct NewReview {
    pub(super) verdict: Verdict,
    pub(super) body: String,
    /// If it is `None`, the head is reviewed.
    pub(super) commit: Option<String>,
}

impl PullRequest {
    /// The last verdict of each person. A comment is not a verdict, and a dismissed review does not count.
    pub(super) fn verdicts(&self) -> Vec<(&str, ReviewState)> {
        let mut last: Vec<(&str, ReviewState)> = Vec::new();
        for review in self.reviews.iter().rev().filter(|review| review.state != ReviewState::Commented) {
            if !last.iter().any(|(user, _)| *user == review.user) {
                last.push((&review.user, review.state));
            }
        }
        last.retain(|(_, state)| *state != ReviewState::Dismissed);
        last
    }
}

impl Repo {
    fn next_id(&mut self) -> u64 {
        self.last_feedback_id += 1;
        self.last_feedback_id
    }

    pub(super) fn review_pull(
        &mut self,
        number: u64,
        new: NewReview,
        by: &str,
        now: Timestamp,
    ) -> Result<Review, ApiError> {
        let pull = self.pull(number)?;
        let is_author = pull.author.eq_ignore_ascii_case(by);
        match new.verdict {
            Verdict::Approve if is_author => {
                return Err(ApiError::unprocessable_because("Can not approve your own pull request"));
            }
            Verdict::RequestChanges if is_author => {
                return Err(ApiError::unprocessable_because("Can not request changes on your own pull request"));
            }
            _ => {}
        }
        let commit = match new.commit.as_deref() {
            None => pull.head_sha,
            Some(text) => full_oid(text)
                .filter(|id| self.is_commit(*id))
                .ok_or_else(|| ApiError::unprocessable_because("The commit_id is not part of the pull request"))?,
        };
        let (id, state) = (self.next_id(), new.verdict.state());
        let review = Review { id, user: by.to_owned(), state, commit, body: new.body, at: now };
        let pull = self.pull_mut(number)?;
        pull.reviews.push(review.clone());
        pull.updated = now;
        self.record_review_event(number, &review, "submitted", by);
        Ok(review)
    }

    pub(super) fn dismiss_review(
        &mut self,
        number: u64,
        id: u64,
        by: &str,
        now: Timestamp,
    ) -> Result<Review, ApiError> {
        let pull = self.pull_mut(number)?;
        let review = pull.reviews.iter_mut().find(|review| review.id == id).ok_or_else(ApiError::not_found)?;
        match review.state {
            ReviewState::Commented => {
                return Err(ApiError::unprocessable_because("Can not dismiss a commented pull request review"));
            }
            ReviewState::Dismissed => {
                return Err(ApiError::unprocessable_because("Can not dismiss a dismissed pull request review"));
            }
            ReviewState::Approved | ReviewState::ChangesRequested => review.state = ReviewState::Dismissed,
        }
        let review = review.clone();
        pull.updated = now;
        self.record_review_event(number, &review, "dismissed", by);
        Ok(review)
    }

    pub(super) fn comment_on_pull(
        &mut self,
        number: u64,
        body: String,
        by: &str,
        now: Timestamp,
    ) -> Result<Comment, ApiError> {
        self.pull(number)?;
        let comment = Comment { id: self.next_id(), user: by.to_owned(), body, at: now };
        let pull = self.pull_mut(number)?;
        pull.comments.push(comment.clone());
        pull.updated = now;
        Ok(comment)
    }
}
