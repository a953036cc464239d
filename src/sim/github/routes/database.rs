//! The Git database: `/git/blobs`, `/git/trees`, `/git/commits` and `/git/tags`.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use git2::{ObjectType, Oid};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::errors::ApiError;
use super::super::json::{mode, node_id};
use super::super::objects::{Edit, Repo, TREE, full_oid, signature};
use super::super::{Author, GitHub, is_path};
use super::contents::encode_base64_lines;
use super::{Answer, RepositoryPath, bot, created_response, parse};

type ObjectPath = (String, String, String);

#[derive(Deserialize)]
struct NewBlob {
    content: String,
    encoding: Option<String>,
}

pub(super) async fn create_blob(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    body: Bytes,
) -> Answer {
    let new: NewBlob = parse(&body)?;
    let content = if new.encoding.as_deref() == Some("base64") {
        let bare: String = new.content.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        STANDARD.decode(bare).map_err(|_| ApiError::unprocessable("content is not valid Base64"))?
    } else {
        new.content.into_bytes()
    };
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let id = repo.git.blob(&content)?;
            Ok(created_response(json!({ "sha": id.to_string(), "url": repo.object_url("blob", id) })))
        })
        .await
}

pub(super) async fn blob(State(github): State<GitHub>, Path((owner, name, sha)): Path<ObjectPath>) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let id = find(repo, &sha, ObjectType::Blob)?;
            let blob = repo.git.find_blob(id)?;
            Ok(Json(json!({
                "sha": id.to_string(),
                "node_id": node_id("B", (&repo.full_name, id.as_bytes())),
                "size": blob.size(),
                "url": repo.object_url("blob", id),
                "content": encode_base64_lines(blob.content()),
                "encoding": "base64",
            }))
            .into_response())
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct Depth {
    recursive: Option<String>,
}

pub(super) async fn tree(
    State(github): State<GitHub>,
    Path((owner, name, sha)): Path<ObjectPath>,
    Query(depth): Query<Depth>,
) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let tree = full_oid(&sha).filter(|id| repo.kind(*id) == Some(ObjectType::Tree));
            let tree = tree.or_else(|| Some(repo.tree_of(repo.resolve(&sha)?).ok()?.id()));
            let tree = tree.ok_or_else(ApiError::not_found)?;
            // GitHub treats any value as true, even `0`.
            Ok(Json(repo.tree_json(tree, depth.recursive.is_some())?).into_response())
        })
        .await
}

#[derive(Deserialize)]
struct NewTree {
    tree: Vec<Value>,
    base_tree: Option<String>,
}

pub(super) async fn create_tree(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    body: Bytes,
) -> Answer {
    let new: NewTree = parse(&body)?;
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let base = new.base_tree.map(|sha| base_tree(repo, &sha)).transpose()?;
            let mut edits = BTreeMap::new();
            for entry in &new.tree {
                let (path, edit) = tree_edit(repo, entry)?;
                edits.insert(path, edit);
            }
            let invalid_tree = |error: git2::Error| ApiError::unprocessable(format!("Invalid tree info: {error}"));
            let id = repo.edit_tree(base, &edits).map_err(invalid_tree)?;
            Ok(created_response(repo.tree_json(id, false)?))
        })
        .await
}

/// GitHub accepts a commit here and uses its tree.
fn base_tree(repo: &Repo, sha: &str) -> Result<Oid, ApiError> {
    let id = full_oid(sha).and_then(|id| repo.git.find_object(id, None).ok()?.peel(ObjectType::Tree).ok());
    id.map(|tree| tree.id()).ok_or_else(|| ApiError::unprocessable("base_tree is not a valid tree oid"))
}

fn tree_edit(repo: &Repo, entry: &Value) -> Result<(String, Edit), ApiError> {
    let field = |name: &str| entry.get(name).and_then(Value::as_str);
    let path = field("path").filter(|path| is_path(path));
    let path = path.ok_or_else(|| ApiError::unprocessable("tree.path contains a malformed path component"))?.to_owned();
    if entry.get("sha").is_some_and(Value::is_null) {
        return Ok((path, Edit::Delete));
    }
    let invalid_mode = || ApiError::unprocessable("Must supply a valid tree.mode");
    let mode = field("mode").and_then(mode).ok_or_else(invalid_mode)?;
    let id = match (field("sha"), field("content")) {
        (Some(_), Some(_)) => return Err(ApiError::unprocessable("Must supply either tree.sha or tree.content")),
        (Some(sha), None) => {
            // A submodule's commit is in another repository.
            let expected_type = match mode {
                TREE => Some(ObjectType::Tree),
                0o160_000 => None,
                _ => Some(ObjectType::Blob),
            };
            let id = full_oid(sha).filter(|id| expected_type.is_none() || repo.kind(*id) == expected_type);
            let kind = expected_type.map_or("commit", |kind| kind.str());
            id.ok_or_else(|| ApiError::unprocessable(format!("tree.sha {sha} is not a valid {kind}")))?
        }
        (None, Some(content)) if mode != TREE => repo.git.blob(content.as_bytes())?,
        (None, _) => return Err(ApiError::unprocessable("Must supply tree.sha or tree.content")),
    };
    Ok((path, Edit::Put(id, mode)))
}

