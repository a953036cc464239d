//! An image's tags. oci-client gives the first page and drops the `Link` to the next one, so the pages are read here.

use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LINK};
use serde::Deserialize;
use url::Url;

use super::client::{Client, RegistryError, USER_AGENT, shown, unavailable};
use super::reference::place;
use crate::domain::model::version::is_valid_tag;

/// What we ask for; a registry may give fewer.
const A_PAGE: usize = 1_000;
const MOST_PAGES: usize = 50;
const MOST_TAGS: usize = 10_000;
/// A registry that does not know pages sends all tags at once.
const PAGE_LIMIT: usize = 4 * 1024 * 1024;

struct Page {
    tags: Vec<String>,
    next: Option<Url>,
}

impl Client {
    /// The tags of `image`, which is a name without tag and digest, in the registry's order; none where it has no such
    /// image. What comes after 50 pages or 10,000 tags is left out.
    pub async fn tags(&self, image: &str) -> Result<Vec<String>, RegistryError> {
        let (registry, repository) =
            place(image).ok_or_else(|| RegistryError::Other(format!("`{image}` is not an image's name")))?;
        let any = self.mirrored(Reference::with_tag(registry, repository, "latest".to_owned()));
        tokio::time::timeout(self.patience.whole, self.all_pages(&any)).await.unwrap_or_else(|_| Err(self.too_slow()))
    }

    async fn all_pages(&self, any: &Reference) -> Result<Vec<String>, RegistryError> {
        let login = self.login(any);
        let token = self.ask(any, self.oci.auth(any, &login, RegistryOperation::Pull)).await?.flatten();
        // Tags are asked for so seldom that nothing is kept for it. Where a redirect leads is not for us to go.
        let http = reqwest::Client::builder()
            .connect_timeout(self.patience.connect)
            .read_timeout(self.patience.read)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT)
            .build()
            .map_err(|error| RegistryError::Other(format!("the client cannot be built: {error}")))?;
        let whose = if self.is_mirrored(any) { format!("&ns={}", any.registry()) } else { String::new() };
        let first = format!("{}/v2/{}/tags/list?n={A_PAGE}{whose}", self.origin(any), any.repository());
        let mut next = Some(first.parse().map_err(|_| RegistryError::Other(format!("`{any}` has no address")))?);
        let mut tags = Vec::new();
        for _ in 0..MOST_PAGES {
            let Some(url) = next.take().filter(|_| tags.len() < MOST_TAGS) else { break };
            let request = http.get(Url::clone(&url));
            let request = match (&token, &login) {
                (Some(token), _) => request.bearer_auth(token),
                (None, RegistryAuth::Basic(user, password)) => request.basic_auth(user, Some(password)),
                (None, _) => request,
            };
            let Some(page) = self.page(any, &url, request).await? else { break };
            // What came from outside may end in an address again.
            tags.extend(page.tags.into_iter().filter(|tag| is_valid_tag(tag)));
            next = page.next;
        }
        tags.truncate(MOST_TAGS);
        Ok(tags)
    }

    /// `None` where the registry knows no such name.
    async fn page(
        &self,
        any: &Reference,
        url: &Url,
        request: reqwest::RequestBuilder,
    ) -> Result<Option<Page>, RegistryError> {
        #[derive(Deserialize)]
        struct List {
            // A name without tags has `null`.
            tags: Option<Vec<String>>,
        }
        let mut answer = request.send().await.map_err(|error| unavailable(&error))?;
        let status = answer.status();
        match status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(self.refused(any, &said(status))),
            _ if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
                return Err(RegistryError::Unavailable(said(status)));
            }
            _ => return Err(RegistryError::Other(said(status))),
        }
        let next = match next_link(answer.headers()) {
            Some(link) => Some(followed(url, link).ok_or_else(|| {
                RegistryError::Other(format!("its tags go on elsewhere, where we do not follow: {}", shown(link)))
            })?),
            None => None,
        };
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| unavailable(&error))? {
            if body.len() + chunk.len() > PAGE_LIMIT {
                return Err(RegistryError::Other("its list of tags has no end".to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        let list: List = serde_json::from_slice(&body).map_err(|error| {
            RegistryError::Other(format!("its list of tags cannot be read: {}", shown(&error.to_string())))
        })?;
        // A list that goes on where it began goes on nowhere.
        Ok(Some(Page { tags: list.tags.unwrap_or_default(), next: next.filter(|next| next != url) }))
    }
}

fn said(status: StatusCode) -> String {
    format!("it answered {}", status.as_u16())
}

/// What a `Link` header names as the next page.
fn next_link(headers: &HeaderMap) -> Option<&str> {
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

/// The next page, if it is the same host's: no other is shown our token. The scheme stays what it was, for a registry
/// behind a proxy that ends TLS writes `http` into its links.
fn followed(from: &Url, link: &str) -> Option<Url> {
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
    fn the_next_page_is_found_among_links() {
        let next = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(LINK, value.parse().unwrap());
            }
            next_link(&headers).map(str::to_owned)
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
            assert_eq!(followed(&from, link).map(String::from).as_deref(), to, "{link}");
        }
    }
}
