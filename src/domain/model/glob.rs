//! Which paths and names a pattern stands for, as `paths` of an artefact and rules for reports have them.

/// `**` stands for any number of folders, `*` for anything within one name.
pub fn matches(glob: &str, path: &str) -> bool {
    fn folders(glob: &[&str], path: &[&str]) -> bool {
        match (glob, path) {
            ([], []) => true,
            // Of a folder's own name it is not a part.
            (["**"], below) => !below.is_empty(),
            (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| folders(rest, &path[skipped..])),
            ([first, rest @ ..], [name, below @ ..]) => within(first, name) && folders(rest, below),
            _ => false,
        }
    }
    let split = |text| str::split(text, '/').collect::<Vec<_>>();
    folders(&split(glob), &split(path))
}

/// Is a name, of which a slash is a part like any other, one of those that the pattern stands for? Takes as long as both are.
pub fn within(glob: &str, name: &str) -> bool {
    let Some((head, rest)) = glob.split_once('*') else { return glob == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        // The first place is as good as any later one, so nothing has to be tried twice.
        let Some((_, behind)) = left.split_once(part) else { return false };
        left = behind;
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_stand_for_folders_and_names() {
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
            assert_eq!(matches(glob, path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn a_name_is_matched_as_a_whole_and_at_once() {
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
            assert_eq!(within(glob, name), expected, "{glob} {name}");
        }
        assert!(!within(&"*a".repeat(40), &format!("{}b", "a".repeat(100_000))));
    }
}
