//! The bot is killed at any moment and started again: no message is lost, and at most one first post is doubled.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gantry::clock::Clock;
use gantry::sim::pace::Pace;
use gantry::sim::town::Town;
use jiff::SignedDuration;
use tokio::net::TcpListener;

/// Each is killed a little later than the one before.
const ROUNDS: u64 = 8;

struct Bot {
    child: Child,
}

impl Bot {
    fn start(folder: &std::path::Path, listen: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gantry"));
        command.args(["serve", "--listen", listen, "--config"]).arg(folder.join("gantry.yaml"));
        command.env_clear().env("DATABASE_URL", format!("sqlite://{}", folder.join("gantry.db").display()));
        let secrets = [
            "SLACK_SIGNING_SECRET",
            "SLACK_BOT_TOKEN",
            "GITHUB_TOKEN",
            "FLUX_DEVELOPMENT_SECRET",
            "FLUX_QA_SECRET",
            "FLUX_STAGING_SECRET",
            "FLUX_PROD_SECRET",
        ];
        command.env("KUBECONFIG", folder.join("kubeconfig"));
        command.envs(secrets.iter().map(|name| (*name, Town::secret(name).unwrap())));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child }
    }
}

/// `kill -9`, whether the test comes to it or fails before.
impl Drop for Bot {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tells(message: &gantry::sim::slack::Message, round: u64) -> bool {
    crate::town::shown(message).contains(&format!("Round {round} "))
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_any_moment_loses_no_message() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let quick = SignedDuration::from_millis(60);
    let pace = Pace { build: quick, notice: quick, replica: quick, deadline: quick * 20, retry: quick * 2 };
    let town = Town::new(Clock::system(), pace, &origin).unwrap();
    let address = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().to_string()
    };
    let bot_url = format!("http://{address}");
    town.slack.point_at(&bot_url);
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, town.kubeconfig()).unwrap();
    // Where the configuration names none, the variable does.
    let configuration = town.configuration(&kubeconfig).replace("kubeconfig: ", "# kubeconfig: ");
    std::fs::write(folder.path().join("gantry.yaml"), configuration).unwrap();
    let server = tokio::spawn({
        let router = town.router();
        async move { axum::serve(listener, router).await }
    });
    let agenda = tokio::spawn(town.agenda.clone().run(town.closing.clone()));
    let ready = async || reqwest::get(format!("{bot_url}/readyz")).await.is_ok_and(|answer| answer.status() == 200);
    // The first look records what runs, so that what comes after it is news.
    let seen_all = async || match reqwest::get(format!("{bot_url}/readyz")).await {
        Ok(answer) => answer.text().await.is_ok_and(|text| text.matches("\"readable\"").count() == 4),
        Err(_) => false,
    };

    let mut bot = Bot::start(folder.path(), &address);
    until("the bot has read the cluster", seen_all).await;
    // What is told now proves that the first look is over and stored.
    town.push("checkout", "develop", "Round 99", BTreeMap::new(), "alice").unwrap();
    until("the first look is over", async || {
        town.slack.messages("deploys", None).iter().any(|message| tells(message, 99))
    })
    .await;

    for round in 0..ROUNDS {
        town.push("checkout", "develop", &format!("Round {round}"), BTreeMap::new(), "alice").unwrap();
        // Each round is killed a little later: while it is built, rolled out, stored, said.
        tokio::time::sleep(Duration::from_millis(90 * (round + 1))).await;
        drop(bot);
        bot = Bot::start(folder.path(), &address);
        until("the bot is ready again", ready).await;
        until("the round is told", async || {
            town.slack.messages("deploys", None).iter().any(|message| tells(message, round))
        })
        .await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let messages = town.slack.messages("deploys", None);
    for round in 0..ROUNDS {
        let told = messages.iter().filter(|message| tells(message, round)).count();
        assert!((1..=2).contains(&told), "round {round} was told {told} times");
    }
    drop(bot);
    town.close();
    agenda.abort();
    server.abort();
}
