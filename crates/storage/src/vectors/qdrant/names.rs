//! What things are called on a Qdrant server.
//!
//! A collection's own name is made of the agent's id and a mark of the model, so that neither a new agent of an old
//! name nor a new model meets what others left. People know a collection by its alias.

use std::fmt::Write as _;

use artel_domain::{AgentId, InteractionId};
use sha2::{Digest, Sha256};

use super::super::Model;

/// Vectors are kept under this name in every point.
pub(super) const VECTOR: &str = "text";
/// The collection that tells which agents have a place in the shared one.
pub(super) const REGISTER: &str = "artel_agents";

/// What Qdrant takes for a name, in bytes to be safe.
const LONGEST_NAME: usize = 255;
/// Of an id that two tenants may share, so many bytes lead the id of the point, and the order with it.
pub(super) const LEADING: usize = 8;

/// Tells models apart; the same for ever.
pub(super) fn mark(model: &Model) -> String {
    let mut hash = Sha256::new();
    hash.update(model.name.as_bytes());
    hash.update([0]);
    hash.update(model.dimensions.to_string().as_bytes());
    hex(&hash.finalize()[..6])
}

pub(super) fn prefix_of_agent(agent: AgentId) -> String {
    format!("artel_{agent}_")
}

pub(super) fn of_agent(agent: AgentId, mark: &str) -> String {
    format!("{}{mark}", prefix_of_agent(agent))
}

pub(super) const PREFIX_OF_SHARED: &str = "artel_shared_";

pub(super) fn of_all(mark: &str) -> String {
    format!("{PREFIX_OF_SHARED}{mark}")
}

/// The name by which people find a collection. What a path or a file cannot carry is written as in an address.
pub(super) fn alias(name: &str) -> String {
    let mut alias = String::with_capacity(name.len());
    for character in name.chars() {
        let plain =
            !matches!(character, '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' | '%')
                && !character.is_control();
        if plain {
            alias.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(alias, "%{byte:02X}");
            }
        }
    }
    if alias.len() <= LONGEST_NAME {
        return alias;
    }
    // Names that agree in all that is kept still differ.
    let end = format!("~{}", hex(&Sha256::digest(name.as_bytes())[..8]));
    let mut kept = LONGEST_NAME - end.len();
    while !alias.is_char_boundary(kept) {
        kept -= 1;
    }
    alias.truncate(kept);
    alias.push_str(&end);
    alias
}

/// The point of an interaction in the shared collection. Ids of two tenants may be the same, their points are not;
/// the leading bytes are kept, so that points are in the order of their ids wherever those bytes differ.
pub(super) fn shared_point(agent: AgentId, interaction: InteractionId) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update(agent.as_bytes());
    hash.update(interaction.as_bytes());
    let hash = hash.finalize();
    let mut id = *interaction.as_bytes();
    id[LEADING..].copy_from_slice(&hash[..16 - LEADING]);
    id
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_the_name_but_for_what_qdrant_forbids() {
        let name = "user1_project7_coder_context";
        assert_eq!(alias(name), name);
        assert_eq!(alias("a/b:c%d\0é"), "a%2Fb%3Ac%25d%00é");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let (one, other) = (format!("{}1", "ä".repeat(200)), format!("{}2", "ä".repeat(200)));
        assert!(alias(&one).len() <= LONGEST_NAME);
        assert_ne!(alias(&one), alias(&other));
    }

    #[test]
    fn points_of_two_tenants_differ_and_lead_alike() {
        let interaction = InteractionId::from_bytes([7; 16]);
        let one = shared_point(AgentId::from_bytes([1; 16]), interaction);
        let other = shared_point(AgentId::from_bytes([2; 16]), interaction);
        assert_ne!(one, other);
        assert_eq!(one[..LEADING], other[..LEADING]);
        assert_eq!(one[..LEADING], [7; LEADING]);
    }

    #[test]
    fn a_mark_stays_what_it_is() {
        let model = |name: &str, dimensions| Model { name: name.to_owned(), dimensions };
        assert_eq!(mark(&model("m", 3)), mark(&model("m", 3)));
        assert_ne!(mark(&model("m", 3)), mark(&model("m", 33)));
        assert_ne!(mark(&model("m", 3)), mark(&model("n", 3)));
    }
}
