//! The buttons that turn pages in place, and the requests behind them.

use super::Rendered;
use super::blocks::{Button, actions, button, context, section};
use super::mrkdwn::Mrkdwn;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::ArtefactName;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::ChangeId;
use crate::domain::view::history::LedgerPosition;
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::{Cursor, Page};

pub const EARLIER: &str = "page:earlier";
pub const LATER: &str = "page:later";
/// The same buttons on a message that the whole channel sees; its pages turn for all.
pub const OPEN_EARLIER: &str = "page:open:earlier";
pub const OPEN_LATER: &str = "page:open:later";
/// Shows the whole channel a list that one person sees.
pub const SHARE_LIST: &str = "list:share";
/// On old lists, from the time when only lists had pages. Their buttons still work.
pub const LIST_EARLIER: &str = "list:earlier";
pub const LIST_LATER: &str = "list:later";
pub const LIST_OPEN_EARLIER: &str = "list:open:earlier";
pub const LIST_OPEN_LATER: &str = "list:open:later";

/// Slack accepts somewhat more in one message; the rest is for the headline and the buttons.
const MAX_CHARACTERS: usize = 12_000;
/// The text for notifications and screen readers.
const MAX_FALLBACK_TEXT: usize = 1000;

/// Who sees the message: the requester, or the channel, with the person who shared it.
#[derive(Clone, Copy, Debug)]
pub enum Viewer<'a> {
    Person,
    Channel { shared_by: Option<&'a PersonId> },
}

/// The request behind a button. Every person could also type it, so a forged button gains nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageRequest {
    List { filter: ListFilter, page: usize },
    Status { filter: ListFilter, cursor: Cursor<ChangeId> },
    History { filter: ListFilter, count: Option<u32>, cursor: Cursor<LedgerPosition> },
    Diff { source: EnvironmentName, target: EnvironmentName, page: usize },
}

/// The effect on the message with the button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageMode {
    /// The page turns for the one person who sees the message.
    Private,
    /// The page turns for all.
    Public,
    /// The message stays, and its content is posted to the channel.
    Share,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAction {
    pub request: PageRequest,
    pub mode: PageMode,
}

impl PageAction {
    /// `None` for other buttons.
    pub fn parse(action: &str, value: &str) -> Option<Self> {
        let mode = match action {
            EARLIER | LATER | LIST_EARLIER | LIST_LATER => PageMode::Private,
            OPEN_EARLIER | OPEN_LATER | LIST_OPEN_EARLIER | LIST_OPEN_LATER => PageMode::Public,
            SHARE_LIST => PageMode::Share,
            _ => return None,
        };
        Some(Self { request: PageRequest::parse(value)?, mode })
    }
}

impl PageRequest {
    pub(super) fn to_button_value(&self) -> String {
        let format_filter = |filter: &ListFilter| {
            let artefact = filter.artefact.as_ref().map_or("", |name| name.as_str());
            let environment = filter.environment.as_ref().map_or("", |name| name.as_str());
            [artefact, "|", environment].concat()
        };
        match self {
            // Every list has one, and `concat` is faster than `format!`.
            Self::List { filter, page } => ["list|", &page.to_string(), "|", &format_filter(filter)].concat(),
            Self::Status { filter, cursor } => {
                format!("status|{}|{}", format_cursor(cursor, ChangeId::to_string), format_filter(filter))
            }
            Self::History { filter, count, cursor } => {
                let count = count.map(|count| count.to_string()).unwrap_or_default();
                let cursor = format_cursor(cursor, |LedgerPosition(number)| number.to_string());
                format!("history|{count}|{cursor}|{}", format_filter(filter))
            }
            Self::Diff { source, target, page } => format!("diff|{page}|{source}|{target}"),
        }
    }

