//! Tokens: which are good, and above all which are not.

use artel_testkit::client::{Client, sign};
use artel_testkit::server::SECRET;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{Side, World};

const RSA: &[u8] = include_bytes!("keys/rsa.pem");
const RSA_PUBLIC: &str = include_str!("keys/rsa.pub.pem");
const EC: &[u8] = include_bytes!("keys/ec.pem");
const EC_PUBLIC: &str = include_str!("keys/ec.pub.pem");
const ED: &[u8] = include_bytes!("keys/ed.pem");
const ED_PUBLIC: &str = include_str!("keys/ed.pub.pem");

fn now() -> i64 {
    let now = artel_domain::Clock::now(&artel_domain::SystemClock);
    now.as_seconds()
}

fn good() -> Value {
    json!({"sub": "ada", "iat": now(), "exp": now() + 60})
}

async fn status(client: &Client, token: &str) -> (u16, String) {
    let answer = client.with_token(token).get("/my/me").await.unwrap();
    (answer.status.as_u16(), answer.body["detail"].as_str().unwrap_or_default().to_owned())
}

/// PF-5.1: without a token, with a wrong signature or algorithm, or an expired one: 401.
#[tokio::test]
async fn bad_tokens_are_refused() {
    let world = Side::Embedded.start();
    let (ada, key) = (world.user("ada"), SECRET.as_bytes());
    assert_eq!(status(&ada, &sign(key, &good())).await.0, 200);
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let none = |alg: &str| format!("{}.{}.", part(json!({"alg": alg, "typ": "JWT"})), part(good()));
    let mut cut = sign(key, &good());
    cut.truncate(cut.len() - 4);
    let with = |name: &str, value: Value| {
        let mut claims = good();
        claims[name] = value;
        sign(key, &claims)
    };
    let without = |name: &str| {
        let mut claims = good();
        claims.as_object_mut().unwrap().remove(name);
        sign(key, &claims)
    };
    let hs384 =
        encode(&Header::new(Algorithm::HS384), &good(), &EncodingKey::from_secret(key)).unwrap();
    let cases = [
        ("empty", String::new()),
        ("not a token", "abc".to_owned()),
        ("three dots", "...".to_owned()),
        ("alg none", none("none")),
        ("alg None", none("None")),
        ("alg HS256 without signature", none("HS256")),
        ("another secret", sign(b"another secret of thirty-two bytes!", &good())),
        ("cut signature", cut),
        ("HS384 with the secret", hs384),
        ("exp as text", with("exp", json!((now() + 60).to_string()))),
        ("exp as a fraction of text", with("exp", json!("soon"))),
        ("exp null", with("exp", Value::Null)),
        ("exp huge", with("exp", json!(1e300))),
        ("exp negative", with("exp", json!(-1))),
        ("no exp", without("exp")),
        ("no sub", without("sub")),
        ("sub empty", with("sub", json!(""))),
        ("sub a number", with("sub", json!(7))),
        ("sub with NUL", with("sub", json!("a\u{0}b"))),
        ("sub too long", with("sub", json!("a".repeat(300)))),
        ("not valid yet", with("nbf", json!(now() + 60))),
        ("nbf as text", with("nbf", json!("0"))),
    ];
    for (name, token) in cases {
        let (status, detail) = status(&ada, &token).await;
        assert_eq!(status, 401, "{name}: {detail}");
    }
    assert_eq!(
        status(&ada, &with("exp", json!(now() - 1))).await,
        (401, "Token expired".to_owned())
    );
    for scheme in ["Basic YWRhOng=", "Bearer", "bearer ", "Token x"] {
        let request = Client::new(world.artel.url(), "").unwrap().request(Method::GET, "/my/me");
        let refused = request.header("authorization", scheme).send().await.unwrap();
        assert_eq!(refused.status(), 401, "{scheme}");
        assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    }
}

/// A world that takes tokens of an outside issuer, whose key file holds this.
fn outside(key: &str, more: &[(&str, &str)]) -> (World, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), key).unwrap();
    let mut environment = vec![("ARTEL_JWT_PUBLIC_KEY_FILE", file.path().to_str().unwrap())];
    environment.extend(more);
    let world = Side::Embedded.start_with(&environment);
    (world, file)
}

fn signed(algorithm: Algorithm, key: &EncodingKey, id: Option<&str>, claims: &Value) -> String {
    let header = Header { kid: id.map(str::to_owned), ..Header::new(algorithm) };
    encode(&header, claims, key).unwrap()
}

