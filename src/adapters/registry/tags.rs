//! The tags of an image. oci-client returns the first page and drops the `Link` to the next one, so the pages are read
//! here.

use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LINK};
use serde::Deserialize;
use url::Url;

use super::client::{Client, RegistryError, USER_AGENT, truncate_text, unavailable_error};
use super::reference::split_image_name;
use crate::domain::model::version::is_valid_tag;

/// The requested page size; a registry may return fewer.
const PAGE_SIZE: usize = 1_000;
const MAX_PAGES: usize = 50;
const MAX_TAGS: usize = 10_000;
/// A registry without support for pages sends all tags at once.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

struct TagPage {
    tags: Vec<String>,
    next: Option<Url>,
}

impl Client {
    /// The tags of `image` (a name without tag and digest) in the registry's order; empty if the registry does not have
    /// it. Tags after 50 pages or 10,000 tags are omitted.
    pub async fn list_tags(&self, image: &str) -> Result<Vec<String>, RegistryError> {
        let (registry, repository) =
            split_image_name(image).ok_or_else(|| RegistryError::Other(format!("`{image}` is not an image's name")))?;
        let reference = self.apply_mirror(Reference::with_tag(registry, repository, "latest".to_owned()));
        tokio::time::timeout(self.timeouts.total, self.fetch_all_pages(&reference))
            .await
            .unwrap_or_else(|_| Err(self.timeout_error()))
    }