    /// Parses the value of a button. `None` for a forged value.
    fn parse(value: &str) -> Option<Self> {
        let (kind, rest) = value.split_once('|')?;
        Some(match kind {
            "list" => {
                let (page, names) = rest.split_once('|')?;
                Self::List { filter: parse_filter(names)?, page: page.parse().ok()? }
            }
            "status" => {
                let (cursor, names) = rest.split_once('|')?;
                Self::Status { filter: parse_filter(names)?, cursor: parse_cursor(cursor, ChangeId::parse)? }
            }
            "history" => {
                let (count, rest) = rest.split_once('|')?;
                let (cursor, names) = rest.split_once('|')?;
                let count = if count.is_empty() { None } else { Some(count.parse().ok()?) };
                let cursor = parse_cursor(cursor, |number| number.parse().ok().map(LedgerPosition))?;
                Self::History { filter: parse_filter(names)?, count, cursor }
            }
            "diff" => {
                let (page, names) = rest.split_once('|')?;
                let (source, target) = names.split_once('|')?;
                let (source, target) = (EnvironmentName::new(source), EnvironmentName::new(target));
                Self::Diff { source, target, page: page.parse().ok()? }
            }
            // The value of old lists, from the time when only lists had pages.
            page => Self::List { filter: parse_filter(rest)?, page: page.parse().ok()? },
        })
    }
}

fn parse_filter(names: &str) -> Option<ListFilter> {
    let (artefact, environment) = names.split_once('|')?;
    Some(ListFilter {
        artefact: (!artefact.is_empty()).then(|| ArtefactName::new(artefact)),
        environment: (!environment.is_empty()).then(|| EnvironmentName::new(environment)),
    })
}

fn format_cursor<T>(cursor: &Cursor<T>, value: impl Fn(&T) -> String) -> String {
    match cursor {
        Cursor::Start => String::new(),
        Cursor::Earlier(than) => format!("<{}", value(than)),
        Cursor::Later(than) => format!(">{}", value(than)),
    }
}

fn parse_cursor<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Cursor<T>> {
    if text.is_empty() {
        return Some(Cursor::Start);
    }
    match (text.strip_prefix('<'), text.strip_prefix('>')) {
        (Some(than), _) => parse(than).map(Cursor::Earlier),
        (_, Some(than)) => parse(than).map(Cursor::Later),
        _ => None,
    }
}

/// The buttons for the neighbouring pages, if there are any.
pub(super) fn build_page_buttons(
    viewer: Viewer<'_>,
    earlier: Option<&PageRequest>,
    later: Option<&PageRequest>,
) -> Vec<Button> {
    let (to_earlier, to_later) = match viewer {
        Viewer::Person => (EARLIER, LATER),
        Viewer::Channel { shared_by: None } => (OPEN_EARLIER, OPEN_LATER),
        // A shared message stays as the person saw it.
        Viewer::Channel { shared_by: Some(_) } => return Vec::new(),
    };
    let earlier = earlier.map(|request| button("Earlier", to_earlier, request.to_button_value()));
    let later = later.map(|request| button("Later", to_later, request.to_button_value()));
    earlier.into_iter().chain(later).collect()
}

/// One item of a page. Its cursor names the neighbouring pages.
pub(super) struct PageItem<C> {
    pub(super) cursor: C,
    /// Understandable without the other lines.
    pub(super) first: Mrkdwn,
    pub(super) rest: Vec<Mrkdwn>,
}

/// A message with a headline, a section for each item that fits, a note and the buttons.
pub(super) fn render_page<C: Copy>(
    head: Mrkdwn,
    page: Page<PageItem<C>>,
    note: Option<Mrkdwn>,
    viewer: Viewer<'_>,
    request: impl Fn(Cursor<C>) -> PageRequest,
) -> Rendered {
    let sections = page.map(|item| {
        let text = join_fitting_lines(item.first.clone(), item.rest);
        (item.cursor, item.first, text)
    });
    let sections = sections.truncate_to_fit(MAX_CHARACTERS, |(_, _, text)| text.as_str().chars().count());
    let neighbour_request = |exists: bool, item: Option<&(C, Mrkdwn, Mrkdwn)>, cursor: fn(C) -> Cursor<C>| {
        item.filter(|_| exists).map(|(position, ..)| request(cursor(*position)))
    };
    let earlier = neighbour_request(sections.has_earlier, sections.oldest(), Cursor::Earlier);
    let later = neighbour_request(sections.has_later, sections.newest(), Cursor::Later);
    let mut text = head.clone();
    let mut blocks = vec![section(head)];
    for (_, first, whole) in sections.items() {
        if text.as_str().len() < MAX_FALLBACK_TEXT {
            text = text.raw("\n").append(first);
        }
        blocks.push(section(whole.clone()));
    }
    blocks.extend(note.map(context));
    let buttons = build_page_buttons(viewer, earlier.as_ref(), later.as_ref());
    if !buttons.is_empty() {
        blocks.push(actions(buttons));
    }
    Rendered { text: text.into_string(), blocks }
}

