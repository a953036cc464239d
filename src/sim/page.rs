//! The page of `gantry demo`: its files, built into the binary and served unchanged.
//! It does not know the world; the page fetches its data from the control API.

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::routing::get;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// The page loads nothing from other sites, and no text can become HTML: the browser itself refuses `innerHTML`.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Path, content type, body.
const FILES: &[(&str, &str, &str)] = &[
    ("/", HTML, include_str!("page/index.html")),
    ("/page/icon.svg", SVG, include_str!("page/icon.svg")),
    ("/page/theme.css", CSS, include_str!("page/theme.css")),
    ("/page/shell.css", CSS, include_str!("page/shell.css")),
    ("/page/chat.css", CSS, include_str!("page/chat.css")),
    ("/page/live.css", CSS, include_str!("page/live.css")),
    ("/page/pull.css", CSS, include_str!("page/pull.css")),
    ("/page/app.js", JS, include_str!("page/app.js")),
    ("/page/blocks.js", JS, include_str!("page/blocks.js")),
    ("/page/composer.js", JS, include_str!("page/composer.js")),
    ("/page/dates.js", JS, include_str!("page/dates.js")),
    ("/page/dialogs.js", JS, include_str!("page/dialogs.js")),
    ("/page/dom.js", JS, include_str!("page/dom.js")),
    ("/page/emoji.js", JS, include_str!("page/emoji.js")),
    ("/page/graph.js", JS, include_str!("page/graph.js")),
    ("/page/graphview.js", JS, include_str!("page/graphview.js")),
    ("/page/control_api.js", JS, include_str!("page/control_api.js")),
    ("/page/hint.js", JS, include_str!("page/hint.js")),
    ("/page/inputs.js", JS, include_str!("page/inputs.js")),
    ("/page/live.js", JS, include_str!("page/live.js")),
    ("/page/markdown.js", JS, include_str!("page/markdown.js")),
    ("/page/messages.js", JS, include_str!("page/messages.js")),
    ("/page/mrkdwn.js", JS, include_str!("page/mrkdwn.js")),
    ("/page/stream.js", JS, include_str!("page/stream.js")),
    ("/page/text.js", JS, include_str!("page/text.js")),
    ("/page/views.js", JS, include_str!("page/views.js")),
    ("/page/world.js", JS, include_str!("page/world.js")),
];

/// `GET /` and the files it needs under `/page/`.
pub fn router() -> Router {
    FILES.iter().fold(Router::new(), |router, &(path, kind, body)| {
        let headers = [
            (CONTENT_TYPE, kind),
            (CACHE_CONTROL, "no-store"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
        ];
        router.route(path, get(move || async move { (headers, body) }))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use hyper_util::client::legacy::Client;
    use hyper_util::rt::TokioExecutor;

    use super::*;

    /// All quoted texts after `mark`, such as `href="..."`.
    fn quoted_after<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
        text.split(mark).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[tokio::test]
    async fn every_file_is_served_with_its_type_and_a_strict_policy() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router()).await });
        let client = Client::builder(TokioExecutor::new()).build_http::<axum::body::Body>();
        for (path, kind, body) in FILES {
            let answer = client.get(format!("http://{address}{path}").parse().unwrap()).await.unwrap();
            assert_eq!(answer.status(), 200, "{path}");
            assert_eq!(answer.headers()[CONTENT_TYPE], kind, "{path}");
            assert_eq!(answer.headers()[CACHE_CONTROL], "no-store", "{path}");
            assert!(answer.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().starts_with("default-src 'self';"));
            let served = axum::body::to_bytes(axum::body::Body::new(answer.into_body()), usize::MAX).await.unwrap();
            assert_eq!(served, body.as_bytes(), "{path}");
        }
        let absent = client.get(format!("http://{address}/page/absent.js").parse().unwrap()).await.unwrap();
        assert_eq!(absent.status(), 404);
    }

    #[test]
    fn every_file_of_the_folder_is_served_and_begins_with_a_comment() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sim/page");
        let in_folder: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            // It only tells Node, which runs the tests, that these files are modules.
            .filter(|name| name != "package.json")
            .collect();
        let served: BTreeSet<String> =
            FILES.iter().map(|(path, ..)| path.strip_prefix("/page/").unwrap_or("index.html").to_owned()).collect();
        assert_eq!(in_folder, served);
        for (path, kind, body) in FILES {
            let opening = match *kind {
                JS => "// ",
                CSS => "/* ",
                HTML => "<!doctype html>\n<!-- ",
                _ => "<!-- ",
            };
            assert!(body.starts_with(opening), "{path} does not begin with a comment");
        }
    }

    #[test]
    fn every_referenced_file_is_served() {
        let served: BTreeSet<&str> = FILES.iter().map(|(path, ..)| *path).collect();
        for (path, kind, body) in FILES {
            if *kind == HTML {
                for target in [quoted_after(body, " href=\""), quoted_after(body, " src=\"")].concat() {
                    assert!(target.starts_with('#') || served.contains(target), "{path} needs {target}");
                }
            }
            for target in quoted_after(body, " from \"./") {
                assert!(served.contains(format!("/page/{target}").as_str()), "{path} imports {target}");
            }
            assert!(!body.contains("url(") && !body.contains("@import"), "{path} loads a file through its style");
        }
    }

    #[test]
    fn no_script_parses_text_as_html_or_code() {
        for (path, _, body) in FILES.iter().filter(|(_, kind, _)| *kind == JS) {
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function"]
            {
                assert!(!body.contains(forbidden), "{path} uses {forbidden}");
            }
        }
    }
}
