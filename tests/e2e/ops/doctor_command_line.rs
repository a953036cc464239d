//! `gantry doctor` on the command line, also before the first `serve`: its lines, its exit code, and its answers when
//! secrets or services are missing.

use std::process::Output;
use std::time::{Duration, Instant};

use gantry::clock::Clock;
use gantry::sim::github::{FaultTiming, RequestFault};
use gantry::sim::pace::Pace;
use gantry::sim::world::{APP_TOKEN, World, webhook_secrets};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const BIN: &str = env!("CARGO_BIN_EXE_gantry");

/// A world without a bot, and a folder with the configuration for doctor.
struct DoctorFixture {
    world: World,
    folder: tempfile::TempDir,
    server: JoinHandle<()>,
}

impl Drop for DoctorFixture {
    fn drop(&mut self) {
        self.world.close();
        self.server.abort();
    }
}

impl DoctorFixture {
    async fn open(edit: impl FnOnce(&str) -> String) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let world = World::new(Clock::new_system(), Pace::default(), &origin).unwrap();
        let config = world.connect_details().write_kubeconfig(folder.path()).unwrap();
        std::fs::write(folder.path().join("gantry.yaml"), edit(&config)).unwrap();
        let router = world.router();
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self { world, folder, server }
    }

    fn database(&self) -> std::path::PathBuf {
        self.folder.path().join("gantry.db")
    }

    /// Runs doctor with the world's variables and these; an empty value unsets one. Returns the lines, the exit code
    /// and the duration.
    async fn doctor(&self, variables: &[(&str, &str)], arguments: &[&str]) -> (Vec<String>, i32, Duration) {
        let mut command = tokio::process::Command::new(BIN);
        command.arg("doctor").arg("--config").arg(self.folder.path().join("gantry.yaml")).args(arguments);
        command.env_clear().env("DATABASE_URL", format!("sqlite://{}", self.database().display()));
        command.envs(self.world.connect_details().env);
        for (name, value) in variables {
            if value.is_empty() {
                command.env_remove(name)
            } else {
                command.env(name, value)
            };
        }
        let started = Instant::now();
        let Output { status, stdout, stderr } = command.output().await.unwrap();
        assert_eq!(String::from_utf8(stderr).unwrap(), "", "no log lines");
        let lines = String::from_utf8(stdout).unwrap().lines().map(str::to_owned).collect();
        (lines, status.code().unwrap(), started.elapsed())
    }
}

fn without_mailer(yaml: &str) -> String {
    let start = yaml.find("  - name: mailer").unwrap();
    let end = yaml.find("people:").unwrap();
    format!("{}{}", &yaml[..start], &yaml[end..])
}

