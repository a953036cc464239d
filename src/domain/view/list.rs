//! The contents of `list`: the version and state of each artefact in each environment, and which environments are
//! behind.

use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::model::artefact::{Artefact, ArtefactName};
use crate::domain::model::catalogue::Catalogue;
use crate::domain::model::environment::EnvironmentName;
use crate::domain::runtime::rollout::RolloutState;

/// Lines on one page. They stay far inside Slack's limits on tables and messages, even with long names.
pub const LINES_PER_PAGE: usize = 25;

/// Cells of a grid on one page. A wide grid has fewer lines.
const CELLS_PER_PAGE: usize = 80;

/// With up to this many environments, each one is a column. With more, each cell is a line, so that a page does not
/// become too wide.
pub const MAX_COLUMNS: usize = 6;

/// The requested part: everything, one artefact, one environment, or one cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub artefact: Option<ArtefactName>,
    pub environment: Option<EnvironmentName>,
}

/// The state of one artefact in one environment.
#[derive(Clone, Debug)]
pub struct ListCell {
    pub version: Option<Arc<str>>,
    pub state: RolloutState,
    pub since: Option<Timestamp>,
    /// The environment below runs code that is missing here; `None` until that is known.
    pub is_behind: Option<bool>,
    /// The version is known not to come from Git.
    pub not_from_git: bool,
}

/// One page of the list.
#[derive(Debug)]
pub struct Listing {
    pub filter: ListFilter,
    pub layout: ListLayout,
    pub page: usize,
    pub page_count: usize,
    /// The number of artefacts on all pages.
    pub artefact_count: usize,
}

#[derive(Debug)]
pub enum ListLayout {
    /// A line for each artefact, a column for each environment; `None` if the artefact is not in the environment.
    Grid { environments: Vec<EnvironmentName>, lines: Vec<(ArtefactName, Vec<Option<ListCell>>)> },
    /// A line for each artefact in each environment.
    Lines(Vec<(ArtefactName, EnvironmentName, ListCell)>),
}

impl Listing {
    /// Makes page `page`, counted from 0; a number past the end means the last page. `cell` is called only for cells on
    /// this page.
    pub fn from_catalogue(
        catalogue: &Catalogue,
        filter: ListFilter,
        page: usize,
        cell: impl Fn(&Artefact, &EnvironmentName) -> ListCell,
    ) -> Self {
        let names = catalogue.ladder.environments().iter().map(|environment| &environment.name);
        let environments: Vec<_> =
            names.filter(|name| filter.environment.as_ref().is_none_or(|only| only == *name)).collect();
        let all = &catalogue.artefacts[..];
        let artefacts = match &filter.artefact {
            Some(name) => catalogue.find_artefact(name.as_str()).map_or(&all[..0], std::slice::from_ref),
            None => all,
        };
        let is_narrow = filter.artefact.is_some() || filter.environment.is_some() || environments.len() > MAX_COLUMNS;
        let (layout, page, page_count) = if is_narrow {
            let count_places = |artefact: &'_ Artefact| {
                environments.iter().filter(|name| artefact.places.contains_key(**name)).count()
            };
            let total: usize = artefacts.iter().map(count_places).sum();
            let (page, page_count) = clamp_page(page, total, LINES_PER_PAGE);
            let lines = artefacts
                .iter()
                .flat_map(|artefact| environments.iter().map(move |name| (artefact, *name)))
                .filter(|(artefact, name)| artefact.places.contains_key(*name))
                .skip(page * LINES_PER_PAGE)
                .take(LINES_PER_PAGE)
                .map(|(artefact, name)| (artefact.name.clone(), name.clone(), cell(artefact, name)))
                .collect();
            (ListLayout::Lines(lines), page, page_count)
        } else {
            let page_size = (CELLS_PER_PAGE / environments.len().max(1)).min(LINES_PER_PAGE);
            let (page, page_count) = clamp_page(page, artefacts.len(), page_size);
            let lines = artefacts
                .iter()
                .skip(page * page_size)
                .take(page_size)
                .map(|artefact| {
                    let cells = environments
                        .iter()
                        .map(|name| artefact.places.contains_key(*name).then(|| cell(artefact, name)));
                    (artefact.name.clone(), cells.collect())
                })
                .collect();
            (ListLayout::Grid { environments: environments.into_iter().cloned().collect(), lines }, page, page_count)
        };
        Self { filter, layout, page, page_count, artefact_count: artefacts.len() }
    }
}