/// PF-5.2: RS256, ES256 and `EdDSA` with a public key; PF-5.1: and never that key as a secret.
#[tokio::test]
async fn outside_keys_in_pem() {
    let keys = [
        (Algorithm::RS256, EncodingKey::from_rsa_pem(RSA).unwrap(), RSA_PUBLIC),
        (Algorithm::ES256, EncodingKey::from_ec_pem(EC).unwrap(), EC_PUBLIC),
        (Algorithm::EdDSA, EncodingKey::from_ed_pem(ED).unwrap(), ED_PUBLIC),
    ];
    for (algorithm, key, public) in &keys {
        let (world, _file) = outside(public, &[]);
        let ada = world.user("ada");
        assert_eq!(
            status(&ada, &signed(*algorithm, key, None, &good())).await.0,
            200,
            "{algorithm:?}"
        );
        let confused = sign(public.as_bytes(), &good());
        assert_eq!(status(&ada, &confused).await.0, 401, "{algorithm:?} as a secret");
        let trimmed = sign(public.trim().as_bytes(), &good());
        assert_eq!(status(&ada, &trimmed).await.0, 401, "{algorithm:?} as a secret");
        for (other, key, _) in keys.iter().filter(|(other, ..)| other != algorithm) {
            assert_eq!(
                status(&ada, &signed(*other, key, None, &good())).await.0,
                401,
                "{other:?} for {algorithm:?}"
            );
        }
        let (own, outsiders) = (
            ada.get("/my/me").await.unwrap(),
            ada.with_token(signed(*algorithm, key, None, &good())).get("/my/me").await.unwrap(),
        );
        assert_ne!(
            own.body["id"], outsiders.body["id"],
            "a name given by somebody else is somebody else"
        );
    }
}

/// PF-5.2: a key set, keys chosen by their id; issuer and audience are checked when configured.
#[tokio::test]
async fn outside_keys_in_a_set() {
    let ed = jwk_of_ed25519();
    let set = json!({"keys": [ed, {"kty": "oct", "kid": "sym", "alg": "HS256", "k": "c2VjcmV0"}]})
        .to_string();
    let (world, _file) = outside(
        &set,
        &[("ARTEL_JWT_ISSUER", "https://id.example.org"), ("ARTEL_JWT_AUDIENCE", "artel")],
    );
    let ada = world.user("ada");
    let key = EncodingKey::from_ed_pem(ED).unwrap();
    let mut claims = good();
    claims["iss"] = json!("https://id.example.org");
    claims["aud"] = json!(["artel", "other"]);
    assert_eq!(status(&ada, &signed(Algorithm::EdDSA, &key, Some("ed-1"), &claims)).await.0, 200);
    assert_eq!(
        status(&ada, &signed(Algorithm::EdDSA, &key, Some("../../etc/passwd"), &claims)).await.0,
        401
    );
    assert_eq!(
        status(&ada, &sign(b"secret", &claims)).await.0,
        401,
        "a symmetric key of the set is not taken"
    );
    for (name, value) in [
        ("iss", json!("https://evil.test")),
        ("aud", json!("other")),
        ("aud", Value::Null),
        ("iss", Value::Null),
    ] {
        let mut wrong = claims.clone();
        wrong[name] = value.clone();
        assert_eq!(
            status(&ada, &signed(Algorithm::EdDSA, &key, Some("ed-1"), &wrong)).await.0,
            401,
            "{name}: {value}"
        );
    }
}

/// PF-5.2: without auto-provisioning a good token for nobody is refused.
#[tokio::test]
async fn accounts_are_not_made_when_told_so() {
    let world = Side::Embedded.start_with(&[("ARTEL_AUTO_PROVISION", "false")]);
    let ada = world.user("ada");
    assert_eq!(ada.get("/my/me").await.unwrap().body["error_code"], "unknown_user");
    world.artel.run(&["user", "add", "ada"]).unwrap();
    assert_eq!(ada.get("/my/me").await.unwrap().status, 200);
}

fn jwk_of_ed25519() -> Value {
    let body: String = ED_PUBLIC.lines().filter(|line| !line.starts_with('-')).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(body).unwrap();
    // The last 32 bytes of the structure are the key itself.
    json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "ed-1", "x": URL_SAFE_NO_PAD.encode(&der[der.len() - 32..])})
}
