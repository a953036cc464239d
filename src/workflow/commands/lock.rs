//! `lock`, `unlock`, `locks`, and the button that takes a lock over.

use jiff::SignedDuration;

use crate::adapters::slack::incoming::RequestOrigin;
use crate::adapters::slack::render::{self, Rendered};
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind, Transaction};
use crate::domain::model::actor::{Actor, PersonId};
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::LockId;
use crate::domain::model::message::{Destination, FallbackRecipient, Message, MessageKey};
use crate::domain::rules::lock::Lock;
use crate::domain::rules::refusal::Refusal;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::requests::reply::LockReply;

pub(crate) async fn lock_environment(
    ctx: &Context,
    from: &RequestOrigin,
    environment: EnvironmentName,
    artefact: Option<ArtefactName>,
    length: Option<SignedDuration>,
    reason: &str,
) -> Result<LockReply, RetryLater> {
    if let Some(refusal) = refuse_absent_artefact(ctx, &environment, artefact.as_ref()) {
        return Ok(LockReply::from_refusal(refusal.code(), render::refusal::render_refusal(&refusal)));
    }
    if let Some(refusal) = check_may_lock(ctx, &from.person, &environment, artefact.as_ref()).await? {
        return Ok(refusal);
    }
    let locks = ctx.store.list_locks(Some(&environment)).await.map_err(|error| RetryLater::from_store_error(&error))?;
    if let Some(held) = locks.iter().find(|lock| lock.artefact == artefact) {
        let answer = render::lock::render_already_locked(held, held.by == from.person);
        return Ok(LockReply::from_refusal("locked", answer));
    }
    let since = ctx.clock.now();
    let lock = Lock {
        id: LockId::new(since),
        environment,
        artefact,
        by: from.person.clone(),
        reason: reason.to_owned(),
        since,
        until: length.map(|length| since + length),
    };
    let transaction = Transaction::new()
        .insert_lock(lock.clone())
        .append_to_ledger(build_lock_entry(ctx, &lock, LedgerKind::Locked, &from.person))
        .enqueue_message(build_lock_announcement(
            ctx,
            &lock,
            "lock",
            render::lock::render_lock_announcement(&lock),
            from,
        ));
    Ok(LockReply { transaction, ..render::lock::render_locked(&lock).into() })
}

pub(crate) async fn unlock_environment(
    ctx: &Context,
    from: &RequestOrigin,
    environment: &EnvironmentName,
    artefact: Option<&ArtefactName>,
) -> Result<LockReply, RetryLater> {
    let mut locks =
        ctx.store.list_locks(Some(environment)).await.map_err(|error| RetryLater::from_store_error(&error))?;
    let Some(index) = locks.iter().position(|lock| lock.artefact.as_ref() == artefact) else {
        return Ok(render::lock::render_not_locked(environment, artefact, &locks).into());
    };
    let lock = locks.swap_remove(index);
    let is_own = lock.by == from.person;
    // A person who lost the right to lock may still remove their own lock.
    if !is_own && let Some(refusal) = check_may_lock(ctx, &from.person, environment, artefact).await? {
        return Ok(refusal);
    }
    let mut transaction = Transaction::new()
        .remove_lock(lock.id)
        .append_to_ledger(build_lock_entry(ctx, &lock, LedgerKind::Unlocked, &from.person))
        .enqueue_message(build_lock_announcement(
            ctx,
            &lock,
            "unlock",
            render::lock::render_unlock_announcement(&lock, &from.person),
            from,
        ));
    if !is_own {
        transaction = transaction.enqueue_message(
            render::lock::render_lock_ended(&lock, &from.person).into_message(Destination::new_direct(&lock.by)),
        );
    }
    Ok(LockReply { transaction, ..render::lock::render_unlocked(&lock).into() })
}

pub(crate) async fn list_locks(ctx: &Context, environment: Option<&EnvironmentName>) -> Result<LockReply, RetryLater> {
    let locks = ctx.store.list_locks(environment).await.map_err(|error| RetryLater::from_store_error(&error))?;
    Ok(render::lock::render_locks(&locks, environment).into())
}

