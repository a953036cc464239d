//! Which paths a pattern names, as `paths` of an artefact has them.

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
    fn within(glob: &str, name: &str) -> bool {
        match glob.split_once('*') {
            None => glob == name,
            Some((head, rest)) => name.strip_prefix(head).is_some_and(|left| {
                left.char_indices().map(|(at, _)| at).chain([left.len()]).any(|at| within(rest, &left[at..]))
            }),
        }
    }
    let split = |text| str::split(text, '/').collect::<Vec<_>>();
    folders(&split(glob), &split(path))
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
}
