//! Secrets from variables and files: valid, given twice, empty, or missing.

use std::collections::HashMap;

use super::*;

fn config(secrets: [&str; 2]) -> Config {
    let [first, second] = secrets;
    let text = format!(
        "slack: {{ channel: '#deploys' }}
environments:
  - {{ name: development, branch: develop, cluster: {{ namespace: development }}{first} }}
  - {{ name: prod, branch: prod, cluster: {{ namespace: prod }}{second} }}
artefacts: [{{ name: checkout, repository: acme/checkout, image: checkout, workload: deployment/checkout }}]
"
    );
    Config::parse("gantry.yaml", &text).unwrap()
}

fn read(variables: &[(&str, &str)]) -> Result<Secrets, Vec<String>> {
    read_for(&config(["", ""]), variables)
}

fn read_for(config: &Config, variables: &[(&str, &str)]) -> Result<Secrets, Vec<String>> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    Secrets::read(config, |name| variables.get(name).map(|value| (*value).to_owned()))
}

fn write_file(directory: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}

#[test]
fn missing_secrets_are_none_and_no_error() {
    let secrets = read(&[]).unwrap();
    assert!(secrets.slack_signing_secret.is_none() && secrets.slack_bot_token.is_none());
    assert!(
        secrets.slack_app_token.is_none() && secrets.github_auth.is_none() && secrets.github_webhook_secret.is_none()
    );
    assert!(secrets.webhook_secrets.is_empty());
    assert_eq!(secrets.database_url, "sqlite://gantry.db");
    let config = config(["", ", webhook_secret: { env: FLUX_PROD }"]);
    assert!(read_for(&config, &[]).unwrap().webhook_secrets.is_empty());
}

#[test]
fn a_secret_comes_from_its_variable_or_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let by_file = write_file(&directory, "token", "xoxb-from-a-file\r\n");
    let secrets = read(&[
        ("SLACK_SIGNING_SECRET", "8f742231b10e8888"),
        ("SLACK_BOT_TOKEN_FILE", &by_file),
        ("GITHUB_TOKEN", "ghp_x"),
        ("DATABASE_URL", "sqlite:///var/lib/gantry.db"),
    ])
    .unwrap();
    assert_eq!(secrets.slack_signing_secret.unwrap().expose_secret(), "8f742231b10e8888");
    assert_eq!(secrets.slack_bot_token.unwrap().expose_secret(), "xoxb-from-a-file");
    assert!(matches!(secrets.github_auth, Some(GithubAuth::Token(token)) if token.expose_secret() == "ghp_x"));
    assert_eq!(secrets.database_url, "sqlite:///var/lib/gantry.db");
}

#[test]
fn all_invalid_secrets_are_reported_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (empty, binary, large) = (
        write_file(&directory, "e", "\n"),
        write_file(&directory, "b", b"\xff\xfe"),
        write_file(&directory, "l", "x".repeat(100_000)),
    );
    let problems = read(&[
        ("SLACK_SIGNING_SECRET", ""),
        ("SLACK_BOT_TOKEN", "xapp-1"),
        ("SLACK_APP_TOKEN", "xoxb-1"),
        ("GITHUB_APP_ID", "seven"),
        ("GITHUB_APP_PRIVATE_KEY", "secret-and-no-key"),
        ("GITHUB_WEBHOOK_SECRET", "a"),
        ("GITHUB_WEBHOOK_SECRET_FILE", "/nowhere"),
        ("DATABASE_URL", "sqlite://a\nb"),
    ])
    .unwrap_err();
    assert_eq!(
        problems,
        [
            "SLACK_SIGNING_SECRET is set but empty: give it a value, or unset it.",
            "SLACK_BOT_TOKEN holds an app-level token: set it to the bot token (`xoxb-`).",
            "SLACK_APP_TOKEN holds a bot token: set it to the app-level token (`xapp-`).",
            "A GitHub App also needs GITHUB_APP_INSTALLATION_ID: set all three GITHUB_APP_... variables.",
            "GITHUB_APP_ID is not a number: copy it from the settings of the GitHub App.",
            "GITHUB_APP_PRIVATE_KEY is not a private key: use the content of the `.pem` file from GitHub.",
            "Both GITHUB_WEBHOOK_SECRET and GITHUB_WEBHOOK_SECRET_FILE are set: unset one of them.",
            "DATABASE_URL contains a control character, or begins or ends with a space: copy the value again.",
        ]
    );
    for (path, end) in [
        (empty.as_str(), "which is empty: write the secret into it."),
        (binary.as_str(), "which is not UTF-8 text: write the secret into it as text."),
        (large.as_str(), "which is too large for a secret: use at most 65536 bytes."),
        ("/nowhere/x", "(No such file or directory (os error 2)): check the path and its permissions."),
    ] {
        let problems = read(&[("SLACK_BOT_TOKEN_FILE", path)]).unwrap_err();
        assert!(
            problems.len() == 1
                && problems[0].starts_with(&format!("SLACK_BOT_TOKEN_FILE names the file {path}, which")),
            "{problems:?}"
        );
        assert!(problems[0].ends_with(end), "{problems:?}");
    }
    assert_eq!(
        read(&[("SLACK_BOT_TOKEN_FILE", " ")]).unwrap_err(),
        ["SLACK_BOT_TOKEN_FILE is set but empty: name a file, or unset it."]
    );
}

