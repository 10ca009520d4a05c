//! stub
use super::Member;
use artel_agents::embed::Embedder;
use artel_domain::plan::{Draft, DraftTask};
#[derive(Debug)]
pub(crate) struct Unfit {
    pub(crate) clause: String,
}
pub(crate) async fn plan(
    request: &str,
    team: &[Member],
    _e: &dyn Embedder,
) -> Result<Draft, Unfit> {
    if request.contains("pizza") {
        return Err(Unfit { clause: request.to_owned() });
    }
    Ok(Draft {
        title: request.chars().take(80).collect(),
        tasks: vec![DraftTask {
            name: "task_1".into(),
            description: request.to_owned(),
            agent: team[0].name.clone(),
            capability: None,
            depends_on: vec![],
        }],
    })
}
