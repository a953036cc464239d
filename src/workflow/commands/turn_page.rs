//! Another page of an answer, in the place of the one that was shown; or the same for all.

use crate::adapters::slack::render::page_buttons::{For, Request, Turn, Way};
use crate::adapters::store::Transaction;
use crate::domain::model::message::Destination;
use crate::domain::view::list::ListFilter;

use crate::workflow::context::Bot;
use crate::workflow::requests::dispatch::{Asked, stored};
use crate::workflow::requests::inbox::{NotNow, Work};

impl Bot {
    pub(crate) async fn turned_page(&self, asked: Asked<'_>, turn: Turn) -> Result<Work, NotNow> {
        let Asked { from, received, .. } = asked;
        let Some(response_url) = from.response_url(received.received_at) else { return Ok(Work::default()) };
        let whom = match turn.way {
            Way::Private => For::Person,
            Way::Open => For::Channel { shared_by: None },
            Way::Share => For::Channel { shared_by: Some(&from.person) },
        };
        let said = match turn.request {
            Request::List { filter, page } => self.list(filter, page, whom),
            Request::Status { filter, .. } | Request::History { filter, .. } if !self.can_be_typed(&filter) => {
                return Ok(Work::default());
            }
            Request::Status { filter, cursor } => {
                self.status(filter, cursor, whom).await.map_err(|error| stored(&error))?
            }
            Request::Diff { source, target, page } => match self.diff_page(&source, &target, page, whom).await {
                Some(said) => said,
                None => return Ok(Work::default()),
            },
            Request::History { filter, count, cursor } => {
                self.history(filter, count, cursor, whom).await.map_err(|error| stored(&error))?
            }
        };
        let (in_channel, replace) = (turn.way != Way::Private, turn.way != Way::Share);
        Ok(Transaction::new().say(said.to(Destination::Reply { response_url, in_channel, replace })).into())
    }

    /// A button says no more than anybody could type.
    fn can_be_typed(&self, filter: &ListFilter) -> bool {
        let catalogue = &self.config.catalogue;
        filter.artefact.as_ref().is_none_or(|name| catalogue.find_artefact(name.as_str()).is_some())
            && filter.environment.as_ref().is_none_or(|name| catalogue.ladder.find(name.as_str()).is_some())
    }
}
