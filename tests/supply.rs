//! The bill of materials that `scripts/sbom` prints: CycloneDX, complete, and the same in every run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Write as _, stderr};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The bill; nothing, said aloud, where there is no Python to make it.
#[expect(clippy::disallowed_methods, reason = "in CI nothing may be skipped")]
fn bill() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = Command::new("python3")
        .arg(root.join("scripts/sbom"))
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .env("CARGO", env!("CARGO"))
        .output();
    let Ok(made) = made else {
        assert!(
            env::var_os("CI").is_none_or(|ci| ci.is_empty()),
            "python3 not found, and in CI nothing may be skipped"
        );
        let _ = writeln!(stderr(), "skipped: python3 not found");
        return None;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(String::from_utf8(made.stdout).expect("it prints text"))
}

/// Name, version and checksum of every crate that Cargo.lock takes from the registry.
fn locked() -> BTreeMap<(String, String), String> {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).expect("it is there");
    let field = |entry: &str, name: &str| {
        let start = format!("{name} = \"");
        entry.lines().find_map(|line| line.strip_prefix(start.as_str())?.strip_suffix('"')).map(str::to_owned)
    };
    lock.split("[[package]]")
        .filter_map(|entry| {
            Some(((field(entry, "name")?, field(entry, "version")?), field(entry, "checksum")?))
        })
        .collect()
}

#[test]
fn the_bill_of_materials_is_cyclonedx_complete_and_reproducible() {
    let Some(text) = bill() else { return };
    assert_eq!(bill().as_ref(), Some(&text), "two runs differ");
    let bill: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert!(bill["serialNumber"].as_str().is_some_and(|n| n.starts_with("urn:uuid:") && n.len() == 45));
    let program = &bill["metadata"]["component"];
    assert_eq!((&program["name"], &program["type"]), (&"tollgate".into(), &"application".into()));
    assert_eq!(program["version"], env!("CARGO_PKG_VERSION"));

    let locked = locked();
    let mut scopes = BTreeMap::new();
    for component in bill["components"].as_array().expect("a list") {
        let of = |name: &str| {
            component[name].as_str().unwrap_or_else(|| panic!("no {name}: {component}")).to_owned()
        };
        let (name, version) = (of("name"), of("version"));
        let checksum = locked.get(&(name.clone(), version.clone()));
        assert_eq!(component["hashes"][0]["content"].as_str(), checksum.map(String::as_str), "{name}");
        assert_eq!(of("purl"), format!("pkg:cargo/{name}@{version}"));
        assert!(component["licenses"][0]["expression"].is_string(), "{name} has no licence");
        assert!(scopes.insert(of("bom-ref"), (name, of("scope"))).is_none(), "{component} stands twice");
    }
    let of_scope = |scope: &str| {
        let names = scopes.values().filter(|(_, s)| s == scope).map(|(name, _)| name.as_str());
        names.collect::<BTreeSet<_>>()
    };
    let (inside, building) = (of_scope("required"), of_scope("excluded"));
    let manifest = include_str!("../Cargo.toml");
    let section = |name: &str| {
        let (_, rest) = manifest.split_once(&format!("[{name}]\n")).expect("it is there");
        let lines = rest.split("\n[").next().unwrap_or_default().lines();
        lines
            .filter(|line| line.contains(" = ") && !line.starts_with('#'))
            .filter_map(|line| line.split(' ').next())
    };
    for name in section("dependencies") {
        assert!(inside.contains(name), "{name} is missing");
    }
    for name in section("build-dependencies") {
        assert!(building.contains(name), "{name} is missing");
    }
    for name in ["proptest", "criterion", "cel", "allocation-counter"] {
        assert!(!inside.contains(name) && !building.contains(name), "{name} is of the tests");
    }

    let own = program["bom-ref"].as_str().expect("a reference");
    let known = |reference: &Value| reference.as_str().is_some_and(|r| r == own || scopes.contains_key(r));
    let edges = bill["dependencies"].as_array().expect("a list");
    assert_eq!(edges.len(), scopes.len() + 1, "each has its line");
    for edge in edges {
        assert!(
            known(&edge["ref"]) && edge["dependsOn"].as_array().is_some_and(|all| all.iter().all(known)),
            "{edge}"
        );
    }
}
