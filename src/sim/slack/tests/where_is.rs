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
    fn any_answer_to_where_is_within_the_limits_and_escaped(
        environment_count in 1_usize..20, artefacts in 0_usize..13, all in 0_usize..300, name in 1_usize..80,
        text in "\\PC{0,300}|(<!channel>){1,30}|[&<>]{1,2000}", query in "\\PC{0,80}",
    ) {
        let environment = |n: usize| EnvironmentName::new(&format!("{}{n}", "e".repeat(name)));
        let removal = CodeRemoval {
            by: Some(PersonId::new("U0BOB")), at: Some(Timestamp::UNIX_EPOCH), reason: Some(text.clone()),
        };
        let presence = |n: usize| match n % 5 {
            0 => CommitPresence::Present { since: Some(Timestamp::UNIX_EPOCH), problem: Some(text.clone()) },
            1 => CommitPresence::RollingOut { ready: 1, wanted: 2 },
            2 => CommitPresence::Absent { removal: Some(removal.clone()) },
            3 => CommitPresence::Unknown { reason: text.clone() },
            _ => CommitPresence::NoWorkload,
        };
        let environment_presence = |n: usize| {
            EnvironmentPresence { environment: environment(n), presence: presence(n), unreadable: Some(text.clone()) }
        };
        let prerequisite = Prerequisite::Promotion { below: environment(0), problem: Some(text.clone()) };
        let locations = |n: usize| ArtefactLocations {
            artefact: ArtefactName::new(&format!("{}{n}", "a".repeat(name))),
            environments: (0..environment_count).map(environment_presence).collect(),
            prerequisite: Some((environment(environment_count - 1), prerequisite.clone())),
        };
        let commit = crate::domain::model::version::Commit { author: text.clone(), ..sample::commit('a', &text) };
        let repository: crate::domain::model::artefact::Repository = "acme/shop".parse().expect("a repository");
        let found = CommitLocations {
            repository: repository.clone(),
            sha: commit.sha.clone(),
            commit: Some(commit.clone()),
            artefacts: (0..artefacts).map(locations).collect(),
            tally: Some(Tally { artefacts: all, environments: (0..environment_count).map(|n| (environment(n), n, environment_count)).collect() }),
        };
        check_rendered(where_is::render_where_is(&found))?;
        let pull = PullRequestRef { number: 42, url: text.clone() };
        let open = QueryMatch::Unmerged { repository: repository.clone(), pull, title: text.clone(), is_closed: true };
        let candidate = QueryMatch::Commit { repository, sha: commit.sha.clone(), commit: Some(commit) };
        check_rendered(where_is::render_unmerged(&open))?;
        check_rendered(where_is::render_candidate_choice(&text, &vec![candidate; 9], 5, Some(&ArtefactName::new("mailer"))))?;
        check_rendered(where_is::render_candidate_choice(&text, &[open.clone(), open], 5, None))?;
        check_rendered(where_is::render_not_found(&query, None, 200))?;
        check_rendered(where_is::render_unparsable(&text))?;
    }
}
