//! How interactions are written to and read from the file of their collection.

use artel_domain::memory::{Facts, Filter, Interaction, Kind};
use artel_domain::{InteractionId, TaskId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::codes::kind_number;

/// The columns that [`interaction`] reads.
pub(super) const COLUMNS: &str = "interactions.row, id, moment, kind, success, task, text, rest";

/// Facts that nobody filters by.
#[derive(Serialize, Deserialize)]
struct Rest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_details: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    other: Map<String, serde_json::Value>,
}

pub(super) fn interaction(row: &Row<'_>) -> rusqlite::Result<Interaction> {
    let damaged = |column, detail: &str| {
        let detail = detail.to_owned().into();
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, detail)
    };
    let number: u8 = row.get(3)?;
    let kind = Kind::ALL.into_iter().find(|kind| kind_number(*kind) == number);
    let rest: Rest = match row.get_ref(7)?.as_str_or_null()? {
        None => Rest { error_details: None, request: None, other: Map::new() },
        Some(json) => serde_json::from_str(json).map_err(|error| damaged(7, &error.to_string()))?,
    };
    Ok(Interaction {
        id: InteractionId::from_bytes(row.get(1)?),
        text: row.get(6)?,
        metadata: Facts {
            kind: kind.ok_or_else(|| damaged(3, "an unknown kind"))?,
            timestamp: Timestamp::from_micros(row.get(2)?),
            success: row.get(4)?,
            task_id: row.get::<_, Option<[u8; 16]>>(5)?.map(TaskId::from_bytes),
            error_details: rest.error_details,
            request: rest.request,
            other: rest.other,
        },
    })
}

/// Writes an interaction under this number, over the one of the number `old` when there is one.
pub(super) fn write(
    change: &Transaction<'_>,
    row: i64,
    old: Option<i64>,
    interaction: &Interaction,
) -> rusqlite::Result<()> {
    let Facts { kind, timestamp, success, task_id, error_details, request, other } =
        &interaction.metadata;
    let rest = Rest {
        error_details: error_details.clone(),
        request: request.clone(),
        other: other.clone(),
    };
    let plain = rest.error_details.is_none() && rest.request.is_none() && rest.other.is_empty();
    let rest = if plain {
        None
    } else {
        Some(
            serde_json::to_string(&rest)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?,
        )
    };
    let sql = match old {
        None => {
            "insert into interactions (row, id, moment, kind, success, task, text, rest)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        }
        Some(_) => {
            "update interactions set row = ?1, id = ?2, moment = ?3, kind = ?4, success = ?5,
             task = ?6, text = ?7, rest = ?8 where row = ?9"
        }
    };
    let mut statement = change.prepare_cached(sql)?;
    let id: &[u8] = interaction.id.as_bytes();
    let task = task_id.as_ref().map(|task| &task.as_bytes()[..]);
    let (moment, kind) = (timestamp.as_micros(), kind_number(*kind));
    match old {
        None => {
            statement.execute(params![row, id, moment, kind, success, task, interaction.text, rest])
        }
        Some(old) => statement.execute(params![
            row,
            id,
            moment,
            kind,
            success,
            task,
            interaction.text,
            rest,
            old
        ]),
    }?;
    Ok(())
}

pub(super) fn row_of(conn: &Connection, id: InteractionId) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("select row from interactions where id = ?1")?
        .query_row([&id.as_bytes()[..]], |row| row.get(0))
        .optional()
}

/// The filter as conditions on `interactions`, and the values they are bound to.
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    pub(super) fn new(filter: &Filter) -> Self {
        let mut conditions = Self { sql: "true".to_owned(), values: Vec::new() };
        if let Some(task) = filter.task {
            conditions.and("task =", Value::Blob(task.as_bytes().to_vec()));
        }
        if let Some(from) = filter.from {
            conditions.and("moment >=", Value::Integer(from.as_micros()));
        }
        if let Some(to) = filter.to {
            conditions.and("moment <=", Value::Integer(to.as_micros()));
        }
        if let Some(kind) = filter.kind {
            conditions.and("kind =", Value::Integer(kind_number(kind).into()));
        }
        if let Some(success) = filter.success {
            conditions.and("success =", Value::Integer(success.into()));
        }
        conditions
    }

    pub(super) fn and(&mut self, condition: &str, value: Value) {
        self.values.push(value);
        self.sql = format!("{} and {condition} ?{}", self.sql, self.values.len());
    }

    /// Before this one in time. The moment stands by itself first, so that an index finds where to begin.
    pub(super) fn and_before(&mut self, moment: Timestamp, id: InteractionId) {
        let moment = Value::Integer(moment.as_micros());
        self.and("moment <=", moment.clone());
        self.and("(moment, id) < (", moment);
        self.values.push(Value::Blob(id.as_bytes().to_vec()));
        self.sql = format!("{}, ?{})", self.sql, self.values.len());
    }

    /// Runs a query whose text has the conditions, and shows every row to `each`.
    pub(super) fn each(
        &self,
        conn: &Connection,
        sql: &str,
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(&self.values))?;
        while let Some(row) = rows.next()? {
            each(row)?;
        }
        Ok(())
    }

    /// The numbers of the rows that are meant, in order.
    pub(super) fn rows(&self, conn: &Connection) -> rusqlite::Result<Vec<i64>> {
        let mut found = Vec::new();
        let sql = format!("select row from interactions where {}", self.sql);
        self.each(conn, &sql, |row| {
            found.push(row.get(0)?);
            Ok(())
        })?;
        found.sort_unstable();
        Ok(found)
    }
}