/// Takes over another person's lock, with the same reason. `None`: the button names no lock.
pub(crate) async fn take_over_lock(
    ctx: &Context,
    from: &RequestOrigin,
    value: &str,
) -> Result<Option<LockReply>, RetryLater> {
    let Some(id) = LockId::parse(value) else { return Ok(None) };
    let Some(lock) = ctx.store.find_lock(id).await.map_err(|error| RetryLater::from_store_error(&error))? else {
        return Ok(Some(render::lock::render_lock_gone().into()));
    };
    if lock.by == from.person {
        return Ok(Some(render::lock::render_already_yours(&lock).into()));
    }
    if let Some(refusal) = check_may_lock(ctx, &from.person, &lock.environment, lock.artefact.as_ref()).await? {
        return Ok(Some(refusal));
    }
    let since = ctx.clock.now();
    let taken_over = Lock { id: LockId::new(since), by: from.person.clone(), since, ..lock.clone() };
    let details = LedgerDetails::Lock { lock: taken_over.clone(), taken_from: Some(lock.by.clone()) };
    let entry = LedgerEntry {
        details: Some(details),
        ..build_lock_entry(ctx, &taken_over, LedgerKind::TakenOver, &from.person)
    };
    let transaction = Transaction::new()
        .remove_lock(lock.id)
        .insert_lock(taken_over.clone())
        .append_to_ledger(entry)
        .enqueue_message(build_lock_announcement(
            ctx,
            &taken_over,
            "lock",
            render::lock::render_take_over_announcement(&taken_over, &lock.by),
            from,
        ))
        .enqueue_message(render::lock::render_lock_lost(&taken_over).into_message(Destination::new_direct(&lock.by)));
    Ok(Some(LockReply { transaction, replaces_message: true, ..render::lock::render_taken_over(&taken_over).into() }))
}

/// The refusal if the person may not lock the environment; `None` if they may.
async fn check_may_lock(
    ctx: &Context,
    person: &PersonId,
    environment: &EnvironmentName,
    artefact: Option<&ArtefactName>,
) -> Result<Option<LockReply>, RetryLater> {
    let is_permitted = match find_identity_repository(ctx, environment, artefact) {
        Some(repository) => ctx.permissions.may_promote_or_approve(person, environment, repository).await,
        None => Ok(false),
    };
    match is_permitted {
        Ok(true) => Ok(None),
        Ok(false) => {
            let permitted = ctx.permissions.label_promoters_and_approvers(environment).await;
            Ok(Some(LockReply::from_refusal("may_not", render::lock::render_not_permitted(environment, &permitted))))
        }
        Err(error) => {
            let reason = error.to_string();
            let failure_reply = render::lock::render_permission_unknown(environment, &reason);
            if error.transient {
                Err(RetryLater::with_backoff(reason, failure_reply))
            } else {
                Ok(Some(failure_reply.into()))
            }
        }
    }
}

/// The repository in which a person's GitHub login is looked up by their commits: the artefact's, else one of the
/// environment, else any.
fn find_identity_repository<'a>(
    ctx: &'a Context,
    environment: &EnvironmentName,
    artefact: Option<&ArtefactName>,
) -> Option<&'a Repository> {
    let all = &ctx.config.catalogue.artefacts;
    let named = artefact.and_then(|name| ctx.config.catalogue.find_artefact(name.as_str()));
    let in_environment = || all.iter().find(|it| it.places.contains_key(environment));
    named.or_else(in_environment).or(all.first()).map(|it| &it.repository)
}

fn refuse_absent_artefact(
    ctx: &Context,
    environment: &EnvironmentName,
    artefact: Option<&ArtefactName>,
) -> Option<Refusal> {
    let catalogue = &ctx.config.catalogue;
    let artefact = catalogue.find_artefact(artefact?.as_str())?;
    let names = catalogue.ladder.environments().iter().map(|environment| &environment.name);
    let environments = names.filter(|name| artefact.places.contains_key(*name)).cloned().collect();
    let (name, environment) = (artefact.name.clone(), environment.clone());
    let is_absent = !artefact.places.contains_key(&environment);
    is_absent.then_some(Refusal::NotInEnvironment { artefact: name, environment, environments })
}

fn build_lock_entry(ctx: &Context, lock: &Lock, kind: LedgerKind, person: &PersonId) -> LedgerEntry {
    LedgerEntry {
        at: ctx.clock.now(),
        change: None,
        kind,
        artefact: lock.artefact.clone(),
        environment: Some(lock.environment.clone()),
        actor: Some(Actor::Person(person.clone())),
        details: Some(LedgerDetails::Lock { lock: lock.clone(), taken_from: None }),
    }
}

/// The announcement in the environment's channel, else in the channel of the request.
fn build_lock_announcement(
    ctx: &Context,
    lock: &Lock,
    key_prefix: &str,
    announcement: Rendered,
    from: &RequestOrigin,
) -> Message {
    let environment = ctx.config.catalogue.ladder.find(lock.environment.as_str());
    let channel = environment.map_or_else(|| from.channel.clone(), |environment| environment.channel.clone());
    let fallback = FallbackRecipient { person: from.person.clone(), channel: Some(from.channel.clone()) };
    let key = MessageKey::new(&format!("{key_prefix}:{}", lock.id));
    announcement.into_message(Destination::Post { channel, key, thread: None, asked: Some(fallback) })
}
