//! The starter packs at hand: those that come with Artel, and the operator's own.

use std::path::Path;

use artel_domain::packs::Pack;

use crate::{Error, Result};

/// The word for "no agents".
const NONE: &str = "none";

#[derive(Debug)]
pub(crate) struct Packs(Vec<Pack>);

impl Packs {
    /// Reads the built-in packs and then `*.toml` of the folder, if there is one; a pack of the same name replaces.
    pub(crate) fn load(folder: Option<&Path>) -> Result<Self> {
        let mut packs = Pack::built_in();
        if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
            let unreadable =
                |error: std::io::Error| Error::internal(format!("{}: {error}", folder.display()));
            for entry in std::fs::read_dir(folder).map_err(unreadable)? {
                let path = entry.map_err(unreadable)?.path();
                if path.extension().is_none_or(|ending| ending != "toml") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).map_err(unreadable)?;
                let pack = Pack::parse(&text)
                    .map_err(|error| Error::internal(format!("{}: {error}", path.display())))?;
                packs.retain(|known| known.name != pack.name);
                packs.push(pack);
            }
        }
        Ok(Self(packs))
    }

    /// The pack of that name; `none` is the empty one.
    pub(crate) fn find(&self, name: &str) -> Result<&[(String, artel_domain::AgentConfig)]> {
        if name == NONE {
            return Ok(&[]);
        }
        self.0.iter().find(|pack| pack.name == name).map(|pack| pack.agents.as_slice()).ok_or_else(
            || {
                let known: Vec<_> =
                    self.0.iter().map(|pack| pack.name.as_str()).chain([NONE]).collect();
                Error::invalid_field(
                    "starter_pack",
                    format!("is not a known pack (there are: {})", known.join(", ")),
                )
            },
        )
    }
}
