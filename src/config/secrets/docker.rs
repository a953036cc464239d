//! Reads logins to registries from a Docker config file: the format of `docker login`, and of Kubernetes secrets of the
//! type `kubernetes.io/dockerconfigjson`. Does not run credential programs (`credsStore`, `credHelpers`).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde::Deserialize;

/// The host of Docker Hub in `registry_logins`, and its other names in files.
const DOCKER_HUB: &str = "index.docker.io";
const DOCKER_HUB_ALIASES: [&str; 2] = ["docker.io", "registry-1.docker.io"];

#[derive(Clone, Debug)]
pub enum RegistryLogin {
    Password {
        user: String,
        password: SecretString,
    },
    /// Sent to the registry unchanged.
    Token(SecretString),
}

#[derive(Deserialize)]
struct DockerConfigFile {
    auths: Option<BTreeMap<String, DockerAuthEntry>>,
}

/// `identitytoken` is not supported: it is not a password or bearer token, but must be exchanged for one.
#[derive(Deserialize)]
struct DockerAuthEntry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    registrytoken: Option<String>,
}

/// The logins by the registry's host, with its port if it has one. An error is the end of a sentence that begins with
/// the file's name. The error quotes no values, because a misplaced value may be a password.
pub(super) fn parse_logins(text: &str) -> Result<BTreeMap<String, RegistryLogin>, String> {
    let file: DockerConfigFile = serde_json::from_str(text).map_err(|error| {
        format!(
            "which is not a Docker config file (line {}, column {}): use the `config.json` that `docker login` \
             writes.",
            error.line(),
            error.column()
        )
    })?;
    let mut logins = BTreeMap::new();
    for (key, entry) in file.auths.unwrap_or_default() {
        let login = entry
            .into_login()
            .map_err(|problem| format!("whose entry `{key}` {problem}: log in to this registry again."))?;
        if let Some(login) = login {
            // If a host has two entries, the first in key order wins: `ghcr.io` is before `https://ghcr.io/v2/`.
            logins.entry(normalize_host(&key)).or_insert(login);
        }
    }
    Ok(logins)
}

impl DockerAuthEntry {
    /// `None` for an entry without credentials; a credential program has them.
    fn into_login(self) -> Result<Option<RegistryLogin>, &'static str> {
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(token) = non_empty(self.registrytoken) {
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err("has a `registrytoken` with a character that no token has");
            }
            return Ok(Some(RegistryLogin::Token(token.into())));
        }
        let (user, password) = match non_empty(self.auth) {
            Some(auth) => decode_auth(&auth).ok_or("has an `auth` that is not the base64 of `user:password`")?,
            None => (self.username.unwrap_or_default(), self.password.unwrap_or_default()),
        };
        if user.is_empty() || password.is_empty() {
            return Ok(None);
        }
        Ok(Some(RegistryLogin::Password { user, password: password.into() }))
    }
}

fn decode_auth(auth: &str) -> Option<(String, String)> {
    let text = String::from_utf8(STANDARD.decode(auth.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    // Docker pads the password with zero bytes, and removes them when it reads the file.
    Some((user.to_owned(), password.trim_end_matches('\0').to_owned()))
}

/// For example `ghcr.io` for `https://ghcr.io/v2/`.
fn normalize_host(key: &str) -> String {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or(rest).to_ascii_lowercase();
    if DOCKER_HUB_ALIASES.contains(&host.as_str()) { DOCKER_HUB.to_owned() } else { host }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    /// Parses the logins and formats each as `host user:password` or `host token`.
    fn read(text: &str) -> Result<Vec<String>, String> {
        let line = |(host, login): (String, RegistryLogin)| match login {
            RegistryLogin::Password { user, password } => format!("{host} {user}:{}", password.expose_secret()),
            RegistryLogin::Token(token) => format!("{host} {}", token.expose_secret()),
        };
        Ok(parse_logins(text)?.into_iter().map(line).collect())
    }

    #[test]
    fn a_login_is_base64_auth_or_user_and_password_or_a_token() {
        let auth = STANDARD.encode("alice:s:3\0\0");
        let text = format!(
            r#"{{ "auths": {{
                "ghcr.io": {{ "auth": "{auth}", "email": "a@example.com" }},
                "quay.io": {{ "username": "bob", "password": "x" }},
                "registry.example.com:5000": {{ "registrytoken": "t0k" }}
            }}, "HttpHeaders": {{}}, "credsStore": "desktop" }}"#
        );
        assert_eq!(read(&text).unwrap(), ["ghcr.io alice:s:3", "quay.io bob:x", "registry.example.com:5000 t0k"]);
    }

    #[test]
    fn all_spellings_of_a_key_map_to_the_registry_host() {
        let bob = r#"{ "username": "bob", "password": "x" }"#;
        for (key, host) in [
            ("https://index.docker.io/v1/", "index.docker.io"),
            ("docker.io", "index.docker.io"),
            ("registry-1.docker.io", "index.docker.io"),
            ("https://GHCR.io", "ghcr.io"),
            ("http://localhost:5000/v2/", "localhost:5000"),
            ("registry.example.com/team", "registry.example.com"),
        ] {
            assert_eq!(read(&format!(r#"{{"auths":{{"{key}":{bob}}}}}"#)).unwrap(), [format!("{host} bob:x")], "{key}");
        }
        let eve = r#"{ "username": "eve", "password": "x" }"#;
        let twice = format!(r#"{{"auths":{{"https://ghcr.io/v2/":{eve},"ghcr.io":{bob}}}}}"#);
        assert_eq!(read(&twice).unwrap(), ["ghcr.io bob:x"]);
    }

    #[test]
    fn entries_without_credentials_and_identity_tokens_are_ignored() {
        for entries in ["{}", r#"{"auths":null}"#, r#"{"auths":{"ghcr.io":{}},"credHelpers":{"ghcr.io":"gh"}}"#] {
            assert_eq!(read(entries), Ok(vec![]), "{entries}");
        }
        let identity =
            format!(r#"{{"auths":{{"x.azurecr.io":{{"auth":"{}","identitytoken":"i"}}}}}}"#, STANDARD.encode("0:"));
        assert_eq!(read(&identity), Ok(vec![]));
    }

    #[test]
    fn errors_do_not_quote_values_of_the_file() {
        let advice = ": log in to this registry again.";
        for (text, expected) in [
            ("hunter2", "which is not a Docker config file (line 1, column 1)"),
            (r#"{"auths":"hunter2"}"#, "which is not a Docker config file (line 1, column 18)"),
            (
                r#"{"auths":{"ghcr.io":{"auth":"hunter2!"}}}"#,
                "whose entry `ghcr.io` has an `auth` that is not the base64",
            ),
            (r#"{"auths":{"ghcr.io":{"registrytoken":"hunter2\n"}}}"#, "whose entry `ghcr.io` has a `registrytoken`"),
        ] {
            let problem = read(text).unwrap_err();
            assert!(problem.starts_with(expected) && !problem.contains("hunter2"), "{problem}");
            assert!(problem.ends_with(advice) || problem.contains("`docker login`"), "{problem}");
        }
        let login = parse_logins(r#"{"auths":{"ghcr.io":{"username":"bob","password":"hunter2"}}}"#).unwrap();
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}