/// The lines with a warning or an error.
fn list_problem_lines(lines: &[String]) -> Vec<&str> {
    lines
        .iter()
        .map(String::as_str)
        .filter(|line| line.starts_with("  ! ") || line.starts_with("  \u{2717} "))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_in_a_healthy_world_has_only_ticks_and_exit_code_0() {
    let fixture = DoctorFixture::open(without_mailer).await;
    let (lines, code, _) = fixture.doctor(&[], &[]).await;
    assert_eq!(list_problem_lines(&lines), Vec::<&str>::new());
    let database = fixture.database().display().to_string();
    let report: Vec<String> = lines.iter().map(|line| line.replace(&database, "gantry.db")).collect();
    let rate_limit = report.iter().position(|line| line.contains("requests are left until")).unwrap();
    let mut report = report;
    report.remove(rate_limit);
    assert_eq!(
        report,
        [
            "Slack",
            "  \u{2713} The bot is @gantry in the workspace acme.",
            "  \u{2713} The token has all 10 scopes.",
            "  \u{2713} The bot is in #deploys and #releases.",
            "  \u{2713} The members in the rules exist in this workspace: @release-managers.",
            "  \u{2713} `SLACK_SIGNING_SECRET` is set; `gantry doctor --url https://<your host>` tests it through your public address.",
            "GitHub",
            "  \u{2713} The token belongs to gantry.",
            "  \u{2713} The token has all scopes that Gantry needs.",
            "  \u{2713} `GITHUB_WEBHOOK_SECRET` is set.",
            "  \u{2713} acme/checkout exists with develop, qa, staging and prod, and their rules allow promotions.",
            "  \u{2713} acme/gitops exists with main, and its rules allow promotions.",
            "  \u{2713} acme/search exists.",
            "  \u{2713} acme/shop exists with develop, qa, staging and prod, and their rules allow promotions.",
            "  \u{2713} 4 manifests name their images.",
            "Cluster",
            "  \u{2713} The cluster answers, v1.33.0+sim.",
            "  \u{2713} Gantry has all permissions that it needs in the namespaces development, prod, qa and staging.",
            "  \u{2713} 12 workloads run their images.",
            "  \u{2713} The commit of the running version is known by the image's label: search.",
            "  \u{2713} The commit of the running version is known by the image's tag: checkout and storefront.",
            "Registry",
            "  \u{2713} The running images are in the registry: ghcr.io/acme/checkout, ghcr.io/acme/search and ghcr.io/acme/storefront.",
            "Store",
            "  \u{2713} `gantry.db` does not exist yet and can be created at the first start.",
            "Clock",
            "  \u{2713} The local clock agrees with those of Slack, GitHub and the cluster.",
            "22 good, 0 to check, 0 broken",
        ]
    );
    assert_eq!(code, 0);
    assert!(!fixture.database().exists(), "doctor creates no database");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_with_warnings_has_exit_code_1() {
    let fixture = DoctorFixture::open(|yaml| yaml.replace("    webhook_secret: { env: FLUX_QA_SECRET }\n", "")).await;
    let (lines, code, _) = fixture.doctor(&[("GITHUB_WEBHOOK_SECRET", "")], &[]).await;
    let mut problems = list_problem_lines(&lines);
    assert_eq!(
        problems.pop(),
        Some(
            "  ! qa has no webhook secret, so its reports are refused. Set its `webhook_secret`. Without reports, Gantry learns about deployments only from the cluster."
        )
    );
    assert_eq!(
        problems[0],
        "  ! `GITHUB_WEBHOOK_SECRET` is not set: GitHub's webhooks are refused. Set it to the secret of the webhook; without webhooks, Gantry checks once a minute."
    );
    // Only reports name the commits of mailer's images, and there was no report yet.
    assert!(problems[1..].iter().all(|line| line.starts_with("  ! The commit of mailer ")), "{problems:#?}");
    assert_eq!(code, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_missing_and_swapped_secrets_and_checks_the_rest() {
    let fixture = DoctorFixture::open(without_mailer).await;
    let (lines, code, _) =
        fixture.doctor(&[("SLACK_BOT_TOKEN", ""), ("SLACK_SIGNING_SECRET", ""), ("GITHUB_TOKEN", "")], &[]).await;
    assert_eq!(
        list_problem_lines(&lines),
        [
            "  \u{2717} `SLACK_BOT_TOKEN` is not set. Set it, or `SLACK_BOT_TOKEN_FILE`, to the app's Bot User OAuth Token (`xoxb-...`).",
            "  \u{2717} `SLACK_SIGNING_SECRET` is not set, so all of Slack's requests are refused. Set it, or `SLACK_SIGNING_SECRET_FILE`, to the Signing Secret under Basic Information of the app.",
            "  \u{2717} There are no credentials for GitHub. Set `GITHUB_TOKEN`, or `GITHUB_APP_ID`, `GITHUB_APP_PRIVATE_KEY` and `GITHUB_APP_INSTALLATION_ID`.",
        ]
    );
    assert!(lines.iter().any(|line| line.contains("The cluster answers")), "{lines:#?}");
    assert_eq!(code, 2);

    let (lines, code, _) = fixture.doctor(&[("SLACK_BOT_TOKEN", "xoxb-another"), ("GITHUB_APP_ID", "1")], &[]).await;
    assert_eq!(
        list_problem_lines(&lines),
        [
            "  \u{2717} Both GITHUB_TOKEN and GITHUB_APP_... are set: keep one and unset the other.",
            "  \u{2717} Slack rejects the token: invalid_auth. Install the app in the workspace, and put its Bot User OAuth Token into `SLACK_BOT_TOKEN`.",
        ]
    );
    assert_eq!(code, 2);

    let swapped = [
        ("SLACK_BOT_TOKEN", APP_TOKEN),
        ("SLACK_APP_TOKEN", "xoxb-another"),
        ("SLACK_SIGNING_SECRET", ""),
        ("GITHUB_TOKEN", "a b\n"),
    ];
    let (lines, code, _) = fixture.doctor(&swapped, &[]).await;
    assert_eq!(
        list_problem_lines(&lines),
        [
            "  \u{2717} SLACK_BOT_TOKEN holds an app-level token: set it to the bot token (`xoxb-`).",
            "  \u{2717} SLACK_APP_TOKEN holds a bot token: set it to the app-level token (`xapp-`).",
            "  \u{2717} GITHUB_TOKEN contains a control character, or begins or ends with a space: copy the value again.",
        ],
        "a wrong secret is reported once, and not as missing"
    );
    assert_eq!(code, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_each_service_that_cannot_be_reached() {
    let fixture = DoctorFixture::open(without_mailer).await;
    fixture.server.abort();
    let (lines, code, _) = fixture.doctor(&[], &[]).await;
    for service in ["Slack", "GitHub", "The cluster"] {
        let expected = format!("  \u{2717} {service} cannot be reached: ");
        assert!(list_problem_lines(&lines).iter().any(|line| line.starts_with(&expected)), "{service}: {lines:#?}");
    }
    assert_eq!(code, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_checks_the_permissions_events_and_webhook_of_a_github_app() {
    let fixture = DoctorFixture::open(|yaml| {
        without_mailer(yaml).replace("[\"@release-managers\"] }", "[\"github:acme/release-managers\"] }")
    })
    .await;
    let key = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/github-app.pem")).unwrap();
    let app = [
        ("GITHUB_TOKEN", ""),
        ("GITHUB_APP_ID", "1"),
        ("GITHUB_APP_PRIVATE_KEY", key.as_str()),
        ("GITHUB_APP_INSTALLATION_ID", "2"),
    ];
    let (lines, code, _) = fixture.doctor(&app, &[]).await;
    assert_eq!((list_problem_lines(&lines), code), (vec![], 0));
    for expected in [
        "  \u{2713} The credentials belong to the App gantry.",
        "  \u{2713} The App has all permissions that Gantry needs.",
        "  \u{2713} The teams in the rules exist: acme/release-managers.",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
    let hook = |line: &&String| line.starts_with("  \u{2713} The App's webhooks go to 127.0.0.1:");
    assert!(lines.iter().find(hook).is_some_and(|line| line.ends_with(", with a secret.")), "{lines:#?}");
    let away = RequestFault::Reply(502, "Bad gateway", Vec::new());
    fixture.world.github.request_faults().inject("GET", "/app/hook/config", FaultTiming::BeforeEffect, away, 1);
    let (lines, code, _) = fixture.doctor(&app, &[]).await;
    assert_eq!(
        (list_problem_lines(&lines), code),
        (
            vec![
                "  ! The address of the App's webhooks cannot be read: it answered 502. Check its Webhook URL and secret in the App's settings; without webhooks, Gantry checks once a minute."
            ],
            1
        )
    );
    fixture.world.github.update_installation(|it| {
        it.permissions.retain(|(name, _)| *name != "checks");
        it.events.retain(|event| *event != "status");
        it.hook_secret = false;
    });
    let (lines, code, _) = fixture.doctor(&app, &[]).await;
    assert_eq!(
        list_problem_lines(&lines),
        [
            "  \u{2717} The App lacks the permission `checks: read`. Add it in the App's settings, and accept it where the App is installed.",
            "  ! The App is not subscribed to `status`. Subscribe it under Permissions & events; without webhooks, Gantry checks once a minute.",
            "  ! The App's webhooks are not signed. Set the same Webhook secret there as in `GITHUB_WEBHOOK_SECRET`.",
        ]
    );
    assert_eq!(code, 2);
    fixture.world.github.update_installation(|it| it.suspended = true);
    let (lines, _, _) = fixture.doctor(&app, &[]).await;
    assert_eq!(
        list_problem_lines(&lines)[0],
        "  \u{2717} The installation of the App gantry is suspended. Unsuspend it in the organisation's settings, under GitHub Apps."
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_in_socket_mode_tries_the_app_level_token_and_needs_no_signing_secret() {
    let fixture = DoctorFixture::open(without_mailer).await;
    let by_socket = [("SLACK_SIGNING_SECRET", ""), ("SLACK_APP_TOKEN", APP_TOKEN)];
    let (lines, _, _) = fixture.doctor(&by_socket, &[]).await;
    assert!(
        list_problem_lines(&lines)[0].contains("cannot open a socket: socket_mode_not_enabled. Turn Socket Mode on"),
        "{lines:#?}"
    );
    fixture.world.slack.use_sockets();
    let (lines, code, _) = fixture.doctor(&by_socket, &[]).await;
    assert_eq!((list_problem_lines(&lines), code), (vec![], 0));
    for expected in ["  \u{2713} Socket Mode needs no signing secret.", "  \u{2713} The app-level token opens sockets."]
    {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
    let (lines, code, _) = fixture.doctor(&by_socket, &["--url", "https://gantry.example.com"]).await;
    assert_eq!(
        list_problem_lines(&lines),
        [
            "  ! Socket Mode needs no signing secret, so https://gantry.example.com/slack/events was not tried. Omit `--url`, or set `SLACK_SIGNING_SECRET` if Slack also uses HTTP.",
        ]
    );
    assert_eq!(code, 1);
    let (lines, code, _) =
        fixture.doctor(&[("SLACK_SIGNING_SECRET", ""), ("SLACK_APP_TOKEN", "xapp-another")], &[]).await;
    assert_eq!(
        list_problem_lines(&lines),
        [
            "  \u{2717} The app-level token cannot open a socket: invalid_auth. Turn Socket Mode on, and put an app-level token with `connections:write` into `SLACK_APP_TOKEN`.",
        ]
    );
    assert_eq!(code, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_services_that_hang_and_ends_in_time() {
    let fixture = DoctorFixture::open(without_mailer).await;
    let service_faults = &fixture.world.service_faults;
    for service in [&service_faults.slack, &service_faults.github, &service_faults.cluster, &service_faults.registry] {
        service.set_hanging(true);
    }
    let (lines, code, took) = fixture.doctor(&[], &[]).await;
    assert!(took < Duration::from_secs(20), "{took:?}");
    let problems = list_problem_lines(&lines);
    assert!(
        problems[0].starts_with("  \u{2717} Slack cannot be reached: no answer in 6 s. Try again later"),
        "{problems:#?}"
    );
    assert!(
        problems[1].starts_with("  \u{2717} GitHub cannot be reached: no answer in 6 s. Try again later"),
        "{problems:#?}"
    );
    assert!(problems[2].starts_with("  \u{2717} The cluster cannot be reached: no answer in 6 s."), "{problems:#?}");
    assert!(problems[3..].iter().all(|line| line.contains("cannot be read: no answer in 6 s.")), "{problems:#?}");
    assert_eq!((problems.len(), code), (6, 2), "{problems:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_leaves_a_database_in_use_alone_and_reports_one_that_cannot_be_written() {
    let fixture = DoctorFixture::open(without_mailer).await;
    let mut lock = fixture.database().into_os_string();
    lock.push(".lock");
    std::fs::write(&lock, "4711").unwrap();
    let holder = std::fs::File::options().write(true).open(&lock).unwrap();
    holder.lock().unwrap();
    let (lines, code, took) = fixture.doctor(&[], &[]).await;
    assert!(took < Duration::from_secs(9), "{took:?}");
    let store = lines.iter().position(|line| line == "Store").unwrap();
    assert!(lines[store + 1].ends_with("is in use by process 4711."), "{lines:#?}");
    assert_eq!(code, 0);
    drop(holder);

    let (lines, code, _) = fixture.doctor(&[("DATABASE_URL", "sqlite:///proc/nowhere/gantry.db")], &[]).await;
    assert!(
        list_problem_lines(&lines)[0]
            .starts_with("  \u{2717} The database cannot be used: nothing can be written in `/proc/nowhere`: "),
        "{lines:#?}"
    );
    assert_eq!(code, 2);
}

/// While `gantry serve` runs on the same database, and after it was killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reads_unmapped_reports_from_the_database() {
    let mut harness = crate::harness::process::ProcessHarness::open().await;
    let body = serde_json::json!({
        "involvedObject": { "kind": "Kustomization", "name": "infra", "namespace": "flux-system" },
        "severity": "error", "timestamp": Clock::new_system().now().to_string(), "reason": "BuildFailed",
        "message": "kustomize build failed", "metadata": { "revision": format!("qa@sha1:{}", "a".repeat(40)) },
    });
    let flux = reqwest::Client::new().post(format!("http://{}/webhooks/flux/qa", harness.address));
    let sent = flux.bearer_auth(&webhook_secrets()["qa"]).json(&body).send().await.unwrap();
    assert_eq!(sent.status(), 202);
    let fixture = DoctorFixture::open(without_mailer).await;
    let url = harness.database_url();
    let reports = async || {
        let (lines, code, _) = fixture.doctor(&[("DATABASE_URL", &url)], &[]).await;
        assert_eq!(code, 1, "{lines:#?}");
        let from = lines.iter().position(|line| line == "Reports").unwrap();
        lines[from + 1..lines.len() - 1].to_vec()
    };
    crate::harness::process::wait_until("the report is shown", async || reports().await[0].contains("infra")).await;
    for _ in 0..2 {
        let shown = reports().await;
        let (subject, reason) = shown[0].split_once(" ago: ").unwrap();
        assert!(subject.starts_with("  ! 1 x Flux Kustomization flux-system/infra for qa, last "), "{shown:#?}");
        assert_eq!(
            reason,
            "Flux's Kustomization flux-system/infra applied nothing that I watch in qa. Name the artefact in the Alert's `eventMetadata`, or add a rule under `reports`."
        );
        let silent = |name: &str| {
            format!(
                "  ! No report has arrived for {name} yet. If its controller should send reports, check the address and the secret there."
            )
        };
        assert_eq!(shown[1..], ["development", "staging", "prod"].map(silent));
        harness.kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_a_wrong_configuration_with_line_and_column() {
    let fixture = DoctorFixture::open(|yaml| yaml.replacen("    branch: qa", "    brnach: qa", 1)).await;
    let (lines, code, _) = fixture.doctor(&[], &[]).await;
    assert_eq!(lines[0], "Configuration");
    assert!(lines[1].contains("gantry.yaml:") && lines[1].contains("`brnach`"), "{lines:#?}");
    assert_eq!(code, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_tests_the_public_address_with_a_signed_request() {
    let mut harness = crate::harness::process::ProcessHarness::open().await;
    let fixture = DoctorFixture::open(without_mailer).await;
    let url = format!("http://{}", harness.address);
    let (lines, _, _) = fixture.doctor(&[], &["--url", &url]).await;
    let expected = format!("  \u{2713} {url}/slack/events accepted a signed test request.");
    assert!(lines.contains(&expected), "{lines:#?}");
    let (lines, code, _) = fixture.doctor(&[("SLACK_SIGNING_SECRET", "another")], &["--url", &url]).await;
    assert_eq!(
        list_problem_lines(&lines),
        [format!(
            "  \u{2717} {url}/slack/events rejects the signature of a test request. Give the Gantry at that address the same `SLACK_SIGNING_SECRET`, or correct its clock."
        )]
    );
    assert_eq!(code, 2);
    harness.kill();
    let with_secrets = url.replace("http://", "http://me:hush@");
    let (lines, _, _) = fixture.doctor(&[], &["--url", &with_secrets]).await;
    assert!(!lines.concat().contains("hush"), "{lines:#?}");
    assert!(
        list_problem_lines(&lines)[0].starts_with(&format!("  \u{2717} {url}/slack/events cannot be reached: ")),
        "{lines:#?}"
    );
}
