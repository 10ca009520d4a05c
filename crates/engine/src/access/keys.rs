//! The keys that tokens are signed with.
//!
//! The algorithm decides the key, never the other way round: HS256 is checked with the server's own secret and
//! nothing else, RS256, ES256 and `EdDSA` with the configured public keys and nothing else, so a public key can never
//! be used as a secret. Every token must expire.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use artel_domain::Timestamp;
use artel_nodes::sealing::Sealer;
use artel_storage::users::LOCAL;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{JwkSet, KeyAlgorithm};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Shortest secret that is taken, in bytes: as long as the digest it protects.
const SECRET: usize = 32;
/// Keeps this use of the server's secret apart from all others.
const KEPT: &str = "artel: what is kept for others";

/// Whom a token is for: a local account, or a subject that an outside issuer vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    pub issuer: String,
    pub subject: String,
}

/// An outside issuer whose tokens are taken.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// A public key in PEM, or a JSON Web Key Set.
    pub key: String,
    pub issuer: Option<String>,
    pub audience: Option<String>,
}

#[derive(Clone)]
pub struct Keys(Arc<Inner>);

struct Inner {
    signing: EncodingKey,
    local: DecodingKey,
    outside: Vec<OutsideKey>,
    issuer: Option<String>,
    audience: Option<String>,
    sealer: Sealer,
}

struct OutsideKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iss: Option<String>,
    #[serde(default)]
    iat: i64,
    exp: i64,
}

impl Keys {
    pub fn new(secret: &SecretString, outside: Option<&Outside>) -> Result<Self> {
        let bytes = secret.expose_secret().as_bytes();
        if bytes.len() < SECRET {
            return Err(Error::invalid_field(
                "auth.jwt_secret",
                format!("must have at least {SECRET} bytes; make one with: openssl rand -hex 32"),
            ));
        }
        Ok(Self(Arc::new(Inner {
            signing: EncodingKey::from_secret(bytes),
            local: DecodingKey::from_secret(bytes),
            outside: outside
                .map(|outside| read_keys(&outside.key))
                .transpose()?
                .unwrap_or_default(),
            issuer: outside.and_then(|outside| outside.issuer.clone()),
            audience: outside.and_then(|outside| outside.audience.clone()),
            sealer: Sealer::new(secret, KEPT),
        })))
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.0.sealer
    }

    /// Signs a token for a local account.
    pub fn sign(&self, name: &str, now: Timestamp, ttl: Duration) -> Result<String> {
        let iat = now.as_seconds();
        let exp = now.plus(ttl).as_seconds();
        let claims = Claims { sub: name.to_owned(), iss: None, iat, exp };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.0.signing)
            .map_err(Error::internal)
    }

    /// Whom the token is for, if it is good.
    pub fn verify(&self, token: &str) -> Result<Identity> {
        let header =
            jsonwebtoken::decode_header(token).map_err(|_| refused("Token is malformed"))?;
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "whatever is not allowed is refused, also what comes later"
        )]
        match header.alg {
            Algorithm::HS256 => {
                let mut rules = rules(Algorithm::HS256);
                rules.validate_aud = false;
                let claims = decode(token, &self.0.local, &rules)?;
                Ok(Identity { issuer: LOCAL.to_owned(), subject: claims.sub })
            }
            Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA => {
                let key = self.0.outside.iter().find(|key| {
                    key.algorithm == header.alg
                        && (header.kid.is_none() || key.id.is_none() || key.id == header.kid)
                });
                let key = key
                    .ok_or_else(|| refused("Token was signed with a key that is not known here"))?;
                let mut rules = rules(header.alg);
                match &self.0.issuer {
                    Some(issuer) => {
                        rules.set_issuer(&[issuer]);
                        rules.required_spec_claims.insert("iss".to_owned());
                    }
                    None => rules.iss = None,
                }
                match &self.0.audience {
                    Some(audience) => {
                        rules.set_audience(&[audience]);
                        rules.required_spec_claims.insert("aud".to_owned());
                    }
                    None => rules.validate_aud = false,
                }
                let claims = decode(token, &key.key, &rules)?;
                // An issuer without a name is still not us.
                let issuer = claims
                    .iss
                    .filter(|iss| !iss.is_empty())
                    .unwrap_or_else(|| "outside".to_owned());
                Ok(Identity { issuer, subject: claims.sub })
            }
            _ => Err(refused("Token algorithm is not allowed")),
        }
    }
}