fn clamp_page(page: usize, lines: usize, page_size: usize) -> (usize, usize) {
    let page_count = lines.div_ceil(page_size).max(1);
    (page.min(page_count - 1), page_count)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counter;

    use super::*;
    use crate::domain::model::catalogue::Ladder;
    use crate::domain::sample;

    fn running(_: &Artefact, _: &EnvironmentName) -> ListCell {
        let version = Some("1".into());
        ListCell {
            version,
            state: RolloutState::Running { ready: 1 },
            since: None,
            is_behind: None,
            not_from_git: false,
        }
    }

    fn large_catalogue(artefacts: usize) -> Catalogue {
        let ladder = sample::catalogue().ladder;
        let artefacts = (0..artefacts).map(|n| sample::artefact(&format!("a{n:05}"), "acme/a", &ladder)).collect();
        Catalogue { ladder, artefacts }
    }

    #[test]
    fn the_whole_catalogue_is_a_grid_and_a_part_of_it_is_lines() {
        let catalogue = sample::catalogue();
        let all = Listing::from_catalogue(&catalogue, ListFilter::default(), 0, running);
        let ListLayout::Grid { environments, lines } = &all.layout else { panic!("expected a grid") };
        assert_eq!((environments.len(), lines.len(), all.page_count), (4, 4, 1));

        let one = ListFilter { artefact: Some(ArtefactName::new("checkout")), environment: None };
        let ListLayout::Lines(lines) = Listing::from_catalogue(&catalogue, one, 0, running).layout else {
            panic!("expected lines")
        };
        assert_eq!(
            lines.iter().map(|(_, name, _)| name.as_str()).collect::<Vec<_>>(),
            ["development", "qa", "staging", "prod"]
        );
    }

    #[test]
    fn an_artefact_that_is_not_in_an_environment_leaves_a_gap() {
        let mut catalogue = sample::catalogue();
        catalogue.artefacts[1].places.remove(&EnvironmentName::new("qa"));
        let ListLayout::Grid { lines, .. } =
            Listing::from_catalogue(&catalogue, ListFilter::default(), 0, running).layout
        else {
            panic!("expected a grid")
        };
        assert!(lines[1].1[1].is_none() && lines[1].1[0].is_some());
        let qa = ListFilter { artefact: None, environment: Some(EnvironmentName::new("qa")) };
        let ListLayout::Lines(lines) = Listing::from_catalogue(&catalogue, qa, 0, running).layout else {
            panic!("expected lines")
        };
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn cells_are_computed_only_for_the_shown_page() {
        let catalogue = large_catalogue(10_000);
        let calls = Counter::new(0);
        let count_calls = |artefact: &Artefact, name: &EnvironmentName| {
            calls.set(calls.get() + 1);
            running(artefact, name)
        };
        let listing = Listing::from_catalogue(&catalogue, ListFilter::default(), 499, count_calls);
        assert_eq!((listing.page_count, listing.page, calls.get()), (500, 499, CELLS_PER_PAGE));
        assert_eq!(Listing::from_catalogue(&catalogue, ListFilter::default(), usize::MAX, running).page, 499);
    }

    #[test]
    fn a_long_ladder_becomes_lines() {
        let mut catalogue = sample::catalogue();
        let environments = (0..30).map(|n| {
            let mut environment = catalogue.ladder.environments()[0].clone();
            environment.name = EnvironmentName::new(&format!("e{n:02}"));
            environment
        });
        catalogue.ladder = Ladder::new(environments.collect());
        let ladder = catalogue.ladder.clone();
        catalogue.artefacts = vec![sample::artefact("checkout", "acme/checkout", &ladder)];
        let listing = Listing::from_catalogue(&catalogue, ListFilter::default(), 1, running);
        let ListLayout::Lines(lines) = &listing.layout else { panic!("expected lines") };
        assert_eq!((lines.len(), listing.page_count), (5, 2));
    }
}
