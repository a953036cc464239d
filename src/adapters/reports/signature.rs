//! Verifies the sender of a webhook: an HMAC over the raw body, or the secret itself, compared in constant time.

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// `header` is `<algorithm>=<hex>`, as Flux and GitHub send it. An empty secret verifies nothing.
pub fn verify_hmac(header: &str, body: &[u8], secret: &SecretString) -> bool {
    let secret = secret.expose_secret().as_bytes();
    let Some((algorithm, digits)) = header.trim().split_once('=') else { return false };
    let Ok(signature) = hex::decode(digits) else { return false };
    if secret.is_empty() {
        return false;
    }
    match algorithm {
        "sha224" => verify_mac::<Hmac<Sha224>>(secret, body, &signature),
        "sha256" => verify_mac::<Hmac<Sha256>>(secret, body, &signature),
        "sha384" => verify_mac::<Hmac<Sha384>>(secret, body, &signature),
        "sha512" => verify_mac::<Hmac<Sha512>>(secret, body, &signature),
        _ => false,
    }
}

/// `header` is `Bearer <secret>`, as Argo CD sends it, which cannot sign. An empty secret verifies nothing.
pub fn verify_bearer(header: &str, secret: &SecretString) -> bool {
    let secret = secret.expose_secret().as_bytes();
    let Some((scheme, token)) = header.trim().split_once(' ') else { return false };
    if !scheme.eq_ignore_ascii_case("bearer") || secret.is_empty() {
        return false;
    }
    // Compares HMACs: the duration reveals neither the first difference nor the length of the secret.
    let Ok(mac) = <Hmac<Sha256> as Mac>::new_from_slice(secret) else { return false };
    let expected = mac.chain_update(secret).finalize().into_bytes();
    verify_mac::<Hmac<Sha256>>(secret, token.trim().as_bytes(), &expected)
}

fn verify_mac<M: Mac + KeyInit>(secret: &[u8], body: &[u8], signature: &[u8]) -> bool {
    <M as Mac>::new_from_slice(secret).is_ok_and(|mac| mac.chain_update(body).verify_slice(signature).is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sign(body: &[u8], secret: &str) -> String {
        let mac = <Hmac<Sha256> as Mac>::new_from_slice(secret.as_bytes()).unwrap().chain_update(body);
        format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
    }

    /// RFC 4231, test case 2: the key `Jefe`.
    const BODY: &[u8] = b"what do ya want for nothing?";
    const SIGNATURES: [&str; 4] = [
        "sha224=a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44",
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "sha384=af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        "sha512=164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    ];

    #[test]
    fn the_published_examples_verify_by_each_algorithm() {
        for signature in SIGNATURES {
            assert!(verify_hmac(signature, BODY, &"Jefe".into()), "{signature}");
            assert!(!verify_hmac(signature, BODY, &"jefe".into()), "{signature}");
            assert!(!verify_hmac(signature, b"something else", &"Jefe".into()), "{signature}");
        }
    }

    #[test]
    fn an_invalid_signature_is_refused() {
        let right = SIGNATURES[1];
        let hex = right.strip_prefix("sha256=").unwrap();
        let wrong = [
            "",
            "=",
            "sha256=",
            hex,
            &right[..right.len() - 2],
            &right[..right.len() - 1],
            &format!("{right}00"),
            &format!("sha1={hex}"),
            &format!("md5={hex}"),
            &format!("sha512={hex}"),
            "sha256=zz",
            &format!("sha256={}", "é".repeat(32)),
        ];
        for header in wrong {
            assert!(!verify_hmac(header, BODY, &"Jefe".into()), "{header}");
        }
        assert!(!verify_hmac(&sign(BODY, ""), BODY, &"".into()), "an empty secret is no secret");
    }

    #[test]
    fn a_bearer_token_must_be_the_whole_secret() {
        let secret = "s3cret of qa".into();
        for right in ["Bearer s3cret of qa", "bearer s3cret of qa", " Bearer  s3cret of qa "] {
            assert!(verify_bearer(right, &secret), "{right}");
        }
        let wrong =
            ["", "Bearer", "Bearer ", "s3cret of qa", "Basic s3cret of qa", "Bearer s3cret", "Bearer s3cret of qa2"];
        for header in wrong {
            assert!(!verify_bearer(header, &secret), "{header}");
        }
        assert!(!verify_bearer("Bearer ", &"".into()), "an empty secret is no secret");
        assert!(!verify_bearer("Bearer x", &"".into()));
    }

    proptest! {
        #[test]
        fn any_change_of_the_body_is_detected(body in prop::collection::vec(any::<u8>(), 1..200), index in any::<prop::sample::Index>(), flip in 1..=255_u8) {
            let header = sign(&body, "secret");
            prop_assert!(verify_hmac(&header, &body, &"secret".into()));
            let mut other = body.clone();
            other[index.index(body.len())] ^= flip;
            prop_assert!(!verify_hmac(&header, &other, &"secret".into()));
        }

        #[test]
        fn no_random_header_is_accepted(header in ".*", body in prop::collection::vec(any::<u8>(), 0..50)) {
            prop_assert!(!verify_hmac(&header, &body, &"secret".into()));
        }
    }
}
