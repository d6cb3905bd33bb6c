//! Puts a table of attacks to the gate, through its real listeners and with the bytes that an attacker would send.
//!
//! The table is the file that `TOLLGATE_ATTACKS` names, else `tests/data/attacks.jsonl`; its policy is
//! `tests/data/attack_fixture.yaml`. Each row gets a gate with the same keys and an empty memory.

mod answers;
mod ask;
mod cost;
mod forge;
mod grpc;
mod http;
mod judge;
mod probes;
mod row;
mod stand;
mod visit;

use std::path::PathBuf;
use std::{env, fs};

use ask::{Asker, Outcome};
use row::Row;

#[test]
fn every_row_of_the_table_is_satisfied() {
    let file = table();
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()));
    let rows: Vec<Row> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{}:{}: {e}", file.display(), at + 1))
        })
        .collect();
    let mut asker = Asker::new();
    let failed = rows.iter().filter(|row| !holds(&mut asker, row)).count();
    println!("{} passed, {failed} failed", rows.len() - failed);
    assert_eq!(failed, 0, "rows of {} are not satisfied", file.display());
}

/// Asks a row, and tells what is wrong with what came of it.
fn holds(asker: &mut Asker, row: &Row) -> bool {
    let outcome = asker.ask(row);
    let verdict = judge::judge(row, &outcome);
    if let Err(reason) = &verdict {
        println!("{}: {reason}, got {}", row.id, told(&outcome));
    }
    verdict.is_ok()
}

fn told(outcome: &Outcome) -> String {
    let verdict = outcome.verdict.map_or("no verdict", |verdict| verdict.as_str());
    let status = outcome.status.map_or_else(|| "a closed stream".to_owned(), |status| status.to_string());
    let code = outcome.code.map(|code| format!(", grpc code {code}")).unwrap_or_default();
    let body: String = outcome.body.chars().take(100).collect();
    format!("{status} ({verdict}{code}) {:?} {body:?}", outcome.header("x-tollgate-rule").unwrap_or_default())
}

#[expect(clippy::disallowed_methods, reason = "where a table of rows lies is not a setting of the product")]
fn table() -> PathBuf {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/attacks.jsonl");
    env::var_os("TOLLGATE_ATTACKS").unwrap_or_else(|| ours.into()).into()
}