#[test]
fn github_credentials_are_a_token_or_an_app_but_not_both() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\\nabc\\n-----END RSA PRIVATE KEY-----";
    let app = [("GITHUB_APP_ID", "7"), ("GITHUB_APP_PRIVATE_KEY", key), ("GITHUB_APP_INSTALLATION_ID", "42")];
    let secrets = read(&app).unwrap();
    let Some(GithubAuth::App { id: 7, private_key, installation: 42 }) = secrets.github_auth else { panic!("an app") };
    assert_eq!(private_key.expose_secret().lines().count(), 3, "`\\n` stands for a line break where there is none");
    let both = [&app[..], &[("GITHUB_TOKEN", "ghp_x")]].concat();
    assert_eq!(
        read(&both).unwrap_err(),
        ["Both GITHUB_TOKEN and GITHUB_APP_... are set: keep one and unset the other."]
    );
}

#[test]
fn each_environment_has_its_own_webhook_secret() {
    let directory = tempfile::tempdir().unwrap();
    let path = write_file(&directory, "prod", "one\n");
    let config = config([", webhook_secret: { env: FLUX_DEV }", &format!(", webhook_secret: {{ file: '{path}' }}")]);
    let secrets = read_for(&config, &[("FLUX_DEV", "two")]).unwrap();
    let values: Vec<(&str, &str)> =
        secrets.webhook_secrets.iter().map(|(name, secret)| (name.as_str(), secret.expose_secret())).collect();
    assert_eq!(values, [("development", "two"), ("prod", "one")]);
    assert_eq!(
        read_for(&config, &[("FLUX_DEV", "one")]).unwrap_err(),
        ["development and prod have the same webhook secret: create one for each."]
    );
    assert_eq!(
        read_for(&config, &[("FLUX_DEV", " ")]).unwrap_err(),
        ["FLUX_DEV is set but empty: give it a value, or unset it."]
    );
    std::fs::remove_file(&path).unwrap();
    let problems = read_for(&config, &[("FLUX_DEV", "two")]).unwrap_err();
    assert!(problems[0].starts_with("The `webhook_secret` of prod is the file "), "{problems:?}");
}

#[test]
fn registry_logins_come_from_the_docker_config_file() {
    let directory = tempfile::tempdir().unwrap();
    let with = |path: &str| {
        let mut config = config(["", ""]);
        config.registry.docker_config = Some(path.into());
        read_for(&config, &[])
    };
    let right =
        write_file(&directory, "right", r#"{"auths":{"https://ghcr.io":{"username":"bob","password":"s3cr3t"}}}"#);
    let secrets = with(&right).unwrap();
    assert_eq!(secrets.registry_logins.keys().collect::<Vec<_>>(), ["ghcr.io"]);
    assert!(!format!("{secrets:?} {:?}", secrets.registry_logins).contains("s3cr3t"));
    assert!(read(&[("DOCKER_CONFIG", directory.path().to_str().unwrap())]).unwrap().registry_logins.is_empty());

    let wrong = write_file(&directory, "wrong", "s3cr3t");
    for (path, expected) in [
        (wrong.as_str(), "which is not a Docker config file (line 1, column 1)"),
        (
            "/nowhere/x",
            "which cannot be read (No such file or directory (os error 2)): check the path and its \
             permissions.",
        ),
    ] {
        let problems = with(path).unwrap_err();
        assert!(problems.len() == 1 && !problems[0].contains("s3cr3t"), "{problems:?}");
        assert!(
            problems[0].starts_with(&format!("`registry.docker_config` is the file {path}, {expected}")),
            "{problems:?}"
        );
    }
}

#[test]
fn no_secret_appears_in_debug_or_in_problems() {
    let secret = "s3cr3t-value";
    let variables = [("SLACK_BOT_TOKEN", secret), ("GITHUB_TOKEN", secret), ("DATABASE_URL", secret)];
    let secrets = read(&variables).unwrap();
    assert!(!format!("{secrets:?} {:?}", secrets.github_auth).contains(secret));
    let wrong = format!("{secret}\n{secret}");
    for (name, _) in KNOWN_VARIABLES {
        let problems = read(&[(name, wrong.as_str())]).unwrap_err().join(" ");
        assert!(problems.contains(name) && !problems.contains(secret), "{problems}");
    }
}
