//! The page buttons: replace the shown page of an answer with another, or share an answer with the channel.

use crate::adapters::slack::render::page_buttons::{PageAction, PageMode, PageRequest, Viewer};
use crate::adapters::store::Transaction;
use crate::domain::model::message::Destination;
use crate::domain::view::list::ListFilter;

use crate::workflow::commands::diff::render_diff_page;
use crate::workflow::commands::history::render_history;
use crate::workflow::commands::list::answer_list;
use crate::workflow::commands::status::render_status;
use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::requests::reply::{Request, Response};

pub(crate) async fn turn_page(ctx: &Context, request: Request<'_>, action: PageAction) -> Result<Response, RetryLater> {
    let Request { from, received, .. } = request;
    let Some(response_url) = from.build_response_url(received.received_at) else { return Ok(Response::default()) };
    let viewer = match action.mode {
        PageMode::Private => Viewer::Person,
        PageMode::Public => Viewer::Channel { shared_by: None },
        PageMode::Share => Viewer::Channel { shared_by: Some(&from.person) },
    };
    let answer = match action.request {
        PageRequest::List { filter, page } => answer_list(ctx, filter, page, viewer),
        PageRequest::Status { filter, .. } | PageRequest::History { filter, .. } if !can_be_typed(ctx, &filter) => {
            return Ok(Response::default());
        }
        PageRequest::Status { filter, cursor } => {
            render_status(ctx, filter, cursor, viewer).await.map_err(|error| RetryLater::from_store_error(&error))?
        }
        PageRequest::Diff { source, target, page } => match render_diff_page(ctx, &source, &target, page, viewer).await
        {
            Some(answer) => answer,
            None => return Ok(Response::default()),
        },
        PageRequest::History { filter, count, cursor } => render_history(ctx, filter, count, cursor, viewer)
            .await
            .map_err(|error| RetryLater::from_store_error(&error))?,
    };
    let (in_channel, replace) = (action.mode != PageMode::Private, action.mode != PageMode::Share);
    Ok(Transaction::new()
        .enqueue_message(answer.into_message(Destination::Reply { response_url, in_channel, replace }))
        .into())
}

/// Whether a person could type this filter. A button must not allow more than typing does.
fn can_be_typed(ctx: &Context, filter: &ListFilter) -> bool {
    let catalogue = &ctx.config.catalogue;
    filter.artefact.as_ref().is_none_or(|name| catalogue.find_artefact(name.as_str()).is_some())
        && filter.environment.as_ref().is_none_or(|name| catalogue.ladder.find(name.as_str()).is_some())
}
