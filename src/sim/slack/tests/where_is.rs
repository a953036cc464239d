//! The bot's answers to `where` are within Slack's limits.

use jiff::Timestamp;
use proptest::prelude::*;

use super::limits::check_rendered;
use crate::adapters::slack::render::where_is;
use crate::domain::change::PullRequestRef;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::sample;
use crate::domain::view::where_is::{
    ArtefactLocations, CodeRemoval, CommitLocations, CommitPresence, EnvironmentPresence, Prerequisite, QueryMatch,
    Tally,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_answer_to_where_fits_and_calls_nobody(
        environment_count in 1_usize..20, artefacts in 0_usize..13, all in 0_usize..300, name in 1_usize..80,
        words in "\\PC{0,300}|(<!channel>){1,30}|[&<>]{1,2000}", what in "\\PC{0,80}",
    ) {
        let environment = |n: usize| EnvironmentName::new(&format!("{}{n}", "e".repeat(name)));
        let back = CodeRemoval {
            by: Some(PersonId::new("U0BOB")), at: Some(Timestamp::UNIX_EPOCH), reason: Some(words.clone()),
        };
        let standing = |n: usize| match n % 5 {
            0 => CommitPresence::Present { since: Some(Timestamp::UNIX_EPOCH), problem: Some(words.clone()) },
            1 => CommitPresence::RollingOut { ready: 1, wanted: 2 },
            2 => CommitPresence::Absent { removal: Some(back.clone()) },
            3 => CommitPresence::Unknown { why: words.clone() },
            _ => CommitPresence::NoWorkload,
        };
        let environment_presence = |n: usize| {
            EnvironmentPresence { environment: environment(n), presence: standing(n), unreadable: Some(words.clone()) }
        };
        let waits = Prerequisite::Promotion { below: environment(0), problem: Some(words.clone()) };
        let places = |n: usize| ArtefactLocations {
            artefact: ArtefactName::new(&format!("{}{n}", "a".repeat(name))),
            environments: (0..environment_count).map(environment_presence).collect(),
            prerequisite: Some((environment(environment_count - 1), waits.clone())),
        };
        let commit = crate::domain::model::version::Commit { author: words.clone(), ..sample::commit('a', &words) };
        let repository: crate::domain::model::artefact::Repository = "acme/shop".parse().expect("a repository");
        let found = CommitLocations {
            repository: repository.clone(),
            sha: commit.sha.clone(),
            commit: Some(commit.clone()),
            artefacts: (0..artefacts).map(places).collect(),
            tally: Some(Tally { artefacts: all, environments: (0..environment_count).map(|n| (environment(n), n, environment_count)).collect() }),
        };
        check_rendered(where_is::render_where_is(&found))?;
        let pull = PullRequestRef { number: 42, url: words.clone() };
        let open = QueryMatch::Unmerged { repository: repository.clone(), pull, title: words.clone(), is_closed: true };
        let candidate = QueryMatch::Commit { repository, sha: commit.sha.clone(), commit: Some(commit) };
        check_rendered(where_is::render_unmerged(&open))?;
        check_rendered(where_is::render_candidate_choice(&words, &vec![candidate; 9], 5, Some(&ArtefactName::new("mailer"))))?;
        check_rendered(where_is::render_candidate_choice(&words, &[open.clone(), open], 5, None))?;
        check_rendered(where_is::render_not_found(&what, None, 200))?;
        check_rendered(where_is::render_unparsable(&words))?;
    }
}
