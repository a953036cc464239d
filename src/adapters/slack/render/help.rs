//! Help, and answers to commands that were not understood: usage and examples from the parser's table of commands.

use super::Rendered;
use super::blocks::{context, section};
use super::mrkdwn::Mrkdwn;
use crate::domain::command::{COMMANDS, CommandParseError, CommandSpec, Verb};
use crate::domain::model::catalogue::Catalogue;

pub fn render_help(about: Option<Verb>, catalogue: &Catalogue) -> Rendered {
    match about {
        Some(verb) => render_verb_help(verb.spec(), catalogue),
        None => render_overview(catalogue),
    }
}

/// For a channel that Gantry was invited to: two sentences, and three examples with existing names.
pub fn render_welcome(catalogue: &Catalogue) -> Rendered {
    let sentences = Mrkdwn::new("I move artefacts from one environment to the next, and tell what really runs there. ")
        .raw("Type a command, or mention me in a thread: ")
        .code("/gantry help")
        .raw(" shows all that I understand.");
    let examples = [Verb::List, Verb::Promote, Verb::Diff].map(|verb| {
        let entry = verb.spec();
        // The longest example names the most arguments.
        let example = entry.examples.iter().filter(|example| !example.contains("--")).max_by_key(|text| text.len());
        (format_command(entry, &fill_placeholders(example.unwrap_or(&entry.usage), catalogue)), entry.summary)
    });
    let lines = examples.iter().fold(Mrkdwn::default(), |lines, (example, summary)| {
        let lines = if lines.as_str().is_empty() { lines } else { lines.raw("\n") };
        lines.raw("\u{2022} ").code(example).raw(" ").raw(summary)
    });
    Rendered { text: sentences.as_str().to_owned(), blocks: vec![section(sentences), section(lines)] }
}

fn render_overview(catalogue: &Catalogue) -> Rendered {
    let mut lines = Mrkdwn::new("*I move artefacts from one environment to the next.*");
    for entry in COMMANDS {
        lines = lines.raw("\n\u{2022} ").code(&format_command(entry, entry.usage)).raw(" ").raw(entry.summary);
    }
    let ladder = describe_ladder(catalogue);
    let hints = Mrkdwn::new("In a thread: ")
        .code("@gantry list")
        .raw(". More about one: ")
        .code("/gantry help promote")
        .raw(".");
    let text =
        "I understand: ".to_owned() + &COMMANDS.iter().map(|entry| entry.names[0]).collect::<Vec<_>>().join(", ");
    Rendered { text, blocks: vec![section(lines), context(ladder), context(hints)] }
}

fn render_verb_help(entry: &'static CommandSpec, catalogue: &Catalogue) -> Rendered {
    let usage = format_command(entry, entry.usage);
    let text = Mrkdwn::default().code(&usage).raw("\n").raw(entry.summary);
    let blocks = vec![section(text), section(format_examples(entry, catalogue)), context(describe_ladder(catalogue))];
    Rendered { text: format!("{usage}: {}", entry.summary), blocks }
}

