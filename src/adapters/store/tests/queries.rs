//! Prepares every query of the store with the real engine, so that errors in rarely used functions are found.

use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};
use syn::visit::{self, Visit};

use super::*;
use crate::domain::view::history::LedgerPosition;
use crate::domain::view::list::ListFilter;
use crate::domain::view::page::Cursor;

/// Functions of sqlx that take a whole statement.
const WHOLE: [&str; 3] = ["query", "query_as", "query_scalar"];

#[derive(Default)]
struct Queries {
    whole: Vec<String>,
    /// Calls with a statement that is not a literal.
    computed: usize,
    /// Statements that are built at run time.
    built: usize,
}

impl<'ast> Visit<'ast> for Queries {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func {
            let path: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                [.., "raw_sql"] => self.computed += 1,
                ["sqlx", name] if WHOLE.contains(&name) => match call.args.first() {
                    Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) => {
                        self.whole.push(text.value());
                    }
                    _ => self.computed += 1,
                },
                [.., "QueryBuilder", "new" | "default"] => self.built += 1,
                _ => {}
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }
}

fn queries() -> Queries {
    let mut queries = Queries::default();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adapters/store")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_stem().unwrap() == "tests" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let file = syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap();
                queries.visit_file(&file);
            }
        }
    }
    queries
}

#[tokio::test]
async fn the_engine_can_prepare_every_query() {
    let queries = queries();
    assert!(queries.whole.len() > 60, "{} queries were found", queries.whole.len());
    assert_eq!(queries.computed, 3, "probe.rs and open.rs have statements in variables, which their tests run");
    let fixture = Fixture::new().await;
    let mut connection = fixture.store.0.readers.acquire().await.unwrap();
    let wrong = (&mut *connection).prepare(AssertSqlSafe("SELECT nothing FROM inbox").into_sql_str()).await;
    assert!(wrong.is_err(), "the engine checks the columns");
    for query in queries.whole {
        let prepared = (&mut *connection).prepare(AssertSqlSafe(query.clone()).into_sql_str()).await;
        assert!(prepared.is_ok(), "{:?}: {query}", prepared.err());
    }
}

/// Runs the statements that are built at run time, in all of their forms.
#[tokio::test]
async fn every_query_built_at_run_time_can_be_executed() {
    assert_eq!(queries().built, 9, "a query was added or removed: run it below");
    let Fixture { store, .. } = &Fixture::new().await;
    let (checkout, qa) = (ArtefactName::new("checkout"), EnvironmentName::new("qa"));
    for queue in [InboxQueue::Requests, InboxQueue::Webhooks] {
        assert!(store.list_due_inbox_items(queue, 1).await.unwrap().is_empty());
        assert_eq!(store.find_next_inbox_due(queue, start()).await.unwrap(), None);
    }
    assert!(store.list_recent_sightings(&[&checkout], 1).await.unwrap().is_empty());
    assert_eq!(store.list_newest_entries(LedgerKind::Report, 1).await.unwrap(), []);
    for artefact in [None, Some(checkout)] {
        for environment in [None, Some(qa.clone())] {
            for cursor in [Cursor::Start, Cursor::Earlier(LedgerPosition(9)), Cursor::Later(LedgerPosition(1))] {
                let filter = ListFilter { artefact: artefact.clone(), environment: environment.clone() };
                assert!(store.list_history_entries(&filter, cursor, 1).await.unwrap().is_empty());
            }
        }
    }
    assert!(store.find_stage_starts(&[sample::change().id]).await.unwrap().is_empty());
    assert!(store.find_message_locations(&[MessageKey::new("card:1")]).await.unwrap().is_empty());
    let (shop, sha) = ("acme/shop".parse().unwrap(), sample::sha('a'));
    assert!(store.list_compared_pairs(&shop, &sha, &[&sha]).await.unwrap().is_empty());
    assert!(store.find_restored_commits(&shop, &[&sha]).await.unwrap().is_empty());
}
