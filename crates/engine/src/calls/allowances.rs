//! What a user lets agents do without being asked. Never what is of high risk.

use artel_domain::tool::Allowance;
use artel_domain::{AllowanceId, ProjectId};
use artel_storage::{Conn, Lane, Scope, allowances, projects};
use artel_tools::{Request, catalog};
use globset::{Glob, GlobBuilder};

use super::AllowTool;
use crate::input::Checked;
use crate::{App, Caller, Error, Kind, Result};

/// As many as a person can oversee.
const MOST: usize = 100;
const TOO_MANY: &str = "too_many_preferences";

impl App {
    /// From now on this need not be asked in the project.
    pub async fn allow_tool(
        &self,
        caller: &Caller,
        project: ProjectId,
        input: Checked<AllowTool>,
    ) -> Result<Allowance> {
        let scope = Scope { user: caller.user, project };
        let AllowTool { tool_name, pattern } = input.into_inner();
        if catalog::find(&tool_name).is_none() {
            return Err(Error::invalid_field("tool_name", "is not a tool on the workspace"));
        }
        for word in pattern.iter().flat_map(|pattern| pattern.split_whitespace()) {
            if let Err(error) = Glob::new(word) {
                return Err(Error::invalid_field("pattern", error.to_string()));
            }
        }
        let allowance = Allowance {
            id: AllowanceId::new(self.clock()),
            tool_name,
            pattern,
            created_at: self.clock().now(),
        };
        let added = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                if allowances::all(conn, scope).await?.len() >= MOST {
                    return Err(artel_storage::Error::Refused(TOO_MANY));
                }
                allowances::add(conn, scope, &allowance).await?;
                Ok(allowance)
            })
        });
        added.await.map_err(|error| {
            if matches!(error, artel_storage::Error::Refused(TOO_MANY)) {
                let message = format!("A project has at most {MOST} of these; delete one first");
                Error::new(Kind::Conflict, TOO_MANY, message)
            } else {
                error.into()
            }
        })
    }

    pub async fn allowances(&self, caller: &Caller, project: ProjectId) -> Result<Vec<Allowance>> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                allowances::all(conn, scope).await
            })
        });
        Ok(read.await?)
    }

    /// From now on it is asked again.
    pub async fn disallow_tool(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AllowanceId,
    ) -> Result<()> {
        let scope = Scope { user: caller.user, project };
        let deleted = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move { allowances::delete(conn, scope, id).await })
        });
        Ok(deleted.await?)
    }
}

pub(super) async fn of(conn: &mut Conn, scope: Scope) -> artel_storage::Result<Vec<Allowance>> {
    allowances::all(conn, scope).await
}

/// Whether it is for this very call.
pub(super) fn covers(allowance: &Allowance, request: &Request) -> bool {
    let (tool, words): (&str, Vec<&str>) = match request {
        Request::ReadFile(it) => ("tool_read_file", vec![&it.path]),
        Request::WriteFile(it) => ("tool_write_file", vec![&it.path]),
        Request::EditFile(it) => ("tool_edit_file", vec![&it.path]),
        Request::ListDirectory(it) => ("tool_list_directory", vec![&it.path]),
        Request::SearchFiles(it) => ("tool_search_files", vec![&it.path]),
        Request::ExecuteCommand(it) => ("tool_execute_command", it.argv().collect()),
    };
    if allowance.tool_name != tool {
        return false;
    }
    let Some(pattern) = &allowance.pattern else { return true };
    if let Request::ExecuteCommand(_) = request {
        let mut wanted: Vec<_> = pattern.split_whitespace().collect();
        let open = wanted.last() == Some(&"*");
        if open {
            wanted.pop();
        }
        let long_enough =
            if open { words.len() >= wanted.len() } else { words.len() == wanted.len() };
        return long_enough
            && wanted.iter().zip(&words).all(|(glob, word)| fits(glob, word, false));
    }
    // A path has one way to be written here, so that no `..` leads out of what was allowed.
    words.iter().all(|path| !path.split('/').any(|part| part == "..") && fits(pattern, path, true))
}

fn fits(glob: &str, text: &str, is_path: bool) -> bool {
    let text = text.strip_prefix("./").unwrap_or(text);
    let built = GlobBuilder::new(glob).literal_separator(is_path).build();
    built.is_ok_and(|glob| glob.compile_matcher().is_match(text))
}

#[cfg(test)]
mod tests {
    use artel_domain::{Clock, SystemClock};
    use artel_tools::request::{ExecuteCommand, WriteFile};

    use super::*;

    fn allowance(tool: &str, pattern: Option<&str>) -> Allowance {
        Allowance {
            id: AllowanceId::new(&SystemClock),
            tool_name: tool.to_owned(),
            pattern: pattern.map(str::to_owned),
            created_at: SystemClock.now(),
        }
    }

    fn run(words: &[&str]) -> Request {
        Request::ExecuteCommand(ExecuteCommand {
            command: words[0].to_owned(),
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            timeout: 30,
            network: false,
        })
    }

    fn write(path: &str) -> Request {
        let content = String::new();
        Request::WriteFile(WriteFile { path: path.to_owned(), content, create_dirs: false })
    }

    /// PF-2.6: with a path or argument pattern.
    #[test]
    fn patterns_are_for_words_and_paths() {
        let tests = allowance("tool_execute_command", Some("cargo test *"));
        assert!(covers(&tests, &run(&["cargo", "test"])));
        assert!(covers(&tests, &run(&["cargo", "test", "--lib", "x"])));
        assert!(!covers(&tests, &run(&["cargo", "publish"])));
        assert!(!covers(&tests, &run(&["cargo test", "x"])), "words are not joined");
        assert!(!covers(&allowance("tool_execute_command", Some("make")), &run(&["make", "all"])));
        let docs = allowance("tool_write_file", Some("docs/*.md"));
        assert!(covers(&docs, &write("docs/a.md")) && covers(&docs, &write("./docs/a.md")));
        for other in ["docs/a.rs", "docs/deep/a.md", "docs/../src/a.md", "a.md"] {
            assert!(!covers(&docs, &write(other)), "{other}");
        }
        assert!(covers(&allowance("tool_write_file", None), &write("anything")));
        assert!(!covers(&allowance("tool_edit_file", None), &write("anything")));
    }
}