pub fn render_misunderstanding(error: &CommandParseError, catalogue: &Catalogue) -> Rendered {
    let (sentence, entry) = match error {
        CommandParseError::UnknownVerb { word, suggestion } => {
            let sentence = Mrkdwn::new("I do not know ").code(word).raw(". ");
            match suggestion.and_then(|suggestion| COMMANDS.iter().find(|entry| entry.names.contains(&suggestion))) {
                Some(entry) => (sentence.raw("Did you mean ").code(entry.names[0]).raw("?"), Some(entry)),
                None => (sentence.raw("This is what I understand:"), None),
            }
        }
        CommandParseError::UnknownArtefact { word, suggestion } => {
            let sentence = Mrkdwn::new("There is no artefact ").code(word).raw(". ");
            let sentence = match suggestion {
                Some(suggestion) => sentence.raw("Did you mean ").code(suggestion.as_str()).raw("?"),
                None => sentence.raw("There ").append(&list_artefacts(catalogue)),
            };
            return render_sentence(sentence);
        }
        CommandParseError::UnknownEnvironment { verb, word, suggestion } => {
            let sentence = Mrkdwn::new("There is no environment ").code(word).raw(". ");
            let sentence = match suggestion {
                Some(suggestion) => sentence.raw("Did you mean ").code(suggestion.as_str()).raw("?"),
                None => sentence.append(&describe_ladder(catalogue)),
            };
            (sentence, Some(verb.spec()))
        }
        CommandParseError::MissingArgument { verb, argument } => (
            Mrkdwn::default().code(verb.name()).raw(" needs ").raw(choose_article(argument)).raw(argument).raw("."),
            Some(verb.spec()),
        ),
        CommandParseError::RepeatedArgument { verb, argument, word } => (
            Mrkdwn::default()
                .code(verb.name())
                .raw(" takes one ")
                .raw(argument)
                .raw(" at a time: send ")
                .code(word)
                .raw(" as a command of its own."),
            Some(verb.spec()),
        ),
        CommandParseError::UnexpectedArgument { verb, word } => (
            Mrkdwn::new("I do not know what ").code(word).raw(" means in ").code(verb.name()).raw("."),
            Some(verb.spec()),
        ),
        CommandParseError::UnknownFlag { verb, word, suggestion } => {
            let sentence = Mrkdwn::default().code(verb.name()).raw(" has no ").code(&format!("--{word}")).raw(".");
            let sentence = match suggestion {
                Some(suggestion) => sentence.raw(" Did you mean ").code(&format!("--{suggestion}")).raw("?"),
                None => sentence,
            };
            (sentence, Some(verb.spec()))
        }
    };
    let Some(entry) = entry else {
        let mut help = render_overview(catalogue);
        sentence.as_str().clone_into(&mut help.text);
        help.blocks.insert(0, section(sentence));
        return help;
    };
    let text = sentence.as_str().to_owned();
    let usage = Mrkdwn::new("Usage: ").code(&format_command(entry, entry.usage));
    Rendered { text, blocks: vec![section(sentence), section(usage), section(format_examples(entry, catalogue))] }
}

fn render_sentence(sentence: Mrkdwn) -> Rendered {
    let text = sentence.as_str().to_owned();
    Rendered { text, blocks: vec![section(sentence)] }
}

fn choose_article(noun: &str) -> &'static str {
    match noun {
        "artefact" | "environment" => "an ",
        "change" | "reason" => "a ",
        _ => "",
    }
}

/// `/list ...` if the verb has its own slash command, otherwise `/gantry help ...`.
fn format_command(entry: &CommandSpec, text: &str) -> String {
    if entry.has_slash_command { format!("/{text}") } else { format!("/gantry {text}") }
}

fn format_examples(entry: &CommandSpec, catalogue: &Catalogue) -> Mrkdwn {
    let mut lines = Mrkdwn::new("For example: ");
    for (index, example) in entry.examples.iter().enumerate() {
        lines = if index == 0 { lines } else { lines.raw(" or ") };
        lines = lines.code(&format_command(entry, &fill_placeholders(example, catalogue)));
    }
    lines
}

/// An example with existing names.
fn fill_placeholders(example: &str, catalogue: &Catalogue) -> String {
    let environments = catalogue.ladder.environments();
    let name = |index: usize| environments.get(index).map_or("qa", |environment| environment.name.as_str());
    let artefact = catalogue.artefacts.first().map_or("checkout", |artefact| artefact.name.as_str());
    example.replace("{artefact}", artefact).replace("{environment}", name(1)).replace("{below}", name(0))
}

fn describe_ladder(catalogue: &Catalogue) -> Mrkdwn {
    let mut line = Mrkdwn::new("The environments are ");
    for (index, environment) in catalogue.ladder.environments().iter().enumerate() {
        line = if index == 0 { line } else { line.raw(" \u{2192} ") };
        line = line.code(environment.name.as_str());
    }
    line.raw(".")
}

/// Some of the names; hundreds would make the answer unreadable.
fn list_artefacts(catalogue: &Catalogue) -> Mrkdwn {
    const SHOWN: usize = 10;
    let mut line = Mrkdwn::new("are ");
    for (index, artefact) in catalogue.artefacts.iter().take(SHOWN).enumerate() {
        line = if index == 0 { line } else { line.raw(", ") };
        line = line.code(artefact.name.as_str());
    }
    match catalogue.artefacts.len().saturating_sub(SHOWN) {
        0 => line.raw("."),
        more => line.raw(" and ").plain(&more.to_string()).raw(" more: ").code("/list").raw(" shows them."),
    }
}
