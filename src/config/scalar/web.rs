//! Parses URLs, and the names of images and registries.

use url::Url;

use super::ScalarResult;
use crate::config::problem::describe_problem;

fn parse_url(text: &str, example: &str) -> ScalarResult<Url> {
    let advice = || format!("write the full URL, for example `{example}`");
    let url =
        Url::parse(text).map_err(|error| describe_problem(format!("`{text}` is not a URL ({error})"), advice()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(describe_problem(format!("`{text}` is not an http or https URL"), advice()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let advice = "remove it: secrets come from environment variables";
        return Err(describe_problem("the URL contains a user name or a password", advice));
    }
    Ok(url)
}

/// Parses the base URL of an API. Paths are appended to it, so the result has no query and no trailing slash.
pub(in crate::config) fn parse_base_url(text: &str, example: &str) -> ScalarResult<String> {
    let url = parse_url(text, example)?;
    if url.query().is_some() || url.fragment().is_some() {
        let advice = format!("end it with the path, for example `{example}`");
        return Err(describe_problem(format!("`{text}` has a query or a fragment"), advice));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Parses an origin: scheme, host and port, without a path.
pub(in crate::config) fn parse_origin(text: &str, example: &str) -> ScalarResult<String> {
    let base = parse_base_url(text, example)?;
    let origin = parse_url(text, example)?.origin().ascii_serialization();
    if base != origin {
        return Err(describe_problem(
            format!("`{text}` is not only scheme, host and port"),
            format!("write `{origin}`"),
        ));
    }
    Ok(origin)
}

/// Parses a URL that Gantry calls unchanged.
pub(in crate::config) fn parse_hook_url(text: &str, example: &str) -> ScalarResult<String> {
    parse_url(text, example).map(String::from)
}

/// Parses the host of a registry, in the form in which images begin with it.
pub(in crate::config) fn parse_registry_host(text: &str) -> ScalarResult<String> {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    if host.is_empty() || !host.bytes().all(is_allowed) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        let advice = "write it as at the beginning of images, for example `ghcr.io` or `localhost:5000`";
        return Err(describe_problem(format!("`{text}` is not the host of a registry"), advice));
    }
    Ok(text.to_owned())
}

/// Parses an image without tag and digest.
pub(in crate::config) fn parse_image(text: &str) -> ScalarResult<String> {
    let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or_default();
    let host_only = !name.contains('/');
    let without_tag =
        name.strip_suffix(last).map(|front| format!("{front}{}", last.split(':').next().unwrap_or_default()));
    if digest.is_some() || (last.contains(':') && !(host_only && last.ends_with(':'))) {
        let part = if digest.is_some() { "digest" } else { "tag" };
        let advice =
            format!("write `{}`; Gantry reads the running version from the cluster", without_tag.unwrap_or_default());
        return Err(describe_problem(format!("`{text}` contains a {part}"), advice));
    }
    let is_valid_component = |part: &str| {
        let is_valid_end = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.');
        is_valid_end(part.bytes().next()) && is_valid_end(part.bytes().last()) && part.bytes().all(is_allowed)
    };
    let (host, path) = match name.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (Some(first), rest),
        _ => (None, name),
    };
    let is_valid = text.len() <= 255
        && host.is_none_or(|host| parse_registry_host(host).is_ok())
        && path.split('/').all(is_valid_component);
    if !is_valid {
        let advice = "write registry and name in lower case, for example `ghcr.io/acme/checkout`";
        return Err(describe_problem(format!("`{text}` is not the name of an image"), advice));
    }
    Ok(text.to_owned())
}
