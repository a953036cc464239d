//! The program on the command line: `demo`, `serve`, `check`, `schema`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn gantry() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gantry"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn combined_output(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A demo in a separate process, killed when the test ends.
pub(super) struct Demo {
    child: Child,
    pub(super) address: String,
}

impl Demo {
    pub(super) fn start() -> Self {
        let mut child = gantry()
            .args(["demo", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").expect("an address").1.trim_end_matches('/').to_owned();
        Self { child, address }
    }

    fn interrupt(&self) {
        assert!(Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap().success());
    }

    /// The peak memory of the process in KiB.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn check_accepts_the_example_configuration() {
    let output = gantry().arg("check").output().unwrap();
    assert!(output.status.success(), "{}", combined_output(&output));
    assert!(combined_output(&output).contains("development -> qa -> staging -> prod"), "{}", combined_output(&output));
}

#[test]
fn check_reports_a_wrong_key_with_line_and_column() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/gantry.yaml")).unwrap();
    std::fs::write(file.path(), text.replacen("    branch: qa", "    brnach: qa", 1)).unwrap();
    let output = gantry().args(["check", "--config"]).arg(file.path()).output().unwrap();
    assert!(!output.status.success());
    let message = combined_output(&output);
    let position = message.split(": ").next().unwrap();
    assert!(position.rsplitn(3, ':').take(2).all(|number| number.parse::<u32>().is_ok()), "{message}");
    assert!(message.contains("`brnach`") && message.contains("`branch`"), "{message}");
}

#[test]
fn check_reports_a_missing_configuration_file() {
    let output = gantry().args(["check", "--config", "config/nowhere.yaml"]).output().unwrap();
    assert!(!output.status.success());
    assert!(combined_output(&output).contains("config/nowhere.yaml"), "{}", combined_output(&output));
}

#[test]
fn schema_prints_a_json_schema_with_the_environments() {
    let output = gantry().arg("schema").output().unwrap();
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"]["environments"].is_object(), "{schema}");
}

#[test]
fn serve_names_the_secret_that_is_missing_or_empty() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("gantry.db").display());
    let mut serve = gantry();
    serve.arg("serve").env_clear().env("DATABASE_URL", &database).args([
        "--listen",
        "127.0.0.1:0",
        "--metrics-listen",
        "off",
    ]);
    let output = serve.env("FLUX_PROD_SECRET", "x").output().unwrap();
    assert!(!output.status.success());
    assert!(combined_output(&output).contains("SLACK_SIGNING_SECRET"), "{}", combined_output(&output));

    let output = serve.env("SLACK_SIGNING_SECRET", "").output().unwrap();
    assert!(
        combined_output(&output).contains("SLACK_SIGNING_SECRET") && combined_output(&output).contains("empty"),
        "{}",
        combined_output(&output)
    );
}

/// Holds the process lock of a database, and returns a `serve` that uses the same database.
fn hold_process_lock(folder: &Path) -> (File, Command) {
    let path = folder.join("gantry.db");
    let lock = format!("{}.lock", path.display());
    let holder = File::options().create(true).truncate(false).write(true).open(lock).unwrap();
    holder.lock().unwrap();
    let mut serve = gantry();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "off"]).env_clear();
    serve.env("DATABASE_URL", format!("sqlite://{}", path.display())).env("FLUX_PROD_SECRET", "x");
    serve.env("SLACK_SIGNING_SECRET", "s").env("SLACK_BOT_TOKEN", "t");
    (holder, serve)
}

