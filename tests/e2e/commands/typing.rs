//! Help, typing errors, and the place of the answer to a command in a channel, a thread or a direct message.

use insta::assert_snapshot;

use gantry::domain::command::{self, COMMANDS};

use crate::architecture::house::root;
use crate::harness::world::World;

/// The docs use the names of the demo's catalogue.
#[tokio::test]
async fn the_docs_have_the_usage_of_every_command_and_only_valid_examples() {
    let world = World::open().await;
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let reference = read("docs/commands.md");
    for spec in COMMANDS {
        assert!(reference.contains(&format!("\n{}\n", spec.usage)), "docs/commands.md lacks: {}", spec.usage);
    }
    let mut checked = 0;
    for path in ["README.md", "docs/commands.md", "docs/faq.md", "docs/how-it-works.md"] {
        for span in read(path)
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|span| span.contains(' ') && !span.contains(['<', '[', '\n']))
        {
            let slash = ["/list", "/promote", "/rollback", "/diff"].iter().any(|name| span.starts_with(name));
            let text = match span.strip_prefix("/gantry").or_else(|| span.strip_prefix("@gantry ")) {
                Some(text) => text,
                None if slash => &span[1..],
                None => continue,
            };
            let parsed = command::parse(text, &world.bot.config.catalogue);
            assert!(parsed.is_ok(), "{path}: {span}: {parsed:?}");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}

#[tokio::test]
async fn an_empty_command_shows_all_commands() {
    let world = World::open().await;
    assert_snapshot!(world.alice().types("/gantry").await, @"
    *I move artefacts from one environment to the next.*
    • `/list [artefact] [environment]` which version runs where, in what state
    • `/promote &lt;artefact&gt; [environment] [@version] [--dry-run] [--override reason]` move an artefact to the next environment, or to the one named
    • `/rollback &lt;artefact&gt; &lt;environment&gt; [version] [--reason text]` return an environment to the version that ran well before, or to the one named
    • `/diff &lt;source&gt; &lt;target&gt; [artefact] [--code]` what differs between two environments, and what to do about it
    • `/gantry where &lt;commit|pull request|tag&gt; [artefact]` which environments run code that contains it, and what it waits for in the next
    • `/gantry why &lt;artefact&gt; [environment]` what stands between an artefact and an environment
    • `/gantry status [change] [artefact] [environment]` which changes are under way, or how one stands
    • `/gantry history [artefact] [environment] [number]` what happened, by whom, and how long it took
    • `/gantry cancel &lt;change&gt;` stop a change that is not merged yet; the card shows its eight digits
    • `/gantry reject &lt;change&gt; &lt;reason&gt;` say no to a change that waits for approval; its card has the button
    • `/gantry lock &lt;environment&gt; [artefact] [for 2h] &lt;reason&gt;` let nobody change an environment, or one artefact there
    • `/gantry unlock &lt;environment&gt; [artefact]` end a lock
    • `/gantry locks [environment]` what is locked, by whom and why
    • `/gantry release &lt;artefact&gt; &lt;version&gt;` let a version come back that was rolled back from
    • `/gantry doctor` whether I can work with Slack, GitHub, clusters and registries, and what to repair
    • `/gantry help [command]` what I understand
    The environments are `development` → `qa` → `staging` → `prod`.
    In a thread: `@gantry list`. More about one: `/gantry help promote`.
    ");
}

#[tokio::test]
async fn help_about_one_command_has_examples_to_copy() {
    let world = World::open().await;
    let help = world.alice().types("/gantry help promote").await;
    assert_snapshot!(help, @"
    `/promote &lt;artefact&gt; [environment] [@version] [--dry-run] [--override reason]`
    move an artefact to the next environment, or to the one named
    For example: `/promote checkout` or `/promote checkout to qa` or `/promote checkout --dry-run`
    The environments are `development` → `qa` → `staging` → `prod`.
    ");
    assert_eq!(world.alice().types("/promote help").await, help);
}

#[tokio::test]
async fn a_typing_error_is_answered_at_once_with_a_suggestion() {
    let world = World::open().await;
    let mut answers = Vec::new();
    for typed in [
        "/gantry promtoe checkout",
        "/promote chekout qa",
        "/promote checkout pord",
        "/promote",
        "/list nothing",
        "/diff qa",
        "/promote checkout qa now",
        "/gantry deploy",
    ] {
        let answer = world.alice().types(typed).await;
        answers.push(format!("{typed}\n{}", answer.lines().next().unwrap_or_default()));
    }
    assert_snapshot!(answers.join("\n\n"), @"
    /gantry promtoe checkout
    I do not know `promtoe`. Did you mean `promote`?

    /promote chekout qa
    There is no artefact `chekout`. Did you mean `checkout`?

    /promote checkout pord
    There is no environment `pord`. Did you mean `prod`?

    /promote
    `promote` needs an artefact.

    /list nothing
    There is no artefact `nothing`. There are `checkout`, `mailer`, `search`, `storefront`.

    /diff qa
    `diff` needs two environments.

    /promote checkout qa now
    I do not know what `now` means in `promote`.

    /gantry deploy
    I do not know `deploy`. This is what I understand:
    ");
    assert_eq!(world.sim.slack.calls().get("response_url"), None, "each answer is the acknowledgement itself");
}

#[tokio::test]
async fn a_mention_in_a_thread_is_answered_publicly_in_the_thread() {
    let world = World::open().await;
    world.push("checkout", "Something to talk about");
    world.settle().await;
    let parent = world.last_message("alice", "deploys").id;
    world.alice().posts("deploys", Some(&parent), "@gantry list checkout").await;
    let answer = world.last_message("bob", "deploys");
    assert_eq!(answer.thread.as_deref(), Some(parent.as_str()));
    assert!(crate::harness::world::render_message(&answer).starts_with("Where *checkout* runs"), "{answer:?}");
}

#[tokio::test]
async fn a_typing_error_in_a_thread_is_answered_privately() {
    let world = World::open().await;
    world.push("checkout", "Something to talk about");
    world.settle().await;
    let parent = world.last_message("alice", "deploys").id;
    world.alice().posts("deploys", Some(&parent), "@gantry lsit").await;
    assert!(world.public_messages("deploys").iter().all(|text| !text.contains("Did you mean")));
    assert!(world.ephemeral_messages("alice", "deploys").concat().contains("Did you mean `list`?"));
}

#[tokio::test]
async fn a_direct_message_is_answered_as_a_direct_message() {
    let world = World::open().await;
    for text in ["list checkout", "@gantry list checkout"] {
        world.alice().posts("@gantry", None, text).await;
        let answer = world.last_message("alice", "@gantry");
        assert!(crate::harness::world::render_message(&answer).starts_with("Where *checkout* runs"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_guest_is_rejected_even_for_help() {
    let world = World::open().await;
    world.dave().types("/list").await;
    assert!(world.dave().reads().contains("you are a guest here"), "{}", world.dave().reads());
    assert!(world.dave().types("/list").await.contains("you are a guest here"), "the role is cached");
    assert!(world.dave().types("/gantry help").await.contains("you are a guest here"));
}
