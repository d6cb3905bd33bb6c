//! What shells and editors are given: completions, the schema of the settings, and help with examples.

use serde_json::Value;

use crate::program::Folder;

#[test]
fn completions_know_every_command() {
    let folder = Folder::new(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let done = folder.run(&["completions", shell]);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{shell}");
        for word in ["replay", "explain", "completions", "look-up", "--policy"] {
            let word = if shell == "fish" { word.trim_start_matches("--") } else { word };
            assert!(done.out.contains(word), "{word} for {shell}");
        }
    }
}

#[test]
fn the_schema_of_the_settings_is_json() {
    let done = Folder::new(&[]).run(&["config", "--schema"]);
    let schema: Value = serde_json::from_str(&done.out).expect("one object");
    assert_eq!((done.code, &schema["type"]), (0, &"object".into()));
    assert_eq!(schema.pointer("/properties/listen/properties/grpc/default"), Some(&"127.0.0.1:9001".into()));
}

#[test]
fn the_long_help_of_every_command_has_examples() {
    let folder = Folder::new(&[]);
    for command in [
        "serve",
        "demo",
        "check",
        "explain",
        "replay",
        "test",
        "policy show",
        "import",
        "keygen",
        "solve",
        "config",
        "completions",
    ] {
        let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = folder.run(&arguments).out;
        assert!(
            help.contains("Examples:\n  ") && help.contains(&format!("tollgate {command}")),
            "{command}\n{help}"
        );
    }
    assert!(folder.run(&["--help"]).out.contains("Examples:\n  tollgate demo"));
}
