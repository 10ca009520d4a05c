//! What people and other programs see on the server: names, indexes, points.

use std::collections::BTreeMap;

use artel_domain::memory::Collection;
use artel_storage::vectors::{Layout, VectorIndex};
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::value::Kind as ValueKind;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    CreateCollection, CreateFieldIndexCollection, DeletePoints, FieldType, UpsertPoints,
};

use super::kit::{Changed, at, entry, fresh, leaning};
use super::{DIMENSIONS, Side};

/// CS-1.1, WS-18.1: an agent's collection is found by the name of the spec, and holds vectors of the model's size.
#[tokio::test]
async fn a_collection_is_found_by_its_name() {
    let side = Side::stand_in(Layout::PerAgent);
    let stand_in = side.stand_in.as_ref().unwrap();
    let (index, of) = (side.node(), fresh("coder"));
    assert!(index.ensure(&of).await.unwrap());
    let collection = stand_in.alias(&of.name).unwrap();
    assert!(collection.starts_with(&format!("artel_{}_", of.agent)), "{collection}");
    let made = stand_in.asked::<CreateCollection>();
    assert_eq!(made.len(), 1);
    let Some(Config::ParamsMap(vectors)) = made[0].vectors_config.clone().unwrap().config else {
        panic!("the vector has a name");
    };
    assert_eq!(vectors.map["text"].size, DIMENSIONS as u64);
}

/// The old name is gone when the new one is there, and no entry moves.
#[tokio::test]
async fn a_name_is_switched() {
    let side = Side::stand_in(Layout::PerAgent);
    let stand_in = side.stand_in.as_ref().unwrap();
    let (index, of) = (side.node(), fresh("before"));
    index.put(&of, vec![entry("stays")]).await.unwrap();
    let collection = stand_in.alias(&of.name);
    let puts = stand_in.asked::<UpsertPoints>().len();
    index.rename(&of, "after").await.unwrap();
    assert_eq!((stand_in.alias("after"), stand_in.alias(&of.name)), (collection.clone(), None));
    assert_eq!(stand_in.asked::<UpsertPoints>().len(), puts);

    // A name that went wrong while the server was away is put right when the agent is initialised.
    let renamed = Collection { name: "at last".to_owned(), ..of.clone() };
    assert!(!side.node().ensure(&renamed).await.unwrap());
    assert_eq!((stand_in.alias("at last"), stand_in.alias("after")), (collection, None));
}

/// A new agent of an old name gets the name, and nothing of the old agent's memory.
#[tokio::test]
async fn a_name_goes_to_the_newer_agent() {
    let side = Side::stand_in(Layout::PerAgent);
    let stand_in = side.stand_in.as_ref().unwrap();
    let (index, old) = (side.node(), fresh("coder"));
    index.put(&old, vec![entry("old")]).await.unwrap();
    let new = Collection { name: old.name.clone(), ..fresh("coder") };
    assert!(index.ensure(&new).await.unwrap());
    assert_eq!(index.count(&new).await.unwrap(), 0);
    let named = stand_in.alias(&new.name).unwrap();
    assert!(named.contains(&new.agent.to_string()));
    // Who only looks at the old one does not take the name back.
    let other = side.node();
    assert_eq!(other.count(&old).await.unwrap(), 1);
    other.put(&old, vec![entry("also old")]).await.unwrap();
    assert_eq!(stand_in.alias(&new.name), Some(named));
}

/// Names with characters that Qdrant forbids, and names that are too long for it.
pub(crate) async fn odd_names_are_taken(side: &Side) {
    let index = side.node();
    for name in ["a/b<c>d:e\"f\\g|h?i*j\0k%l\u{1f}", "Агент 🤖 'o'", "..", &"ы".repeat(400)]
    {
        let of = fresh("odd");
        let of = Collection { name: format!("user1_{}_{name}", of.agent), ..of };
        assert!(index.ensure(&of).await.unwrap());
        assert!(!index.ensure(&of).await.unwrap());
        index.put(&of, vec![entry("text").with(leaning(&index, 0.5))]).await.unwrap();
        index.rename(&of, &format!("{name}{}", of.agent)).await.unwrap();
        assert_eq!(index.count(&of).await.unwrap(), 1);
        index.remove(&of).await.unwrap();
    }
}

/// CS-1.3: what is filtered by is indexed, before the first entry comes.
#[tokio::test]
async fn metadata_is_indexed() {
    for layout in [Layout::PerAgent, Layout::Shared] {
        let side = Side::stand_in(layout);
        let stand_in = side.stand_in.as_ref().unwrap();
        let index = side.node();
        index.put(&fresh("agent"), vec![entry("text")]).await.unwrap();
        index.put(&fresh("other"), vec![entry("text")]).await.unwrap();
        let methods = stand_in.methods();
        let first_put = methods.iter().position(|method| *method == "upsert").unwrap();
        let indexed = methods[..first_put].iter().filter(|name| **name == "create_field_index");
        assert!(indexed.count() >= 5);

        let made = stand_in.asked::<CreateFieldIndexCollection>();
        assert!(made.iter().all(|made| made.wait == Some(true)));
        let kinds: BTreeMap<&str, FieldType> =
            made.iter().map(|made| (made.field_name.as_str(), made.field_type())).collect();
        let mut expected = BTreeMap::from([
            ("task_id", FieldType::Keyword),
            ("timestamp", FieldType::Integer),
            ("success", FieldType::Bool),
            ("interaction_type", FieldType::Keyword),
            ("day", FieldType::Integer),
        ]);
        if layout == Layout::Shared {
            expected.insert("agent", FieldType::Keyword);
            let tenant = made.iter().find(|made| made.field_name == "agent").unwrap();
            let params = tenant.field_index_params.as_ref().unwrap().index_params.as_ref();
            let Some(IndexParams::KeywordIndexParams(params)) = params else {
                panic!("{params:?}");
            };
            assert_eq!(params.is_tenant, Some(true));
        }
        assert_eq!(kinds, expected);
    }
}

/// Others can read a point, and every change is on disk before it is acknowledged.
#[tokio::test]
async fn a_point_says_what_it_is() {
    let side = Side::stand_in(Layout::Shared);
    let stand_in = side.stand_in.as_ref().unwrap();
    let (index, of) = (side.node(), fresh("agent"));
    let put = entry("text").with(leaning(&index, 0.5)).facts(|facts| facts.timestamp = at(5));
    index.put(&of, vec![put.clone()]).await.unwrap();
    index.forget_ids(&of, &[put.interaction.id]).await.unwrap();

    let puts = stand_in.asked::<UpsertPoints>();
    assert!(puts.iter().all(|put| put.wait == Some(true)));
    assert!(stand_in.asked::<DeletePoints>().iter().all(|delete| delete.wait == Some(true)));
    let point = &puts.last().unwrap().points[0];
    let value = |key: &str| point.payload[key].kind.clone().unwrap();
    let text = |text: &str| ValueKind::StringValue(text.to_owned());
    assert_eq!(value("text"), text("text"));
    assert_eq!(value("id"), text(&put.interaction.id.to_string()));
    assert_eq!(value("agent"), text(&of.agent.to_string()));
    assert_eq!(value("interaction_type"), text("tool_call"));
    assert_eq!(value("success"), ValueKind::BoolValue(true));
    assert_eq!(value("timestamp"), ValueKind::IntegerValue(at(5).as_micros()));
    assert_eq!(value("day"), ValueKind::IntegerValue(20_000));
    assert!(!point.payload.contains_key("task_id"));
}
