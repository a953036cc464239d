//! The HTML page of a pull request: state, text, reviews, comments, commits, files, and the forms.

use git2::Oid;
use jiff::Timestamp;

use super::compare::Comparison;
use super::errors::ApiError;
use super::html::Html;
use super::json::time;
use super::mergeability::Mergeability;
use super::objects::Repo;
use super::pulls::PullRequest;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
    <link rel=\"icon\" type=\"image/svg+xml\" href=\"/page/icon.svg\"><link rel=\"stylesheet\" href=\"/page/theme.css\">\
    <link rel=\"stylesheet\" href=\"/page/pull.css\"><title>";

/// `people` are the choices in the forms. `refusal` is the reason why the last action was refused.
pub(super) fn page(
    repo: &Repo,
    pull: &PullRequest,
    mergeability: Mergeability,
    people: &[String],
    refusal: Option<&str>,
) -> Result<String, ApiError> {
    let compared = repo.compare_pull(pull)?;
    let mut html = Html::default();
    html.markup(HEAD).text(&pull.title).text(&format!(" #{} · {}", pull.number, repo.full_name));
    html.markup("</title></head>\n<body><main>");
    heading(&mut html, repo, pull, compared.as_ref());
    if let Some(refusal) = refusal {
        html.markup("<p class=\"refusal\" role=\"alert\">").text(refusal).markup("</p>");
    }
    if let Some(body) = &pull.body {
        html.markup("<pre class=\"body\">").text(body).markup("</pre>");
    }
    render_discussion(&mut html, pull);
    render_merge_state(&mut html, repo, pull, mergeability);
    if pull.is_open() {
        forms(&mut html, repo, pull, people);
    }
    if let Some(compared) = &compared {
        commits(&mut html, repo, compared)?;
        files(&mut html, repo, compared)?;
    }
    html.markup("</main></body></html>\n");
    Ok(html.finish())
}

impl Repo {
    /// The commits that the pull request brings or, if it is closed, brought.
    pub(super) fn compare_pull(&self, pull: &PullRequest) -> Result<Option<Comparison>, git2::Error> {
        let tip = if pull.is_open() { self.branch(&pull.base) } else { None };
        self.compare(tip.unwrap_or(pull.base_sha), pull.head_sha)
    }
}

fn heading(html: &mut Html, repo: &Repo, pull: &PullRequest, compared: Option<&Comparison>) {
    let count = compared.map_or(0, |compared| compared.commits.len());
    let commits = if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
    html.markup("<header><p class=\"place\">").text(&repo.full_name).markup("</p><h1>").text(&pull.title);
    html.markup(" <span class=\"number\">").text(&format!("#{}", pull.number)).markup("</span></h1><p>");
    html.markup("<b class=\"state ").text(pull.state_name()).markup("\">").text(pull.state_name()).markup("</b> ");
    html.markup("<b>").text(&pull.author).markup("</b> wants to merge ").text(&commits).markup(" into <code>");
    html.text(&pull.base).markup("</code> from <code>").text(&pull.head).markup("</code></p></header>");
}

/// Reviews and comments, oldest first.
fn render_discussion(html: &mut Html, pull: &PullRequest) {
    let reviews = pull.reviews.iter().map(|review| {
        let verdict = review.state.as_str().to_ascii_lowercase().replace('_', " ");
        let action = format!("{verdict} at {}", short(review.commit));
        (review.id, review.at, review.user.as_str(), action, review.body.as_str())
    });
    let comments = pull
        .comments
        .iter()
        .map(|comment| (comment.id, comment.at, comment.user.as_str(), "commented".to_owned(), comment.body.as_str()));
    let mut entries: Vec<(u64, Timestamp, &str, String, &str)> = reviews.chain(comments).collect();
    entries.sort_by_key(|(id, ..)| *id);
    if entries.is_empty() {
        return;
    }
    html.markup("<h2>Reviews and comments</h2><ol class=\"said\">");
    for (_, at, user, action, body) in entries {
        html.markup("<li><b>").text(user).markup("</b> ").text(&action).markup(" <time>").text(&time(at));
        html.markup("</time>");
        if !body.is_empty() {
            html.markup("<pre>").text(body).markup("</pre>");
        }
        html.markup("</li>");
    }
    html.markup("</ol>");
}