/// Joins as many whole lines as fit into a section. A line that is cut in the middle of its mark-up would show raw
/// mark-up.
pub(super) fn join_fitting_lines(first: Mrkdwn, rest: Vec<Mrkdwn>) -> Mrkdwn {
    const MOST: usize = 2400;
    let mut text = first;
    let mut left_out = false;
    for line in rest {
        if text.as_str().chars().count() + line.as_str().chars().count() < MOST {
            text = text.raw("\n").append(&line);
        } else {
            left_out = true;
        }
    }
    if left_out { text.raw("\n\u{2026}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(artefact: &str) -> ListFilter {
        ListFilter { artefact: Some(ArtefactName::new(artefact)), environment: None }
    }

    #[test]
    fn a_button_value_round_trips_and_a_forged_one_is_refused() {
        let id = ChangeId::parse("01939f3e-5c00-7000-8000-00000badcafe").unwrap();
        for request in [
            PageRequest::List { filter: only("checkout"), page: 3 },
            PageRequest::Diff { source: EnvironmentName::new("qa"), target: EnvironmentName::new("prod"), page: 2 },
            PageRequest::Status { filter: ListFilter::default(), cursor: Cursor::Start },
            PageRequest::Status { filter: only("checkout"), cursor: Cursor::Later(id) },
            PageRequest::History {
                filter: only("checkout"),
                count: Some(20),
                cursor: Cursor::Earlier(LedgerPosition(7)),
            },
            PageRequest::History {
                filter: ListFilter::default(),
                count: None,
                cursor: Cursor::Later(LedgerPosition(-7)),
            },
        ] {
            assert_eq!(PageRequest::parse(&request.to_button_value()), Some(request));
        }
        for forged in [
            "",
            "x",
            "1",
            "-1||",
            "99999999999999999999||",
            "1|a",
            "list",
            "list|x||",
            "list|1|a",
            "status|<x||",
            "status|7||",
            "status|<|",
            "history|x|||",
            "history|1|<x||",
            "history|1|<1",
            "history|-1|<1||",
            "why|1||",
        ] {
            assert_eq!(PageRequest::parse(forged), None, "{forged}");
        }
    }

    #[test]
    fn buttons_of_old_lists_still_work() {
        let parse = |action| PageAction::parse(action, "3|checkout|").expect("a list");
        let request = PageRequest::List { filter: only("checkout"), page: 3 };
        assert_eq!(parse("list:earlier"), PageAction { request: request.clone(), mode: PageMode::Private });
        assert_eq!(parse("list:later"), PageAction { request: request.clone(), mode: PageMode::Private });
        assert_eq!(parse("list:open:later"), PageAction { request: request.clone(), mode: PageMode::Public });
        assert_eq!(parse("list:share"), PageAction { request, mode: PageMode::Share });
        assert_eq!(PageAction::parse("plan_confirm", "3|checkout|"), None);
    }

    #[test]
    fn a_line_that_does_not_fit_is_left_out_completely() {
        let line = |length| Mrkdwn::default().plain(&"x".repeat(length));
        let text = join_fitting_lines(line(10), vec![line(3000), line(5)]).into_string();
        assert_eq!(text, "xxxxxxxxxx\nxxxxx\n\u{2026}");
    }
}
