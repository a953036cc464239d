//! App Home: made for whoever opens it, and made anew for those who opened it lately when a change moves on.
//! It stands in no channel, so its buttons are answered directly.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::adapters::slack::render::home::{self, HomeContent, MAX_CHANGES, MAX_OFFERS};
use crate::adapters::slack::render::list::render_list;
use crate::adapters::slack::render::page_buttons::Viewer;
use crate::adapters::slack::render::{Rendered, notice};
use crate::adapters::store::{StoreError, Transaction};
use crate::domain::change::approval::{ApprovalOutcome, ApprovalPlatform};
use crate::domain::change::{Change, Stage};
use crate::domain::model::actor::{PersonId, Role};
use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::message::{Destination, Message, MessageKey};
use crate::domain::model::version::Version;
use crate::domain::runtime::rollout::RolloutState;
use crate::domain::view::list::ListFilter;

use crate::workflow::commands::list::build_listing;
use crate::workflow::commands::status::load_change_details;
use crate::workflow::context::Context;
use crate::workflow::error::{LookupError, RetryLater};
use crate::workflow::requests::reply::Response;

/// Slack does not tell who has closed it, so after this nobody is taken to look at it any more.
const READER_TTL: SignedDuration = SignedDuration::from_mins(30);
/// Slack takes a hundred a minute, and people who open theirs come first.
const MAX_READERS: usize = 30;
const REFRESH_PAUSE: SignedDuration = SignedDuration::from_secs(5);
const PAUSE_PER_HOME: SignedDuration = SignedDuration::from_secs(1);

/// Who opened their Home lately, and what it showed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct HomeReaders(Arc<Mutex<BTreeMap<PersonId, HomeReader>>>);

#[derive(Clone, Copy, Debug)]
struct HomeReader {
    opened_at: Timestamp,
    snapshot: HomeSnapshot,
}

/// When it was made, and what stands for what it said then: it is another one only if it would have said something else then.
#[derive(Clone, Copy, Debug)]
struct HomeSnapshot {
    made_at: Timestamp,
    digest: u64,
}

impl HomeReaders {
    fn record_opened(&self, person: &PersonId, shown: HomeSnapshot) {
        let mut readers = self.lock_readers();
        readers.insert(person.clone(), HomeReader { opened_at: shown.made_at, snapshot: shown });
        if readers.len() > MAX_READERS {
            let longest = readers.iter().min_by_key(|(_, reader)| reader.opened_at).map(|(person, _)| person.clone());
            longest.map(|person| readers.remove(&person));
        }
    }

    /// Whoever opened it before that is forgotten.
    fn list_recent_readers(&self, opened_after: Timestamp) -> Vec<(PersonId, HomeSnapshot)> {
        let mut readers = self.lock_readers();
        readers.retain(|_, reader| reader.opened_at > opened_after);
        readers.iter().map(|(person, reader)| (person.clone(), reader.snapshot)).collect()
    }

    /// A new one is stored. Who has opened theirs meanwhile has one that is newer.
    fn record_refresh(&self, person: &PersonId, shown: HomeSnapshot) {
        if let Some(reader) = self.lock_readers().get_mut(person).filter(|reader| reader.opened_at <= shown.made_at) {
            reader.snapshot = shown;
        }
    }

    fn lock_readers(&self) -> MutexGuard<'_, BTreeMap<PersonId, HomeReader>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews what people look at, until it is cancelled.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let mut news = ctx.open_changes.subscribe_updates();
    let mut again = false;
    loop {
        if !again {
            tokio::select! {
                () = cancel.cancelled() => return,
                alive = news.changed() => if alive.is_err() { return },
            }
        }
        let renewed = match refresh_homes(&ctx).await {
            Ok(renewed) => {
                again = false;
                renewed
            }
            Err(error) => {
                // Once, however long it lasts.
                if !again {
                    tracing::warn!(%error, "App Homes could not be renewed; trying again");
                }
                again = true;
                0
            }
        };
        tokio::select! {
            () = cancel.cancelled() => return,
            () = ctx.clock.sleep(REFRESH_PAUSE.max(PAUSE_PER_HOME * renewed)) => {}
        }
    }
}

/// Somebody looks at their Home. Whom we do not answer gets the sentence that says why.
pub(crate) async fn show_home(ctx: &Context, person: &PersonId, role: Role) -> Result<Response, RetryLater> {
    let said = if role == Role::Member {
        let now = ctx.clock.now();
        let said = render_home(ctx, person, now).await.map_err(|error| RetryLater::from_store_error(&error))?;
        ctx.home_readers.record_opened(person, HomeSnapshot { made_at: now, digest: hash_blocks(&said) });
        said
    } else {
        notice::render_role_refusal(role)
    };
    Ok(Transaction::new().enqueue_message(build_home_message(person, said)).into())
}

/// How many got a new one.
async fn refresh_homes(ctx: &Context) -> Result<i32, LookupError> {
    let mut renewed = 0;
    for (person, shown) in ctx.home_readers.list_recent_readers(ctx.clock.now() - READER_TTL) {
        let role = ctx
            .people
            .resolve_person_role(&person)
            .await
            .map_err(|error| LookupError::new_transient(error.to_string()))?;
        // Who has left is shown nothing new.
        if role != Role::Member {
            continue;
        }
        if hash_blocks(&render_home(ctx, &person, shown.made_at).await?) == shown.digest {
            continue;
        }
        let now = ctx.clock.now();
        let said = render_home(ctx, &person, now).await?;
        let shown = HomeSnapshot { made_at: now, digest: hash_blocks(&said) };
        ctx.store.commit(Transaction::new().enqueue_message(build_home_message(&person, said))).await?;
        ctx.home_readers.record_refresh(&person, shown);
        renewed += 1;
    }
    Ok(renewed)
}