fn rules(algorithm: Algorithm) -> Validation {
    let mut rules = Validation::new(algorithm);
    rules.required_spec_claims = ["exp", "sub"].map(str::to_owned).into();
    rules.leeway = 0;
    rules.validate_nbf = true;
    rules
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other reasons are the signer's business")]
fn decode(token: &str, key: &DecodingKey, rules: &Validation) -> Result<Claims> {
    let claims =
        jsonwebtoken::decode::<Claims>(token, key, rules).map_err(|error| match error.kind() {
            ErrorKind::ExpiredSignature => Error::unauthenticated("token_expired", "Token expired"),
            ErrorKind::ImmatureSignature => refused("Token is not valid yet"),
            ErrorKind::InvalidIssuer => refused("Token is of another issuer"),
            ErrorKind::InvalidAudience => refused("Token is for another audience"),
            ErrorKind::MissingRequiredClaim(claim) => {
                refused(&format!("Token lacks the claim {claim}"))
            }
            ErrorKind::InvalidSignature => refused("Token signature is wrong"),
            _ => refused("Token is not valid"),
        })?;
    let subject = &claims.claims.sub;
    if subject.is_empty() || subject.chars().count() > 255 || subject.contains('\0') {
        return Err(refused("Token subject must have 1 to 255 characters"));
    }
    Ok(claims.claims)
}

fn refused(message: &str) -> Error {
    Error::unauthenticated("invalid_token", message)
}

fn read_keys(text: &str) -> Result<Vec<OutsideKey>> {
    let unusable = |why: String| Error::invalid_field("auth.public_key_file", why);
    if text.trim_start().starts_with('{') {
        let set: JwkSet =
            serde_json::from_str(text).map_err(|error| unusable(error.to_string()))?;
        let keys: Result<Vec<_>> = set
            .keys
            .iter()
            .filter_map(|jwk| {
                let algorithm = jwk_algorithm(jwk)?;
                let key = DecodingKey::from_jwk(jwk).map_err(|error| unusable(error.to_string()));
                Some(key.map(|key| OutsideKey { id: jwk.common.key_id.clone(), algorithm, key }))
            })
            .collect();
        let keys = keys?;
        return if keys.is_empty() {
            Err(unusable("holds no key for RS256, ES256 or EdDSA".to_owned()))
        } else {
            Ok(keys)
        };
    }
    let pem = text.as_bytes();
    let (algorithm, key) = DecodingKey::from_rsa_pem(pem)
        .map(|key| (Algorithm::RS256, key))
        .or_else(|_| DecodingKey::from_ec_pem(pem).map(|key| (Algorithm::ES256, key)))
        .or_else(|_| DecodingKey::from_ed_pem(pem).map(|key| (Algorithm::EdDSA, key)))
        .map_err(|_| {
            unusable("is neither a JSON Web Key Set nor a public key in PEM".to_owned())
        })?;
    Ok(vec![OutsideKey { id: None, algorithm, key }])
}

/// The algorithm of a key of a set; none for keys of other kinds, above all symmetric ones.
#[expect(clippy::wildcard_enum_match_arm, reason = "a key for anything else is not for us")]
fn jwk_algorithm(jwk: &jsonwebtoken::jwk::Jwk) -> Option<Algorithm> {
    use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve};
    let by_shape = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            Algorithm::ES256
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            Algorithm::EdDSA
        }
        _ => return None,
    };
    let stated = match jwk.common.key_algorithm {
        None => return Some(by_shape),
        Some(KeyAlgorithm::RS256) => Algorithm::RS256,
        Some(KeyAlgorithm::ES256) => Algorithm::ES256,
        Some(KeyAlgorithm::EdDSA) => Algorithm::EdDSA,
        Some(_) => return None,
    };
    (stated == by_shape).then_some(stated)
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({} from outside)", self.0.outside.len())
    }
}