    async fn fetch_all_pages(&self, reference: &Reference) -> Result<Vec<String>, RegistryError> {
        let auth = self.find_auth(reference);
        let token =
            self.run_query(reference, self.oci.auth(reference, &auth, RegistryOperation::Pull)).await?.flatten();
        // Tags are requested so seldom that no client is kept. Redirects are not followed: they could lead to any host.
        let http = reqwest::Client::builder()
            .connect_timeout(self.timeouts.connect)
            .read_timeout(self.timeouts.read)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT)
            .build()
            .map_err(|error| RegistryError::Other(format!("the client cannot be built: {error}")))?;
        let namespace_query =
            if self.is_mirrored(reference) { format!("&ns={}", reference.registry()) } else { String::new() };
        let first = format!(
            "{}/v2/{}/tags/list?n={PAGE_SIZE}{namespace_query}",
            self.origin_url(reference),
            reference.repository()
        );
        let mut next = Some(first.parse().map_err(|_| RegistryError::Other(format!("`{reference}` has no address")))?);
        let mut tags = Vec::new();
        for _ in 0..MAX_PAGES {
            let Some(url) = next.take().filter(|_| tags.len() < MAX_TAGS) else { break };
            let request = http.get(Url::clone(&url));
            let request = match (&token, &auth) {
                (Some(token), _) => request.bearer_auth(token),
                (None, RegistryAuth::Basic(user, password)) => request.basic_auth(user, Some(password)),
                (None, _) => request,
            };
            let Some(page) = self.fetch_page(reference, &url, request).await? else { break };
            // A tag comes from outside and may become part of a URL later.
            tags.extend(page.tags.into_iter().filter(|tag| is_valid_tag(tag)));
            next = page.next;
        }
        tags.truncate(MAX_TAGS);
        Ok(tags)
    }

    /// `None` if the registry does not know the name.
    async fn fetch_page(
        &self,
        reference: &Reference,
        url: &Url,
        request: reqwest::RequestBuilder,
    ) -> Result<Option<TagPage>, RegistryError> {
        #[derive(Deserialize)]
        struct WireTagList {
            // `null` for a name without tags.
            tags: Option<Vec<String>>,
        }
        let mut answer = request.send().await.map_err(|error| unavailable_error(&error))?;
        let status = answer.status();
        match status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(self.unauthorised_error(reference, &describe_status(status)));
            }
            _ if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
                return Err(RegistryError::Unavailable(describe_status(status)));
            }
            _ => return Err(RegistryError::Other(describe_status(status))),
        }
        let next = match find_next_link(answer.headers()) {
            Some(link) => Some(resolve_next_page(url, link).ok_or_else(|| {
                RegistryError::Other(format!(
                    "its tags go on elsewhere, where we do not follow: {}",
                    truncate_text(link)
                ))
            })?),
            None => None,
        };
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| unavailable_error(&error))? {
            if body.len() + chunk.len() > MAX_PAGE_BYTES {
                return Err(RegistryError::Other("its list of tags has no end".to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        let list: WireTagList = serde_json::from_slice(&body).map_err(|error| {
            RegistryError::Other(format!("its list of tags cannot be read: {}", truncate_text(&error.to_string())))
        })?;
        // A next page that is the current page would loop for ever.
        Ok(Some(TagPage { tags: list.tags.unwrap_or_default(), next: next.filter(|next| next != url) }))
    }
}

fn describe_status(status: StatusCode) -> String {
    format!("it answered {}", status.as_u16())
}

/// The target of the `Link` header with `rel="next"`.
fn find_next_link(headers: &HeaderMap) -> Option<&str> {
    let is_next = |parameter: &str| {
        let Some((key, value)) = parameter.split_once('=') else { return false };
        let mut relations = value.trim().trim_matches('"').split_whitespace();
        key.trim().eq_ignore_ascii_case("rel") && relations.any(|relation| relation.eq_ignore_ascii_case("next"))
    };
    for value in headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok()) {
        for link in value.split('<').skip(1) {
            if let Some((target, parameters)) = link.split_once('>')
                && parameters.split([';', ',']).any(is_next)
            {
                return Some(target);
            }
        }
    }
    None
}

/// The URL of the next page, if it is on the same host: no other host may see the token. The scheme is kept, because a
/// registry behind a proxy that terminates TLS writes `http` into its links.
fn resolve_next_page(from: &Url, link: &str) -> Option<Url> {
    let to = from.join(link).ok()?;
    if (to.host(), to.port()) != (from.host(), from.port()) {
        return None;
    }
    let mut next = from.clone();
    next.set_path(to.path());
    next.set_query(to.query());
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_in_the_link_header() {
        let next = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(LINK, value.parse().unwrap());
            }
            find_next_link(&headers).map(str::to_owned)
        };
        assert_eq!(
            next(&[r#"</v2/a/tags/list?last=2&n=2>; rel="next""#]).as_deref(),
            Some("/v2/a/tags/list?last=2&n=2")
        );
        assert_eq!(next(&["</x>;title=a;REL=next"]).as_deref(), Some("/x"));
        assert_eq!(next(&[r#"</p>; rel="prev", </n>; rel="last next""#]).as_deref(), Some("/n"));
        assert_eq!(next(&["</p>; rel=prev", "</n>; rel=next"]).as_deref(), Some("/n"));
        for none in ["", "</p>", "</p>; rel=previous", "/p; rel=next", "</p; rel=next"] {
            assert_eq!(next(&[none]), None, "{none}");
        }
    }

    #[test]
    fn a_link_is_followed_on_its_own_host_only() {
        let from: Url = "https://ghcr.io/v2/acme/a/tags/list?n=1000".parse().unwrap();
        for (link, to) in [
            ("/v2/acme/a/tags/list?last=b", Some("https://ghcr.io/v2/acme/a/tags/list?last=b")),
            ("list?next_page=x%2Fy", Some("https://ghcr.io/v2/acme/a/tags/list?next_page=x%2Fy")),
            ("https://GHCR.io/v2/x", Some("https://ghcr.io/v2/x")),
            ("http://user:secret@ghcr.io/v2/x", Some("https://ghcr.io/v2/x")),
            ("https://evil.example/v2/acme/a/tags/list", None),
            ("//evil.example/v2", None),
            ("https://ghcr.io:8443/v2/x", None),
            ("data:,x", None),
        ] {
            assert_eq!(resolve_next_page(&from, link).map(String::from).as_deref(), to, "{link}");
        }
    }
}