/// As it is now, with the ages that everything had at `made_at`.
async fn render_home(ctx: &Context, person: &PersonId, made_at: Timestamp) -> Result<Rendered, StoreError> {
    let all = ctx.open_changes.all();
    let all =
        all.iter().map(AsRef::as_ref).filter(|change: &&Change| change.stage.is_active() || change.stage.is_watched());
    let (mut waiting, mut mine, mut others, mut approval_error) = (Vec::new(), Vec::new(), Vec::new(), None);
    for change in all {
        let waits = match needs_approval_from(ctx, person, change).await {
            Ok(waits) => waits,
            Err(why) => {
                approval_error = Some(why);
                false
            }
        };
        if waits {
            waiting.push(change);
        } else if change.requester == *person {
            mine.push(change);
        } else {
            others.push(change);
        }
    }
    let shown = [&waiting, &mine, &others].into_iter().flat_map(|changes| changes.iter().take(MAX_CHANGES));
    let known = load_change_details(ctx, &shown.map(|change| change.id).collect::<Vec<_>>()).await?;
    let rungs = ctx.config.catalogue.ladder.environments();
    let neighbours = rungs.windows(2).map(|pair| (pair[0].name.clone(), pair[1].name.clone())).collect();
    Ok(home::render_home(&HomeContent {
        waiting,
        unknown_reason: approval_error,
        mine,
        others,
        details: known,
        ladder: render_list(&build_listing(ctx, ListFilter::default(), 0), Viewer::Person, made_at).without_tables(),
        promotions: find_possible_promotions(ctx).await?,
        neighbours,
        now: made_at,
    }))
}

/// Would this person's yes count? Or why nobody can tell.
async fn needs_approval_from(ctx: &Context, person: &PersonId, change: &Change) -> Result<bool, String> {
    let Stage::AwaitingApproval(awaiting) = &change.stage else { return Ok(false) };
    let counts = awaiting.clone().record_approval(person, ApprovalPlatform::Slack, &change.requester, ctx.clock.now())
        == ApprovalOutcome::Counted;
    if !counts || awaiting.is_approved() || change.commit_to_approve().is_none() {
        return Ok(false);
    }
    let plan = &change.plan;
    ctx.permissions.may_approve(person, &plan.environment, &plan.repository).await.map_err(|error| error.to_string())
}

/// What runs well in a rung and is newer than what the next one has, as far as is known: whether it may go there is asked
/// when somebody wants it to. But for what a rollback left, which is known to be refused.
async fn find_possible_promotions(ctx: &Context) -> Result<Vec<(ArtefactName, EnvironmentName, Version)>, StoreError> {
    let catalogue = &ctx.config.catalogue;
    let quarantines = ctx.store.list_quarantines().await?;
    let mut found = Vec::new();
    for artefact in &catalogue.artefacts {
        for rung in catalogue.ladder.environments() {
            let (Some(below), Some(place)) =
                (catalogue.ladder.find_next_below(&rung.name, artefact), artefact.places.get(&rung.name))
            else {
                continue;
            };
            let newer = ctx.sightings.read_artefact(&artefact.name, |seen| {
                let below = &seen.find_in(&below.name)?.sighting.version;
                let here = seen.find_in(&rung.name)?;
                here.is_behind_commit(below.commit.as_ref()?).filter(|behind| *behind)?;
                Some(below.clone())
            });
            let Some(newer) = newer else { continue };
            let runs = artefact.places.get(&below.name).is_some_and(|below| {
                matches!(ctx.cluster_view.read_rollout(below, &artefact.image).state, RolloutState::Running { .. })
            });
            if !runs || !ctx.cluster_view.has_been_read(place) {
                continue;
            }
            let barred = quarantines.iter().any(|it| {
                it.has_artefact(&artefact.name)
                    && it.is_effective_in(&rung.name, &catalogue.ladder)
                    && it.has_version(&newer, None)
            });
            if barred || is_rollback_result(ctx, artefact, &below.name, &newer).await? {
                continue;
            }
            found.push((artefact.name.clone(), rung.name.clone(), newer));
            if found.len() == MAX_OFFERS {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Is it the very result of a rollback of ours, after which nothing was promoted there?
async fn is_rollback_result(
    ctx: &Context,
    artefact: &Artefact,
    environment: &EnvironmentName,
    version: &Version,
) -> Result<bool, StoreError> {
    for hold in ctx.store.list_holds(environment).await? {
        if hold.has_any_artefact(std::slice::from_ref(&artefact.name))
            && let Some(rollback) = ctx.store.find_change(hold.change).await?
            && version.commit.is_some()
            && rollback.stage.result_commit() == version.commit.as_ref()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn build_home_message(person: &PersonId, said: Rendered) -> Message {
    let key = MessageKey::new(&format!("home:{person}"));
    said.into_message(Destination::Home { person: person.clone(), key })
}

fn hash_blocks(said: &Rendered) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", said.blocks).hash(&mut hasher);
    hasher.finish()
}
