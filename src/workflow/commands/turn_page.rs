//! Another page of an answer, in the place of the one that was shown; or the same for all.

use crate::adapters::slack::render::page_buttons::{PageAction, PageMode, PageRequest, Viewer};
use crate::adapters::store::Transaction;
use crate::domain::model::message::Destination;
use crate::domain::view::list::ListFilter;

use crate::workflow::context::Context;
use crate::workflow::error::RetryLater;
use crate::workflow::requests::reply::Request;
use crate::workflow::requests::reply::Response;

impl Context {
    pub(crate) async fn turn_page(&self, asked: Request<'_>, turn: PageAction) -> Result<Response, RetryLater> {
        let Request { from, received, .. } = asked;
        let Some(response_url) = from.build_response_url(received.received_at) else { return Ok(Response::default()) };
        let whom = match turn.mode {
            PageMode::Private => Viewer::Person,
            PageMode::Public => Viewer::Channel { shared_by: None },
            PageMode::Share => Viewer::Channel { shared_by: Some(&from.person) },
        };
        let said = match turn.request {
            PageRequest::List { filter, page } => self.render_list(filter, page, whom),
            PageRequest::Status { filter, .. } | PageRequest::History { filter, .. } if !self.can_be_typed(&filter) => {
                return Ok(Response::default());
            }
            PageRequest::Status { filter, cursor } => {
                self.render_status(filter, cursor, whom).await.map_err(|error| RetryLater::from_store_error(&error))?
            }
            PageRequest::Diff { source, target, page } => {
                match self.render_diff_page(&source, &target, page, whom).await {
                    Some(said) => said,
                    None => return Ok(Response::default()),
                }
            }
            PageRequest::History { filter, count, cursor } => self
                .render_history(filter, count, cursor, whom)
                .await
                .map_err(|error| RetryLater::from_store_error(&error))?,
        };
        let (in_channel, replace) = (turn.mode != PageMode::Private, turn.mode != PageMode::Share);
        Ok(Transaction::new()
            .enqueue_message(said.into_message(Destination::Reply { response_url, in_channel, replace }))
            .into())
    }

    /// A button says no more than anybody could type.
    fn can_be_typed(&self, filter: &ListFilter) -> bool {
        let catalogue = &self.config.catalogue;
        filter.artefact.as_ref().is_none_or(|name| catalogue.find_artefact(name.as_str()).is_some())
            && filter.environment.as_ref().is_none_or(|name| catalogue.ladder.find(name.as_str()).is_some())
    }
}
