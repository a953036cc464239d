//! `why`: everything that stands between an artefact and an environment, by the rules of `promote` and nothing else.

use crate::adapters::slack::render::why;
use crate::domain::change::plan::Plan;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::rules::promotion::Refusal;
use crate::domain::view::why::{Obstacles, ReadyPromotion, WhyAnswer};

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
            Ok(stands) => Ok(asked.answered(why::why(&stands), openly, stands.find_change_in_progress())),
            Err(error) => asked.cannot(&error),
        }
    }

    async fn stands(
        &self,
        by: PersonId,
        artefact: ArtefactName,
        environment: Option<EnvironmentName>,
    ) -> Result<WhyAnswer, CannotAsk> {
        let wish = Wish { by, artefact, environment, what: What::RunsBelow, overriding: None };
        let (artefact, target, others) = match self.aim(&wish).await {
            Ok(aim) => aim,
            Err(No::Refused(refusal)) => return Ok(nowhere(wish, refusal)),
            Err(No::CannotAsk(error)) => return Err(error),
        };
        let mut blockers = Obstacles::new_collecting_all();
        // Boxed: it is large, and most who come by here do not ask for it.
        let judged = Box::pin(self.judged(&wish, artefact, target, &mut blockers)).await;
        let (version, blockers) = blockers.into_parts();
        let (artefact, environment) = (artefact.name.clone(), Some(target.name.clone()));
        let mut why = WhyAnswer {
            artefact,
            environment,
            other_environments: others,
            version,
            obstacles: blockers,
            ready_promotion: None,
            lookup_failure: None,
        };
        match judged {
            Ok((plan, _)) => why.ready_promotion = Some(self.free(*plan).await),
            Err(No::Refused(last)) => why.obstacles.push(last),
            // What is known is worth more than an answer some minutes later.
            Err(No::CannotAsk(error)) if !why.obstacles.is_empty() => why.lookup_failure = Some(error.to_string()),
            Err(No::CannotAsk(error)) => return Err(error),
        }
        Ok(why)
    }

    async fn free(&self, plan: Plan) -> ReadyPromotion {
        let awaits = if self.is_awaited(&plan) { Some(self.awaiting(&plan, self.clock.now()).await) } else { None };
        ReadyPromotion { plan: Box::new(plan), awaiting: awaits }
    }
}

/// No environment is behind.
fn nowhere(wish: Wish, refusal: Refusal) -> WhyAnswer {
    let (artefact, environment) = (wish.artefact, wish.environment);
    WhyAnswer {
        artefact,
        environment,
        other_environments: None,
        version: None,
        obstacles: vec![refusal],
        ready_promotion: None,
        lookup_failure: None,
    }
}