/// Waits until the process has opened the lock file, which another process holds.
fn wait_until_lock_file_open(child: &mut Child) {
    let files = format!("/proc/{}/fd", child.id());
    let is_lock = |file: std::fs::DirEntry| {
        std::fs::read_link(file.path()).is_ok_and(|target| target.to_string_lossy().ends_with("gantry.db.lock"))
    };
    while !std::fs::read_dir(&files).unwrap().flatten().any(is_lock) {
        assert!(child.try_wait().unwrap().is_none(), "serve ended before it opened the lock file");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_second_serve_on_the_same_database_waits_and_then_names_the_reason_for_its_exit() {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let (_holder, mut serve) = hold_process_lock(folder.path());
    let output = serve.output().unwrap();
    assert!(!output.status.success());
    assert!(started.elapsed() >= Duration::from_secs(9), "serve waits first");
    assert!(combined_output(&output).contains("gantry.db"), "{}", combined_output(&output));
}

#[test]
fn sigterm_during_the_start_ends_serve_at_once_with_exit_code_0() {
    let folder = tempfile::tempdir().unwrap();
    let (_holder, mut serve) = hold_process_lock(folder.path());
    let mut child = serve.stderr(Stdio::null()).spawn().unwrap();
    wait_until_lock_file_open(&mut child);
    let started = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn serve_refuses_a_postgres_url_with_a_message() {
    let mut serve = gantry();
    serve.arg("serve").env_clear().env("DATABASE_URL", "postgres://localhost/gantry").env("FLUX_PROD_SECRET", "x");
    serve.args(["--metrics-listen", "off"]);
    let output = serve.env("SLACK_SIGNING_SECRET", "s").env("SLACK_BOT_TOKEN", "t").output().unwrap();
    assert!(!output.status.success());
    assert!(combined_output(&output).to_lowercase().contains("postgres"), "{}", combined_output(&output));
}

#[test]
fn the_demo_serves_its_page_and_ends_on_ctrl_c() {
    let mut demo = Demo::start();
    let page = get(&demo.address, "/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>"), "{page}");
    // Neither an open stream nor an unfinished body may delay the end.
    let mut slow = TcpStream::connect(&demo.address).unwrap();
    let now = gantry::clock::Clock::new_system().now().as_second();
    let signature = "0".repeat(64);
    let head = format!(
        "POST /slack/commands HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nX-Slack-Request-Timestamp: {now}\r\nX-Slack-Signature: v0={signature}\r\n\r\nabc"
    );
    slow.write_all(head.as_bytes()).unwrap();
    let mut stream = TcpStream::connect(&demo.address).unwrap();
    stream.write_all(format!("GET /sim/page/stream HTTP/1.1\r\nHost: {}\r\n\r\n", demo.address).as_bytes()).unwrap();
    let mut first = [0; 16];
    stream.read_exact(&mut first).unwrap();

    let started = Instant::now();
    demo.interrupt();
    let status = demo.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[test]
fn the_demo_reports_a_port_that_is_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = gantry().args(["demo", "--listen", &address]).output().unwrap();
    assert!(!output.status.success());
    assert!(
        combined_output(&output).contains(&format!("Another program uses {address}.")),
        "{}",
        combined_output(&output)
    );
}

#[test]
fn serve_reports_a_metrics_port_that_is_in_use_and_the_option_to_change_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut serve = gantry();
    serve.arg("serve").env_clear().env("FLUX_PROD_SECRET", "x").args(["--listen", "127.0.0.1:0"]);
    let output = serve.args(["--metrics-listen", &address]).output().unwrap();
    assert!(!output.status.success());
    let text = combined_output(&output);
    assert!(
        text.contains(&format!("Another program uses {address}")) && text.contains("`--metrics-listen 127.0.0.1:0`"),
        "{text}"
    );

    let output = gantry().args(["serve", "--metrics-listen", "here"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("or `off`"));
}

#[test]
fn an_invalid_rust_log_is_reported_and_does_not_stop_the_program() {
    let output = gantry().arg("check").env("RUST_LOG", "verbose").output().unwrap();
    assert!(output.status.success());
    let text = combined_output(&output);
    assert!(text.contains("RUST_LOG is invalid") && text.contains("`verbose`"), "{text}");
    let output = gantry().arg("check").env("RUST_LOG", "warn,gantry=debug").output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_demo_ignores_real_secrets_in_the_environment() {
    let mut command = gantry();
    command
        .args(["demo", "--listen", "127.0.0.1:0"])
        .env("DATABASE_URL", "postgres://x")
        .env("SLACK_SIGNING_SECRET", "");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert!(line.contains("http://127.0.0.1:"), "{line}");
}

#[test]
fn a_page_of_another_origin_cannot_use_the_control_api() {
    let demo = Demo::start();
    let answer = request(
        &demo.address,
        "POST /sim/push",
        &["Origin: http://evil.example"],
        br#"{"artefact":"checkout","message":"x"}"#,
    );
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let own_origin = format!("Origin: http://{}", demo.address);
    let answer = request(&demo.address, "POST /sim/push", &[&own_origin], br#"{"artefact":"checkout","message":"x"}"#);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = request(&demo.address, "GET /sim/github/repos/acme/checkout", &["Origin: http://evil.example"], b"");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let (_, port) = demo.address.rsplit_once(':').unwrap();
    let other_origin = format!("Origin: http://localhost:{port}");
    let answer = request(&demo.address, "GET /sim/state", &[&other_origin], b"");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = request(&demo.address, "POST /sim/push", &[], b"{");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let answer = request(&demo.address, "POST /sim/push", &[], br#"{"artefact":"nothing","message":"x"}"#);
    assert!(answer.starts_with("HTTP/1.1 422") && answer.contains("there is no artefact nothing"), "{answer}");
}

#[test]
fn a_huge_unsigned_body_uses_no_memory() {
    const MIB: usize = 1 << 20;
    let demo = Demo::start();
    get(&demo.address, "/readyz");
    let before = demo.peak();
    for header in [format!("Content-Length: {}", 256 * MIB), "Transfer-Encoding: chunked".to_owned()] {
        let signed = "X-Slack-Request-Timestamp: 1\r\nX-Slack-Signature: v0=00";
        for extra in ["", signed] {
            send_large_body(&demo.address, &format!("{header}\r\n{extra}"), 256);
        }
    }
    let grown = demo.peak() - before;
    assert!(grown < 16 * 1024, "{grown} KiB");
}

/// Sends up to `mib` MiB of body, until the server closes the connection.
fn send_large_body(address: &str, headers: &str, mib: usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    let headers = headers.trim_end();
    let head = format!("POST /slack/commands HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let chunked = headers.contains("chunked");
    let block = vec![b'a'; 1 << 20];
    for _ in 0..mib {
        let sent = if chunked {
            stream
                .write_all(b"100000\r\n")
                .and_then(|()| stream.write_all(&block))
                .and_then(|()| stream.write_all(b"\r\n"))
        } else {
            stream.write_all(&block)
        };
        if sent.is_err() {
            return;
        }
    }
}

fn get(address: &str, path: &str) -> String {
    request(address, &format!("GET {path}"), &[], b"")
}

fn request(address: &str, method_and_path: &str, headers: &[&str], body: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut headers = headers.join("\r\n");
    if !headers.is_empty() {
        headers.push_str("\r\n");
    }
    let head = format!(
        "{method_and_path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
