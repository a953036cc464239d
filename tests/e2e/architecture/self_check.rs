//! Tests of the checker itself, on small sources in memory: each check finds its violation, and nothing else.

use super::codebase::{Codebase, SourceFile};
use super::comments::{CommentLines, count_comment_lines};
use super::{
    Figure, ImportRule, Measurement, RatchetLimit, check_limit, find_broken_laws, find_forbidden_imports, select_rules,
};

fn read_files(files: &[(&str, &str)]) -> Codebase {
    Codebase::from_files(files.iter().map(|(path, text)| SourceFile::from_text(path, text)).collect())
}

const TWO_RULES: &[ImportRule] = &[
    ImportRule { of: &["crate::domain"], within: "crate", may_import: &[] },
    ImportRule { of: &["crate::slack"], within: "crate", may_import: &["crate"] },
];

#[test]
fn a_forbidden_import_is_found_in_every_form() {
    let wrong = [
        "use crate::{\n    domain::b::B,\n    slack::{\n        self as chat,\n        Client,\n    },\n};",
        "use super::super::slack::Client;",
        "use self::super::super::slack::{Client as C};",
        "use crate::slack::*;",
        "use crate::slack::Client as _;",
        "fn f() { use crate::slack::Client; }",
        "fn f() { super::super::slack::send(); }",
        "fn f(client: &Vec<crate::slack::Client>) {}",
        "fn f() { if let crate::slack::Event::Click { .. } = e {} }",
        "fn f() { assert!(x, \"{}\", crate::slack::send()); }",
        "fn f() { tokio::select! { _ = async { super::super::slack::send().await } => {} } }",
        "macro_rules! m { () => { use $crate::{domain, slack::Client}; } }",
        "#[derive(Serialize)]\nstruct S {\n    #[serde(with = \"crate::slack::micros\")]\n    at: u8,\n}",
        "use super::b::Hidden;",
        "#[cfg(test)]\nmod tests {\n    use super::super::super::slack::Client;\n}",
    ];
    let right = [
        "use crate::{\n    domain::b::B,\n};\nuse super::b;\nfn f() { super::b::g(); }",
        "use slack::Client;\nuse ::slack::Client as Other;",
        "// crate::slack\nconst TEXT: &str = \"crate::slack::Client\";",
        "pub(in crate::domain) fn f() { let slack = 1; slack.client(); }",
    ];
    for (text, expected) in wrong.map(|text| (text, true)).into_iter().chain(right.map(|text| (text, false))) {
        let code = read_files(&[
            ("lib.rs", "mod domain;\nmod slack;"),
            ("domain/mod.rs", "mod a;\nmod b;"),
            ("domain/a.rs", text),
            ("domain/b.rs", "pub use crate::slack::Client as Hidden;"),
            ("slack.rs", ""),
        ]);
        let found = find_forbidden_imports(&code, TWO_RULES, &[]);
        let found = found.iter().any(|message| message.starts_with("src/domain/a.rs must not import `crate::slack"));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_law_is_broken_by_an_import_and_by_a_call_of_a_context_method() {
    const LAWS: &[ImportRule] = &[
        ImportRule { of: &["crate::facts"], within: "crate", may_import: &["crate::context"] },
        ImportRule { of: &["crate::changes"], within: "crate::changes", may_import: &["crate::changes::part"] },
    ];
    let code = read_files(&[
        ("lib.rs", "mod changes;\nmod commands;\nmod context;\nmod facts;"),
        ("context.rs", "pub struct Bot;"),
        ("commands.rs", "impl crate::context::Bot {\n    pub fn promote(&self) {}\n}\npub fn list() {}"),
        ("facts.rs", "use crate::commands::list;\nuse crate::context::Bot;\nfn f(bot: &Bot) { bot.promote(); }"),
        ("changes.rs", "mod merge;\nmod part;\nmod verify;"),
        ("changes/part.rs", "pub fn tag() {}"),
        ("changes/merge.rs", "use super::part::tag;\npub fn merge() { tag(); }"),
        (
            "changes/verify.rs",
            "fn f(bot: &crate::context::Bot) { super::merge::merge(); super::part::tag(); bot.promote(); }",
        ),
    ]);
    let broken = |path: &str| {
        let file = code.files.iter().find(|file| file.path == path).unwrap();
        find_broken_laws(&code, file, LAWS).join(" ")
    };
    assert_eq!(broken("facts.rs"), "crate::commands");
    assert_eq!(broken("changes/verify.rs"), "crate::changes::merge");
    assert_eq!(broken("changes/merge.rs"), "");
}

#[test]
fn rules_can_be_narrower_than_a_folder() {
    const RULES: &[ImportRule] = &[
        ImportRule { of: &["crate::workflow"], within: "crate", may_import: &[] },
        ImportRule {
            of: &["crate::workflow::commands"],
            within: "crate::workflow",
            may_import: &["crate::workflow::facts"],
        },
        ImportRule { of: &["crate::workflow::commands::list"], within: "crate::workflow", may_import: &[] },
    ];
    let code = read_files(&[
        ("lib.rs", "mod workflow;\nmod lonely;"),
        ("lonely.rs", ""),
        ("workflow/mod.rs", "mod commands;\nmod facts;\nmod inbox;\nmod dispatch;"),
        ("workflow/commands.rs", "mod list;\nuse super::facts::Builds;\nuse super::inbox::run;"),
        ("workflow/commands/list.rs", "use super::super::facts::Builds;"),
        ("workflow/facts.rs", "use super::dispatch::send;"),
        ("workflow/inbox.rs", "use super::dispatch::send;"),
        ("workflow/dispatch.rs", ""),
    ]);
    let found = find_forbidden_imports(&code, RULES, &[("crate::workflow::dispatch", &["crate::workflow::inbox"])]);
    let expected = [
        "src/lonely.rs has no rule",
        "src/workflow/commands.rs must not import `crate::workflow::inbox::run`",
        "src/workflow/commands/list.rs must not import `crate::workflow::facts::Builds`",
        "src/workflow/facts.rs must not import `crate::workflow::dispatch::send`",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (message, begin) in found.iter().zip(expected) {
        assert!(message.starts_with(begin), "{message}");
    }
    assert_eq!(select_rules(&code.files[0], RULES).len(), 0, "lib.rs only declares modules");
}

#[test]
fn a_cycle_is_found_through_imports_and_context_methods() {
    let asks = "use super::Bot;\nimpl Bot {\n    fn ask(&self) { self.answer() }\n}";
    let pair = &["workflow/a.rs", "workflow/b.rs"][..];
    let none = &[][..];
    for (a, b, expected) in [
        (asks, "impl Bot { fn answer(&self) { self.ask() } }", pair),
        (asks, "impl Bot { fn answer(&self) { let this = self.clone(); spawn(move || this.ask()) } }", pair),
        (asks, "impl Bot { fn answer(&self) { let f = Self::ask; } }", pair),
        (asks, "impl Bot { fn answer(&self) { join!(self.ask(), other) } }", pair),
        (asks, "impl Bot { fn answer(&self) {} }\nfn f(handle: &Bot) { Bot::ask(handle) }", pair),
        (asks, "impl Bot { fn answer(&self) {} }\nfn f(handle: &Bot) { handle.ask() }", pair),
        (asks, "impl Bot { fn answer(&self) {} }\nimpl Runner { fn f(&self) { (&self.bot).ask() } }", pair),
        // A method of another type or of a test is no edge.
        (asks, "impl Bot { fn answer(&self) { self.list.ask() } }", none),
        (asks, "impl Bot { fn answer(&self) {} }\nimpl List { fn f(&self) { self.ask() } }", none),
        (asks, "impl Bot { fn answer(&self) {} }\n#[cfg(test)]\nmod tests { fn f(bot: Bot) { bot.ask() } }", none),
        // A re-export leads to the definition, and is no edge of the file that has it.
        ("pub struct A;\nuse super::b::B;", "pub struct B;\nuse super::A;", pair),
        ("pub struct A(super::Bot);", "pub struct B(super::Bot);", none),
        ("pub struct A;\nuse super::b::B;", "pub struct B;\n#[cfg(test)]\nuse super::a::A;", none),
    ] {
        let code = read_files(&[
            ("lib.rs", "mod workflow;"),
            ("workflow/mod.rs", "mod a;\nmod b;\npub use a::A;\npub struct Bot;"),
            ("workflow/a.rs", a),
            ("workflow/b.rs", b),
        ]);
        let cycles = code.find_cycles(|file| file.is_below("crate::workflow"));
        assert_eq!(cycles.concat(), expected, "{a}\n{b}");
    }
}

#[test]
fn figures_ignore_tests_trait_impls_and_associated_types() {
    let text = "//! One.\n//! Two.\n//! Three.\n//! Four.\n\nstruct Job;\nenum Row {}\n// what\nimpl Bot {\n    fn run(&self) {}\n    \
                fn find_job() {}\n}\nimpl Run for Bot {\n    type Job = Job;\n    fn stop(&self) {}\n}\n\
                #[cfg(test)]\nmod tests {\n    // what\n    struct Job;\n    fn more() {}\n    impl Bot {\n        fn extra() {}\n    }\n}\n";
    let code = read_files(&[
        ("lib.rs", "mod workflow;\nmod other;"),
        ("other.rs", "trait Job { type Item; fn call(); }\ntype Row = u8;\nfn become_() {}\nfn list_all() {}"),
        ("workflow.rs", "mod a;\n#[cfg(test)]\nmod fake;\n#[cfg(test)]\n#[path = \"workflow_tests.rs\"]\nmod tests;"),
        ("workflow/a.rs", text),
        ("workflow/fake.rs", "struct Job;\nfn one() {}"),
        ("workflow_tests.rs", "struct Job;\nuse super::a::Job as Other;\nfn one() {}"),
    ]);
    for (figure, value) in [
        (Figure::ContextMethods, 2),
        (Figure::RepeatedTypeNames, 1),
        (Figure::OneWordFunctions, 500),
        (Figure::VagueCommentLines, 200),
        (Figure::LongModuleDocs, 1),
        (Figure::LongFiles, 0),
    ] {
        let Measurement { value: measured, places } = figure.measure(&code);
        assert_eq!(measured, value, "{figure:?}: {places:#?}");
    }
    let a = code.files.iter().find(|file| file.path == "workflow/a.rs").unwrap();
    assert_eq!((a.doc_lines, a.lines), (4, 16));
}

#[test]
fn vague_words_in_comments_are_counted_by_line() {
    let lines = |all, vague: &[usize]| CommentLines { all, vague: vague.to_vec() };
    for (text, expected) in [
        ("//! What it is.\n\n/// Whoever asks, and whose.\nfn f() {} // whom", lines(3, &[1, 3, 4])),
        ("// Somewhat whatsoever who which", lines(1, &[])),
        ("// The field `what` and ``a ` whose`` of \"whatever you say\".", lines(1, &[])),
        ("// A message \"that goes\n// over what is two lines\" and ends. What?", lines(2, &[2])),
        ("// ```\n// what\n// ```\n// A 5\" disk.\n// what", lines(5, &[5])),
        ("// An open \" mark\n\n// what \" here", lines(2, &[3])),
        ("let a = \"// what\"; let b = r#\"\n// what \" \n\"#; let c = '\"'; // what", lines(1, &[3])),
        ("let a = \"\\\"// what\"; /* what // what */ let b = b'\\''; let c: &'a str = br\"// what\";", lines(0, &[])),
    ] {
        assert_eq!(count_comment_lines(text), expected, "{text}");
    }
}

#[test]
fn a_limit_fails_when_its_figure_rises_and_when_it_falls() {
    for (figure, limit, value, expected) in [
        (Figure::ContextMethods, 10, 10, ""),
        (Figure::ContextMethods, 10, 11, "rose from 10 to 11"),
        (Figure::ContextMethods, 10, 9, "lower the limit to 9 in this commit"),
        (Figure::OneWordFunctions, 670, 670, ""),
        (Figure::OneWordFunctions, 670, 671, "rose from 67.0 % to 67.1 %"),
        (Figure::OneWordFunctions, 670, 661, ""),
        (Figure::OneWordFunctions, 670, 660, "lower the limit to 660 in this commit"),
    ] {
        let row = RatchetLimit { figure, limit, goal: "0" };
        let result = check_limit(&row, &Measurement { value, places: vec!["src/a.rs: run".to_owned()] });
        let message = result.err().unwrap_or_default();
        assert!(message.contains(expected) && message.is_empty() == expected.is_empty(), "{message}");
    }
}