#[derive(Deserialize)]
struct Person {
    name: String,
    email: Option<String>,
    date: Option<Timestamp>,
}

impl Person {
    fn sign(person: Option<&Self>, now: Timestamp) -> Result<git2::Signature<'static>, ApiError> {
        let Some(person) = person else { return Ok(signature(&bot(), now)?) };
        let email = person.email.clone().unwrap_or_default();
        let author = Author { name: person.name.clone(), email, login: None };
        signature(&author, person.date.unwrap_or(now))
            .map_err(|_| ApiError::invalid_request("\"author\" needs a \"name\" and an \"email\"."))
    }
}

#[derive(Deserialize)]
struct NewCommitObject {
    message: String,
    tree: String,
    #[serde(default)]
    parents: Vec<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

pub(super) async fn create_commit(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    body: Bytes,
) -> Answer {
    let new: NewCommitObject = parse(&body)?;
    let now = github.0.clock.now();
    github.0.people.register(&bot());
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let tree = full_oid(&new.tree).filter(|id| repo.kind(*id) == Some(ObjectType::Tree));
            let tree = tree.ok_or_else(|| ApiError::unprocessable("Tree SHA does not exist"))?;
            let mut parents = Vec::new();
            for parent in &new.parents {
                let id = full_oid(parent).filter(|id| repo.is_commit(*id));
                parents.push(
                    id.ok_or_else(|| ApiError::unprocessable("Parent SHA does not exist or is not a commit object"))?,
                );
            }
            if new.message.contains('\0') {
                return Err(ApiError::unprocessable("message contains a null byte"));
            }
            let author = Person::sign(new.author.as_ref(), now)?;
            let committer = Person::sign(new.committer.as_ref().or(new.author.as_ref()), now)?;
            let id = repo.write_commit(tree, &parents, &new.message, &author, &committer)?;
            Ok(created_response(repo.git_commit_json(id)?))
        })
        .await
}

pub(super) async fn commit(State(github): State<GitHub>, Path((owner, name, sha)): Path<ObjectPath>) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let id = find(repo, &sha, ObjectType::Commit)?;
            Ok(Json(repo.git_commit_json(id)?).into_response())
        })
        .await
}

#[derive(Deserialize)]
struct NewTag {
    tag: String,
    message: String,
    object: String,
    r#type: String,
    tagger: Option<Person>,
}

pub(super) async fn create_tag(
    State(github): State<GitHub>,
    Path(repository): Path<RepositoryPath>,
    body: Bytes,
) -> Answer {
    let new: NewTag = parse(&body)?;
    let now = github.0.clock.now();
    github
        .serve(&repository.owner, &repository.repo, move |repo| {
            let kind = ObjectType::from_str(&new.r#type).filter(|kind| *kind != ObjectType::Any);
            let kind = kind.ok_or_else(|| ApiError::validation_failed("Tag", "type", "invalid"))?;
            let id = full_oid(&new.object).filter(|id| repo.kind(*id) == Some(kind));
            let id = id.ok_or_else(|| ApiError::unprocessable("Could not find the object to tag."))?;
            if !git2::Tag::is_valid_name(&new.tag) || new.message.contains('\0') {
                return Err(ApiError::validation_failed("Tag", "tag", "invalid"));
            }
            let tagger = Person::sign(new.tagger.as_ref(), now)?;
            let id = {
                let object = repo.git.find_object(id, None)?;
                repo.git.tag_annotation_create(&new.tag, &object, &tagger, &new.message)?
            };
            Ok(created_response(repo.git_tag_json(id)?))
        })
        .await
}

pub(super) async fn tag(State(github): State<GitHub>, Path((owner, name, sha)): Path<ObjectPath>) -> Answer {
    github
        .serve(&owner, &name, move |repo| {
            let id = find(repo, &sha, ObjectType::Tag)?;
            Ok(Json(repo.git_tag_json(id)?).into_response())
        })
        .await
}

fn find(repo: &Repo, sha: &str, kind: ObjectType) -> Result<Oid, ApiError> {
    if sha.len() != 40 || !sha.bytes().all(|b| b.is_ascii_hexdigit()) {
        let message = "The sha parameter must be exactly 40 characters and contain only [0-9a-f].";
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    full_oid(sha).filter(|id| repo.kind(*id) == Some(kind)).ok_or_else(ApiError::not_found)
}
