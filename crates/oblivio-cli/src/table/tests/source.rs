//! Rows batch by batch, from one file or many.

use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use oblivio::{Column, Values};

use super::{sample, source, write};
use crate::table::part::FileRecord;
use crate::table::{ReadOptions, Source, Table, expand};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn table(&self, name: &str, columns: &[Column]) -> PathBuf {
        let path = self.path(name);
        write(&path, columns).unwrap();
        path
    }
}

fn open(paths: &[PathBuf]) -> Source {
    Source::open(paths, &ReadOptions::default()).unwrap()
}

fn problem(paths: &[PathBuf]) -> String {
    let source = Source::open(paths, &ReadOptions::default());
    source.err().unwrap().to_string()
}

/// The rows of a column, whatever the numbers of its levels.
fn values(column: &Column) -> Vec<String> {
    match &column.values {
        Values::Numbers(values) => values
            .iter()
            .map(|v| format!("{:x}", v.to_bits()))
            .collect(),
        Values::Categories { levels, codes } => codes
            .iter()
            // An empty field is a missing value.
            .map(|code| levels.get(*code as usize).filter(|level| !level.is_empty()))
            .map(|level| format!("{level:?}"))
            .collect(),
    }
}

fn rows(source: &Source, size: usize, names: &[&str], start: usize) -> Vec<Vec<String>> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut found = vec![Vec::new(); names.len()];
    for table in source.batches_of(size, &names, start).unwrap() {
        let table = table.unwrap();
        assert!(table.rows() <= size && table.rows() > 0);
        for ((found, column), name) in found.iter_mut().zip(table.columns()).zip(&names) {
            assert_eq!(&column.name, name);
            found.extend(values(column));
        }
    }
    found
}

/// Every offset, batch size and order of columns, for one file of each format and for several of both.
#[test]
fn batches_are_the_table_from_any_row_on() {
    let folder = Folder::new();
    let whole = sample();
    let all: Vec<usize> = (0..50).collect();
    let part = |rows: &[usize]| whole.iter().map(|c| c.select(rows)).collect::<Vec<_>>();
    let swapped = |rows: &[usize]| part(rows).into_iter().rev().collect::<Vec<_>>();
    let sources = [
        vec![folder.table("t.csv", &whole)],
        vec![folder.table("t.parquet", &whole)],
        vec![
            folder.table("a.csv", &part(&all[..20])),
            folder.table("b.csv", &swapped(&all[20..21])),
            folder.table("c.csv", &part(&all[21..])),
        ],
        vec![
            folder.table("a.parquet", &part(&all[..9])),
            folder.table("b.tsv", &part(&all[9..30])),
            folder.table("c.parquet", &swapped(&all[30..])),
        ],
    ];
    for paths in sources {
        let source = open(&paths);
        assert_eq!(source.rows(), 50);
        assert_eq!(source.names().collect::<Vec<_>>(), ["x", "group"]);
        let table = source.table().unwrap();
        let expected: Vec<Vec<String>> = table.columns().iter().map(values).collect();
        assert_eq!(expected, whole.iter().map(values).collect::<Vec<_>>());
        for start in 0..=51 {
            for size in [1, 7, 50, 8192] {
                let found = rows(&source, size, &["group", "x"], start);
                assert_eq!(found[0], expected[1][start.min(50)..], "{start} {size}");
                assert_eq!(found[1], expected[0][start.min(50)..], "{start} {size}");
            }
        }
        assert_eq!(rows(&source, 8, &["group"], 3), [&expected[1][3..]]);
    }
}