fn render_merge_state(html: &mut Html, repo: &Repo, pull: &PullRequest, mergeability: Mergeability) {
    html.markup("<p class=\"mergeable\">");
    match &pull.closed {
        None => {
            let words = match mergeability.state {
                "clean" => "It can be merged.",
                "unstable" => "It can be merged, though a check is not green.",
                "blocked" => "The branch's rules are not satisfied.",
                "behind" => "The branch has what this does not: it must be brought up to date.",
                "dirty" => "It has conflicts.",
                _ => "Whether it can be merged is not known yet.",
            };
            html.markup("<b>").text(mergeability.state).markup("</b> ").text(words);
        }
        Some(end) => {
            html.markup("<b>")
                .text(pull.state_name())
                .markup("</b> by ")
                .text(&end.by)
                .text(" at ")
                .text(&time(end.at));
            if let Some(commit) = end.merge_commit {
                html.text(" as ");
                commit_link(html, repo, commit);
            }
        }
    }
    html.markup("</p>");
}

/// One form; the button that was clicked selects the action.
fn forms(html: &mut Html, repo: &Repo, pull: &PullRequest, people: &[String]) {
    html.markup("<form method=\"post\"><label>As <select name=\"user\" class=\"select\">");
    let (authors, others): (Vec<_>, Vec<_>) = people.iter().partition(|login| **login == pull.author);
    for login in others.into_iter().chain(authors) {
        html.markup("<option>").text(login).markup("</option>");
    }
    html.markup("</select></label><textarea name=\"body\" rows=\"2\" aria-label=\"What to say\" placeholder=\"What to say\"></textarea>");
    let acts = [
        ("approve", "Approve", "primary"),
        ("request_changes", "Request changes", "danger"),
        ("comment", "Comment", ""),
        ("merge", "Merge", ""),
        ("close", "Close", ""),
    ];
    html.markup("<p>");
    for (act, label, kind) in acts {
        html.markup("<button class=\"button ").text(kind).markup("\" formaction=\"");
        html.text(&format!("{}/pull/{}/{act}", repository_path(repo), pull.number))
            .markup("\">")
            .text(label)
            .markup("</button> ");
    }
    html.markup("</p></form>");
}

fn commits(html: &mut Html, repo: &Repo, compared: &Comparison) -> Result<(), git2::Error> {
    html.markup("<h2>Commits</h2><ol class=\"commits\">");
    for id in &compared.commits {
        let commit = repo.commit_at(*id)?;
        let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
        html.markup("<li>");
        commit_link(html, repo, *id);
        html.text(" ").text(&subject).markup(" <i>");
        html.text(&String::from_utf8_lossy(commit.author().name_bytes())).markup("</i></li>");
    }
    html.markup("</ol>");
    Ok(())
}

fn files(html: &mut Html, repo: &Repo, compared: &Comparison) -> Result<(), git2::Error> {
    html.markup("<h2>Files</h2>");
    for file in repo.files_between(Some(compared.merge_base), compared.head)? {
        html.markup("<section class=\"file\"><h3><code>").text(&file.path).markup("</code> ").text(file.status);
        html.text(&format!(" +{} −{}", file.additions, file.deletions)).markup("</h3><pre>");
        for line in file.patch.as_deref().unwrap_or("No patch to show.").lines() {
            html.markup(match line.as_bytes().first() {
                Some(b'+') => "<span class=\"added\">",
                Some(b'-') => "<span class=\"removed\">",
                _ => "<span>",
            });
            html.text(line).markup("</span>\n");
        }
        html.markup("</pre></section>");
    }
    Ok(())
}

fn commit_link(html: &mut Html, repo: &Repo, id: Oid) {
    html.markup("<a href=\"").text(&format!("{}/commit/{id}", repository_path(repo))).markup("\"><code>");
    html.text(&short(id)).markup("</code></a>");
}

/// The repository's path without the host, because a browser may use another name for this machine. The path is
/// absolute, because the page that shows a refusal has a deeper path than the page with the form.
fn repository_path(repo: &Repo) -> String {
    let url = repo.html_url();
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    rest.find('/').map_or_else(String::new, |path| rest[path..].to_owned())
}

fn short(id: Oid) -> String {
    id.to_string()[..7].to_owned()
}
