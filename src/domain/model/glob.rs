//! Glob patterns for the `paths` of an artefact and for the rules that attribute reports.

/// Matches a path. `**` stands for any number of folders, `*` for any characters within one name.
pub fn is_path_match(glob: &str, path: &str) -> bool {
    fn match_folders(glob: &[&str], path: &[&str]) -> bool {
        match (glob, path) {
            ([], []) => true,
            // `folder/**` does not match `folder` itself.
            (["**"], remaining) => !remaining.is_empty(),
            (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| match_folders(rest, &path[skipped..])),
            ([first, rest @ ..], [name, remaining @ ..]) => {
                is_name_match(first, name) && match_folders(rest, remaining)
            }
            _ => false,
        }
    }
    let split = |text| str::split(text, '/').collect::<Vec<_>>();
    match_folders(&split(glob), &split(path))
}

/// Matches a name as a whole; a slash is an ordinary character. The time is linear in the length of both texts.
pub fn is_name_match(glob: &str, name: &str) -> bool {
    let Some((head, rest)) = glob.split_once('*') else { return glob == name };
    let Some(mut remaining) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        // The first match leaves the most text for the later parts, so no other match has to be tried.
        let Some((_, after)) = remaining.split_once(part) else { return false };
        remaining = after;
    }
    remaining.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_folders_and_names() {
        let cases = [
            ("mailer/**", "mailer/a/b.rs", true),
            ("mailer/**", "mailer", false),
            ("mailer/**", "mailers/a", false),
            ("**", "a/b", true),
            ("**/Cargo.toml", "Cargo.toml", true),
            ("**/Cargo.toml", "a/b/Cargo.toml", true),
            ("lib/*.rs", "lib/x.rs", true),
            ("lib/*.rs", "lib/x/y.rs", false),
            ("lib/*ä*.rs", "lib/xäy.rs", true),
        ];
        for (glob, path, expected) in cases {
            assert_eq!(is_path_match(glob, path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn a_name_is_matched_as_a_whole_in_linear_time() {
        let cases = [
            ("apps", "apps", true),
            ("apps", "apps-eu", false),
            ("*", "", true),
            ("*", "a/b", true),
            ("apps-*", "apps-", true),
            ("*-apps", "shop-apps", true),
            ("*-apps", "apps", false),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("**", "x", true),
        ];
        for (glob, name, expected) in cases {
            assert_eq!(is_name_match(glob, name), expected, "{glob} {name}");
        }
        assert!(!is_name_match(&"*a".repeat(40), &format!("{}b", "a".repeat(100_000))));
    }
}
