//! `why`: everything that stands between an artefact and an environment, by the rules of `promote` and nothing else.

use crate::adapters::slack::render::why;
use crate::domain::change::plan::Plan;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::promotion::Refusal;
use crate::domain::view::why::{Blockers, Free, Why};

use crate::workflow::context::Bot;
use crate::workflow::error::No;
use crate::workflow::facts::image_commits::CannotAsk;
use crate::workflow::planning::promotion::{What, Wish};
use crate::workflow::requests::dispatch::Asked;
use crate::workflow::requests::inbox::{NotNow, Work};

impl Bot {
    /// As it is for whoever asks; `openly` for all who read along.
    pub(crate) async fn why(
        &self,
        asked: Asked<'_>,
        artefact: ArtefactName,
        environment: Option<EnvironmentName>,
        openly: bool,
    ) -> Result<Work, NotNow> {
        match self.stands(asked.from.person.clone(), artefact, environment).await {
            Ok(stands) => Ok(asked.answered(why::why(&stands), openly, stands.under_way())),
            Err(error) => asked.cannot(&error),
        }
    }

    async fn stands(
        &self,
        by: PersonId,
        artefact: ArtefactName,
        environment: Option<EnvironmentName>,
    ) -> Result<Why, CannotAsk> {
        let wish = Wish { by, artefact, environment, what: What::RunsBelow, overriding: None };
        let (artefact, target, others) = match self.aim(&wish).await {
            Ok(aim) => aim,
            Err(No::Refused(refusal)) => return Ok(nowhere(wish, refusal)),
            Err(No::CannotAsk(error)) => return Err(error),
        };
        let mut blockers = Blockers::all();
        // Boxed: it is large, and most who come by here do not ask for it.
        let judged = Box::pin(self.judged(&wish, artefact, target, &mut blockers)).await;
        let (version, blockers) = blockers.into_parts();
        let (artefact, environment) = (artefact.name.clone(), Some(target.name.clone()));
        let mut why = Why { artefact, environment, others, version, blockers, free: None, unasked: None };
        match judged {
            Ok((plan, _)) => why.free = Some(self.free(*plan).await),
            Err(No::Refused(last)) => why.blockers.push(last),
            // What is known is worth more than an answer some minutes later.
            Err(No::CannotAsk(error)) if !why.blockers.is_empty() => why.unasked = Some(error.to_string()),
            Err(No::CannotAsk(error)) => return Err(error),
        }
        Ok(why)
    }

    async fn free(&self, plan: Plan) -> Free {
        let awaits = if self.is_awaited(&plan) { Some(self.awaiting(&plan, self.clock.now()).await) } else { None };
        Free { plan: Box::new(plan), awaits }
    }
}

/// No environment is behind.
fn nowhere(wish: Wish, refusal: Refusal) -> Why {
    let (artefact, environment) = (wish.artefact, wish.environment);
    Why { artefact, environment, others: None, version: None, blockers: vec![refusal], free: None, unasked: None }
}
