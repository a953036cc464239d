//! What the bot says stays inside the limits, whatever it is about.

use jiff::Timestamp;
use proptest::prelude::*;

use crate::domain::environment::{Catalogue, EnvironmentName, Ladder};
use crate::domain::listing::{Cell, Filter, Listing};
use crate::domain::message::{MessageKey, To};
use crate::domain::rollout::RolloutState;
use crate::domain::sample;
use crate::domain::text::Difference;
use crate::sim::slack::check_blocks;
use crate::slack::render::list::{For, list};
use crate::slack::render::{Said, text};

fn catalogue(rungs: usize, artefacts: usize, name: usize) -> Catalogue {
    let template = sample::catalogue().ladder.rungs()[0].clone();
    let rung = |n: usize| {
        let mut rung = template.clone();
        rung.name = EnvironmentName::new(&format!("{}{n}", "e".repeat(name)));
        rung
    };
    let ladder = Ladder::new((0..rungs).map(rung).collect());
    let artefact = |n: usize| sample::artefact(&format!("{}{n:04}", "a".repeat(name)), "acme/a", &ladder);
    Catalogue { artefacts: (0..artefacts).map(artefact).collect(), ladder: ladder.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_page_of_a_list_fits(
        rungs in 2_usize..30, artefacts in 0_usize..130, name in 1_usize..80,
        version in "[A-Za-z0-9_.-]{1,128}", reason in "\\PC{0,300}", page in 0_usize..5, one in any::<bool>(),
    ) {
        let catalogue = catalogue(rungs, artefacts, name);
        let filter = Filter { artefact: None, environment: one.then(|| catalogue.ladder.rungs()[0].name.clone()) };
        let listing = Listing::page(&catalogue, filter, page, |_, _| Cell {
            version: Some(version.as_str().into()),
            state: RolloutState::Degraded { reason: reason.as_str().into() },
            since: Some(Timestamp::UNIX_EPOCH),
            behind: Some(true),
        });
        let said = list(&listing, For::Person, Timestamp::UNIX_EPOCH);
        let message = said.to(To::Edit { key: MessageKey::new("list") });
        prop_assert_eq!(check_blocks(&message.blocks), Ok(()));
        prop_assert_eq!(check_blocks(message.plain.as_ref().unwrap_or(&message.blocks)), Ok(()));
    }
    #[test]
    fn any_difference_fits(
        old in "(\\PC{0,20}\n){0,60}", new in "([<>&`\ta b.]{0,90}\n?){0,60}", chars in any::<String>(), most in 0_usize..4_000,
    ) {
        for (old, new) in [(&old, &new), (&new, &chars), (&chars, &old)] {
            for difference in [Difference::of(old, new), Difference::from_patch(&Difference::of(old, new).unified(&chars))] {
                let shown = text::difference(&difference, most);
                if shown.blocks.is_empty() {
                    continue;
                }
                let said = Said { text: "what differs".to_owned(), blocks: shown.blocks };
                let message = said.to(To::Edit { key: MessageKey::new("diff") });
                prop_assert_eq!(check_blocks(&message.blocks), Ok(()));
                let plain = message.plain.as_ref().unwrap_or(&message.blocks);
                prop_assert_eq!(check_blocks(plain), Ok(()));
                let fenced = plain[0]["text"]["text"].as_str().unwrap_or("``````").matches("```").count();
                prop_assert_eq!(fenced, 2, "nothing breaks out of the fence");
            }
        }
    }
}
