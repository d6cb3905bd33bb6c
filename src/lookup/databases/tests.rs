//! What databases tell, what they must not do, and that MaxMind's own test databases are read as their JSON says.

use std::fs;
use std::io::{Write as _, stderr};

use ipnet::IpNet;
use serde_json::Value;

use super::*;

#[path = "../../../tests/data/mmdb.rs"]
mod mmdb;

use mmdb::{asn, country, database};

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    file
}

fn numbers() -> Vec<u8> {
    database(
        "Test-ASN",
        &[
            ("10.0.0.0/8", asn(1)),
            ("192.0.2.0/25", asn(64500)),
            (
                "192.0.2.128/25",
                mmdb::Value::Map(vec![("autonomous_system_number", mmdb::Value::Text("AS1"))]),
            ),
            ("203.0.113.7/32", mmdb::Value::Map(vec![])),
            ("2001:db8::/32", asn(u32::MAX)),
        ],
    )
}

#[test]
fn an_address_has_the_number_of_its_network_or_none() {
    let file = file(&numbers());
    let databases = Databases::load(Some(file.path()), None).unwrap();
    for (address, want) in [
        ("192.0.2.0", Some(64500)),
        ("192.0.2.127", Some(64500)),
        ("::ffff:192.0.2.1", Some(64500)),
        ("2001:db8::1", Some(u32::MAX)),
        ("192.0.2.128", None),
        ("203.0.113.7", None),
        ("203.0.113.8", None),
        ("10.1.2.3", None),
        ("2001:db9::1", None),
        ("::1", None),
    ] {
        let address = address.parse().unwrap();
        assert_eq!(databases.asn(address), want, "{address}");
        assert_eq!(databases.country(address), None, "no database of countries is there");
    }
}

#[test]
fn a_country_is_two_letters_in_upper_case_or_none() {
    let codes = [
        ("192.0.2.1", "NZ", true),
        ("192.0.2.2", "nz", true),
        ("192.0.2.3", "NZL", false),
        ("192.0.2.4", "N1", false),
        ("192.0.2.5", "", false),
    ];
    let networks = codes.map(|(address, ..)| format!("{address}/32"));
    let records: Vec<_> =
        networks.iter().zip(codes).map(|(network, (_, code, _))| (network.as_str(), country(code))).collect();
    let file = file(&database("Test-Country", &records));
    let databases = Databases::load(None, Some(file.path())).unwrap();
    for (address, code, known) in codes {
        assert_eq!(databases.country(address.parse().unwrap()), known.then_some(*b"NZ"), "{code}");
    }
}

#[test]
fn every_file_that_does_not_load_is_named_with_its_reason() {
    let whole = numbers();
    let (cut, empty, good) = (file(&whole[..whole.len() / 2]), file(b""), file(&whole));
    for (path, reason) in [
        (Path::new("/gone.mmdb"), "No such file"),
        (Path::new("/"), "directory"),
        (cut.path(), "could not find MaxMind DB metadata in file; it may be no MaxMind DB file, or cut off"),
        (empty.path(), "could not find"),
    ] {
        let errors = Databases::load(Some(path), Some(path)).unwrap_err();
        assert_eq!(errors.iter().map(|e| e.field).collect::<Vec<_>>(), [Field::Asn, Field::Country]);
        let text = errors[0].to_string();
        assert!(text.contains(&path.display().to_string()) && text.contains(reason), "{text}");
    }
    let errors = Databases::load(None, Some(good.path())).unwrap_err();
    let text = errors[0].to_string();
    assert!(text.contains("it is a `Test-ASN` database and has no `country.iso_code`"), "{text}");
}

#[test]
fn no_damage_to_a_file_panics() {
    let whole = numbers();
    let mut opened = 0;
    for at in 0..whole.len() {
        for byte in [0x00, 0xff, whole[at] ^ 0x01, whole[at] ^ 0x80] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let Ok(reader) = Reader::from_source(bytes) else { continue };
            opened += 1;
            drop(tells(&reader, Field::Asn));
            let databases = Databases { asn: Some(reader), country: None };
            for address in ["192.0.2.1", "203.0.113.7", "2001:db8::1"] {
                databases.asn(address.parse().unwrap());
            }
        }
    }
    assert!(opened > whole.len(), "most damage is found only when it is read");
}

#[expect(
    clippy::disallowed_methods,
    reason = "data that is not in the repository is named to tests by a variable"
)]
fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("TOLLGATE_CORPUS").map(|folder| PathBuf::from(folder).join("maxmind"));
    if folder.is_none() {
        // Written past the test runner, which keeps what a passing test prints to itself.
        drop(writeln!(stderr(), "not compared: TOLLGATE_CORPUS names no folder with maxmind/*.mmdb"));
    }
    folder
}

/// Compares a database with the JSON beside it, at both ends of every network.
fn compare(
    folder: &Path,
    name: &str,
    told: impl Fn(IpAddr) -> Option<Value>,
    wanted: impl Fn(&Value) -> Value,
) {
    let json = fs::read(folder.join(name).with_extension("json")).unwrap();
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_slice(&json).unwrap();
    assert!(!rows.is_empty());
    for (network, record) in rows.iter().flatten() {
        let network: IpNet = network.parse().unwrap();
        for address in [network.network(), network.broadcast()] {
            let want = Some(wanted(record)).filter(|w| !w.is_null());
            assert_eq!(told(address), want, "{name}: {address} in {network}");
        }
    }
    println!("{name}: {} networks compared", rows.len());
}

#[test]
fn the_test_databases_are_read_as_their_json_says() {
    let Some(folder) = corpus() else { return };
    let at = |name: &str| folder.join(name).with_extension("mmdb");
    let numbers = Databases::load(Some(&at("GeoLite2-ASN-Test")), None).unwrap();
    let asn = |address| numbers.asn(address).map(Value::from);
    compare(&folder, "GeoLite2-ASN-Test", asn, |record| record["autonomous_system_number"].clone());
    for name in ["GeoLite2-Country-Test", "GeoIP2-Country-Test"] {
        let countries = Databases::load(None, Some(&at(name))).unwrap();
        let country =
            |address| countries.country(address).map(|c| Value::from(std::str::from_utf8(&c).unwrap()));
        compare(&folder, name, country, |record| record["country"]["iso_code"].clone());
    }
}