#[test]
fn groups_of_a_parquet_file_are_skipped() {
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    use std::sync::Arc;

    let folder = Folder::new();
    let path = folder.path("t.parquet");
    let numbers: ArrayRef = Arc::new(
        (0..100)
            .map(|i| Some(f64::from(i)))
            .collect::<Float64Array>(),
    );
    let batch = RecordBatch::try_from_iter([("x", numbers)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(30))
        .build();
    let file = fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let source = open(&[path]);
    let expected = rows(&source, 8, &["x"], 0);
    assert_eq!(expected[0].len(), 100);
    for start in 0..100 {
        assert_eq!(rows(&source, 8, &["x"], start), [&expected[0][start..]]);
    }
}

#[test]
fn types_are_settled_over_all_files() {
    let folder = Folder::new();
    let first = folder.text("a.csv", "n,t,b,s\n1,1,TRUE,True\n2,007,,false\n");
    let second = folder.text("b.csv", "n,t,b,s\n3,2,False,no\n,3.0,true,\n");
    let source = open(&[first.clone(), second]);
    let number = |name: &str| source.is_number(name).unwrap();
    assert!(number("n") && !number("t") && !number("b") && !number("s"));
    let error = source.is_number("nn").unwrap_err().to_string();
    assert!(error.ends_with("did you mean `n`?"), "{error}");
    let table = source.table().unwrap();
    let texts = |name, texts: [&'static str; 4]| {
        let present = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        Column::texts(name, texts.map(present))
    };
    assert_eq!(table.columns()[1], texts("t", ["1", "007", "2", "3.0"]));
    assert_eq!(
        table.columns()[2],
        texts("b", ["true", "", "false", "true"])
    );
    assert_eq!(table.columns()[3], texts("s", ["True", "false", "no", ""]));
    // Each alone is what it was.
    assert!(open(&[first]).is_number("n").unwrap());
}

#[test]
fn numbers_in_one_format_and_text_in_another_are_categories() {
    let folder = Folder::new();
    let numbers = vec![Column::numbers("x", vec![1.0, -0.0, f64::NAN])];
    let texts = vec![Column::texts("x", [Some("1"), Some("b"), None])];
    let missing = vec![Column::texts("x", [None, None, None])];
    let numbers = folder.table("n.parquet", &numbers);
    let texts = folder.table("t.parquet", &texts);
    let missing = folder.table("m.parquet", &missing);
    let csv = folder.text("c.csv", "x\n1.0\n2\n");
    let source = open(&[numbers.clone(), texts.clone(), csv.clone()]);
    assert!(!source.is_number("x").unwrap());
    let levels =
        ["1", "0", "", "1", "b", "", "1.0", "2"].map(|t| Some(t).filter(|t| !t.is_empty()));
    assert_eq!(
        source.table().unwrap().columns(),
        [Column::texts("x", levels)]
    );
    let source = open(&[numbers, missing.clone(), csv]);
    assert!(source.is_number("x").unwrap());
    assert_eq!(source.table().unwrap().rows(), 8);
    assert!(open(slice::from_ref(&missing)).is_number("x").unwrap());
    let source = open(&[missing, texts]);
    assert!(!source.is_number("x").unwrap());
    assert_eq!(source.table().unwrap().columns()[0].missing(), [0, 1, 2, 5]);
}

#[test]
fn what_the_user_declares_holds_in_every_batch() {
    let folder = Folder::new();
    let paths = [
        folder.text("a.csv", "code,n\n1,1\n1.0,x\n"),
        folder.table(
            "b.parquet",
            &[
                Column::numbers("code", vec![2.0]),
                Column::numbers("n", vec![2.5]),
            ],
        ),
    ];
    let options = |categorical: &str, numeric: &str| ReadOptions {
        delimiter: None,
        categorical: vec![categorical.into()],
        numeric: vec![numeric.into()],
    };
    let source = Source::open(&paths, &options("code", "n")).unwrap();
    assert!(!source.is_number("code").unwrap() && source.is_number("n").unwrap());
    assert_eq!(
        rows(&source, 1, &["code"], 0)[0],
        ["Some(\"1\")", "Some(\"1\")", "Some(\"2\")"]
    );
    let error = source.table().unwrap_err().to_string();
    assert!(
        error.contains("a.csv: column `n` holds text such as `x`"),
        "{error}"
    );
    let error = Source::open(&paths, &options("cod", "n")).err().unwrap();
    assert!(
        error
            .to_string()
            .contains("a.csv: column `cod` is not in the table")
    );
}

#[test]
fn files_must_have_the_same_columns() {
    let folder = Folder::new();
    let a = folder.text("a.csv", "x,y\n1,2\n");
    let b = folder.text("b.csv", "y,z\n1,2\n");
    let c = folder.text("c.csv", "y\n1\n");
    let ending = |text: &str| {
        let (_, file) = text.split_once(": ").unwrap();
        file.replace(&format!("{}/", folder.0.path().display()), "")
    };
    let found = problem(&[a.clone(), b]);
    assert!(found.starts_with(&folder.path("b.csv").display().to_string()));
    assert_eq!(
        ending(&found),
        "it has the column `z`, unlike a.csv; give files with the same columns"
    );
    assert_eq!(
        ending(&problem(&[a.clone(), c])),
        "it lacks the column `x` of a.csv; give files with the same columns"
    );
    let ragged = folder.text("d.csv", "x,y\n1,2\n3\n");
    assert!(problem(&[a, ragged]).contains("d.csv: line 3 has 1 field "));
}

#[test]
fn a_file_without_rows_is_fine_among_others() {
    let folder = Folder::new();
    let empty = folder.text("a.csv", "x\n");
    let full = folder.text("b.csv", "x\n1\n");
    let source = open(&[empty.clone(), full, empty.clone()]);
    assert_eq!((source.rows(), source.table().unwrap().rows()), (1, 1));
    assert!(
        problem(&[empty.clone(), empty]).contains("a.csv: the table has column names but no rows")
    );
}

#[test]
fn patterns_stand_for_files_in_order() {
    let folder = Folder::new();
    for name in [
        "p-10.csv", "p-2.csv", "p-1.csv", ".p-0.csv", "q.csv", "[x].csv",
    ] {
        folder.text(name, &format!("name\n{name}\n"));
    }
    fs::create_dir(folder.path("p-3.csv")).unwrap();
    let names = |patterns: &[&str]| -> Vec<String> {
        let paths: Vec<PathBuf> = patterns.iter().map(|name| folder.path(name)).collect();
        let files = expand(&paths).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        files.iter().map(name).collect()
    };
    assert_eq!(names(&["p-*.csv"]), ["p-1.csv", "p-10.csv", "p-2.csv"]);
    assert_eq!(
        names(&["q.csv", "p-?.csv"]),
        ["q.csv", "p-1.csv", "p-2.csv"]
    );
    assert_eq!(names(&["p-[12].csv"]), ["p-1.csv", "p-2.csv"]);
    assert_eq!(names(&["[x].csv", "no.csv"]), ["[x].csv", "no.csv"]);
    let table = Table::read(&folder.path("p-*.csv"), &ReadOptions::default()).unwrap();
    assert_eq!(
        table.columns(),
        [Column::texts(
            "name",
            [Some("p-1.csv"), Some("p-10.csv"), Some("p-2.csv")]
        )]
    );
    assert!(
        problem(&[folder.path("r-*.csv")]).ends_with("r-*.csv: no file matches; check the pattern")
    );
    assert!(problem(&[folder.path("r-[.csv")]).contains("this is no pattern"));
    assert!(problem(&[]).starts_with("there is no file"));
}

#[test]
fn a_record_says_whether_a_file_is_still_the_same() {
    let folder = Folder::new();
    let path = folder.text("a.csv", "x\n1\n2\n");
    let record = || open(slice::from_ref(&path)).files().remove(0);
    let first = record();
    assert_eq!((first.rows, first.bytes), (2, 6));
    assert_eq!(Path::new(&first.path), path);
    assert_eq!(record(), first);
    let written = serde_json::to_string(&first).unwrap();
    assert_eq!(serde_json::from_str::<FileRecord>(&written).unwrap(), first);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(later).unwrap();
    assert_ne!(record(), first);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let folder = Folder::new();
    for changed in ["x\n1\n", "x\n1\n2\n3\n", "x\n1\ntwo\n"] {
        let path = folder.text("a.csv", "x\n1\n2\n");
        let source = open(&[path]);
        folder.text("a.csv", changed);
        let found = source.table().unwrap_err().to_string();
        assert!(
            found.ends_with("a.csv: the file changed while it was read; start again"),
            "{found}"
        );
    }
}

/// Standard input is one file for all who read it, and a reader may leave at any time.
#[test]
fn two_passes_do_not_disturb_each_other() {
    let rows: Vec<String> = (0..5000).map(|i| format!("{i}\n")).collect();
    let text = format!("x\n{}", rows.concat()).into_bytes();
    let source = source(&text, None, &ReadOptions::default()).unwrap();
    let names = ["x".to_owned()];
    let mut first = source.batches_of(100, &names, 0).unwrap();
    let second = source.batches_of(100, &names, 2500).unwrap();
    assert_eq!(first.next().unwrap().unwrap().rows(), 100);
    assert_eq!(
        second.map(|table| table.unwrap().rows()).sum::<usize>(),
        2500
    );
    assert_eq!(
        first.map(|table| table.unwrap().rows()).sum::<usize>(),
        4900
    );
    drop(source.batches_of(1, &names, 0).unwrap());
}

#[test]
fn every_byte_is_heard_of() {
    let folder = Folder::new();
    let paths = [
        folder.table("a.csv", &sample()),
        folder.table("b.parquet", &sample()),
    ];
    let heard = std::cell::Cell::new(0);
    let seen = |bytes| heard.set(heard.get() + bytes);
    let source = Source::open_watched(&paths, &ReadOptions::default(), &seen).unwrap();
    let bytes: u64 = source.files().iter().map(|file| file.bytes).sum();
    assert_eq!(heard.get(), bytes);
}
