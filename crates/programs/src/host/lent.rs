//! Credentials on their way to the node that needs them. Written out only into what is sealed before it leaves.

use secrecy::ExposeSecret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kind::Credentials;

#[derive(Serialize, Deserialize)]
struct Lent {
    key: Option<String>,
    base_url: Option<String>,
    login: Option<std::path::PathBuf>,
}

pub(super) fn serialize<S: Serializer>(lent: &Credentials, to: S) -> Result<S::Ok, S::Error> {
    let key = lent.key.as_ref().map(|key| key.expose_secret().to_owned());
    Lent { key, base_url: lent.base_url.clone(), login: lent.login.clone() }.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Credentials, D::Error> {
    let Lent { key, base_url, login } = Lent::deserialize(from)?;
    Ok(Credentials { key: key.map(Into::into), base_url, login })
}
