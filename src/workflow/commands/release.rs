//! `release`: lifts the quarantine of a version that was rolled back from.

use crate::adapters::slack::render::rollback;
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind};
use crate::domain::model::actor::Actor;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::message::{Destination, FallbackRecipient};
use crate::domain::rules::refusal::{Refusal, RestrictedAction};
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::message_keys;
use crate::workflow::requests::reply::{Request, Response};

/// Releases all quarantines of the artefact that are named `version`, so that it may be promoted again.
pub(crate) async fn release_quarantine(
    ctx: &Context,
    request: Request<'_>,
    artefact: &ArtefactName,
    version: &str,
) -> Result<Response, RetryLater> {
    let Some(configured) = ctx.config.catalogue.find_artefact(artefact.as_str()) else {
        return Ok(Response::default());
    };
    let mut quarantines = ctx.store.list_quarantines().await.map_err(|error| RetryLater::from_store_error(&error))?;
    quarantines.retain(|quarantine| quarantine.has_artefact(&configured.name));
    let (matching, others): (Vec<_>, Vec<_>) = quarantines.into_iter().partition(|it| it.is_named(version));
    let Some(newest) = matching.first().cloned() else {
        return Ok(request.reply_private(rollback::render_not_quarantined(&configured.name, version, &others)));
    };
    let person = &request.from.person;
    for quarantine in &matching {
        match ctx.permissions.may_promote_or_approve(person, &quarantine.environment, &configured.repository).await {
            Ok(true) => {}
            Ok(false) => {
                let permitted = ctx.permissions.label_promoters_and_approvers(&quarantine.environment).await;
                let (action, environment) = (RestrictedAction::Release, quarantine.environment.clone());
                return Ok(request.reply_refusal(&Refusal::NotPermitted { action, environment, permitted }));
            }
            Err(error) => return request.reply_lookup_error(&error),
        }
    }
    let mut response = request.reply_private(rollback::render_released(&configured.name, &newest));
    for quarantine in matching {
        let entry = LedgerEntry {
            at: ctx.clock.now(),
            change: Some(quarantine.change.to_string()),
            kind: LedgerKind::Released,
            artefact: Some(configured.name.clone()),
            environment: Some(quarantine.environment.clone()),
            actor: Some(Actor::Person(person.clone())),
            details: Some(LedgerDetails::Released { version: quarantine.version.clone() }),
        };
        let environment = ctx.config.catalogue.ladder.find(quarantine.environment.as_str());
        let channel =
            environment.map_or_else(|| request.from.channel.clone(), |environment| environment.channel.clone());
        let announcement = rollback::render_release_announcement(&configured.name, &quarantine, person).into_message(
            Destination::Post {
                channel,
                key: message_keys::for_card_reply("release", quarantine.change),
                thread: None,
                asked: Some(FallbackRecipient { person: person.clone(), channel: Some(request.from.channel.clone()) }),
            },
        );
        response.transaction = response
            .transaction
            .release_quarantine(quarantine.change, person.clone())
            .append_to_ledger(entry)
            .enqueue_message(announcement);
    }
    Ok(response)
}
