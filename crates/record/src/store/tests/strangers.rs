//! Untrusted stores.

use rusqlite::OpenFlags;

use super::*;
use crate::store::open::APPLICATION;

#[test]
fn what_a_strangers_schema_does_is_not_done() {
    let (_folder, path, store) = store();
    drop(store);
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch(
            "CREATE TRIGGER mine AFTER INSERT ON run BEGIN UPDATE run SET command_line = 'changed'; END;
             ALTER TABLE note RENAME TO hidden; CREATE VIEW note AS SELECT cell, position, text FROM hidden;",
        )
        .unwrap();
    other.close().unwrap();
    // Opening rejects it; the connection's settings protect as well.
    assert!(Store::open(&path).is_err());
    let store = Store::connect(&path, &path, OpenFlags::default()).unwrap();
    let run = begin(&store);
    let kept = store.runs().unwrap();
    assert_eq!((kept[0].id.clone(), kept[0].command_line.as_str()), (run.clone(), "mountmark run --fs ext4:noatime"));
    assert!(store.record_cell(&run, &cell(0, 1)).is_err(), "a view was written to");
    assert!(store.load(&run).is_err(), "a view was read");
}

#[test]
fn a_store_without_a_format_is_none_unless_it_is_empty() {
    let (_folder, path, store) = store();
    drop(store);
    let marked = Connection::open(&path).unwrap();
    marked.execute_batch("PRAGMA user_version = 0;").unwrap();
    marked.close().unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Foreign { .. })));
    assert!(matches!(Store::open_read_only(&path), Err(StoreError::Foreign { .. })));
    assert!(fs::read(&path).unwrap() == before);

    let folder = TempDir::new().unwrap();
    let path = folder.path().join("empty.sqlite");
    let empty = Connection::open(&path).unwrap();
    empty.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; VACUUM;")).unwrap();
    empty.close().unwrap();
    assert!(matches!(Store::open_read_only(&path), Err(StoreError::Missing { .. })));
    begin(&Store::open(&path).unwrap());
}

#[test]
fn a_run_has_a_plain_name() {
    let (_folder, path, store) = store();
    begin(&store);
    drop(store);
    for name in ["../up", "", "a b", "a\u{1b}[2J", &"a".repeat(65)] {
        Connection::open(&path).unwrap().execute("UPDATE run SET id = ?1", [name]).unwrap();
        let store = Store::open_read_only(&path).unwrap();
        assert!(matches!(store.resolve("latest"), Err(StoreError::Damaged { .. })), "{name}");
        assert!(matches!(store.runs(), Err(StoreError::Damaged { .. })), "{name}");
    }
}

#[test]
fn a_plan_whose_tables_would_fill_memory_is_refused() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    let names: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let tasks: Vec<(String, String)> = names[..101].iter().map(|name| (name.clone(), name.clone())).collect();
    let mut plan = plan();
    (plan.configurations, plan.tasks) = (names, tasks);
    let mut put = |change: fn(&mut Plan)| {
        change(&mut plan);
        store.execute("UPDATE run SET plan = ?1", [plan.stored()]).unwrap();
        store.load(&run).map(|_| ())
    };
    let error = put(|_| {}).unwrap_err().to_string();
    assert!(error.contains("101 tasks on 1000 configurations are too many"), "{error}");
    put(|plan| drop(plan.tasks.pop())).unwrap();
}

#[test]
fn a_store_with_tables_of_its_own_is_refused_before_a_row_is_read() {
    let forgeries = [
        // Endless rows.
        "DROP TABLE note; CREATE VIEW note AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
         SELECT (SELECT min(id) FROM cell) AS cell, i AS position, 'x' AS text FROM n",
        "CREATE TABLE more (x TEXT)",
        "CREATE INDEX slow ON sample (length(hex(zeroblob(value))))",
        "CREATE TRIGGER t AFTER INSERT ON cell BEGIN DELETE FROM run; END",
        "ALTER TABLE run ADD COLUMN x TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000)))",
    ];
    for forgery in forgeries {
        let (folder, path, store) = store();
        drop(store);
        let other = Connection::open(&path).unwrap();
        other.execute_batch(forgery).unwrap();
        other.close().unwrap();
        let before = contents(folder.path());
        for error in [Store::open_read_only(&path).unwrap_err(), Store::open(&path).unwrap_err()] {
            assert!(matches!(&error, StoreError::Damaged { reason, .. } if reason.contains("is not as")), "{error:?}");
        }
        assert!(contents(folder.path()) == before, "{forgery}");
    }
}
