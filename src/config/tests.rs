//! Settings from every layer at once: what holds, and what is wrong.

use std::fs;
use std::time::Duration;

use super::*;
use crate::memory::Limit;
use crate::request::Hops;

fn sources(
    file: &str,
    environment: &[(&str, &str)],
    flags: &[(&'static str, &str)],
) -> (tempfile::TempDir, Sources) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), file).unwrap();
    let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let flags = flags.iter().map(|(k, v)| (*k, vec![(*v).to_owned()])).collect();
    let sources = Sources { flags, environment, folder: Some(folder.path().to_owned()), policy: None };
    (folder, sources)
}

fn settings(file: &str, environment: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Settings {
    let (_folder, sources) = sources(file, environment, flags);
    load(&sources).unwrap_or_else(|problems| panic!("{problems}")).settings
}

/// What is wrong: the key and the message of each problem.
fn wrong(file: &str, environment: &[(&str, &str)]) -> Vec<(String, String)> {
    let (_folder, sources) = sources(file, environment, &[]);
    let problems = load(&sources).expect_err("something is wrong").0;
    problems.into_iter().map(|p| (p.key.unwrap_or_default(), p.message)).collect()
}

/// What the schema says of a value is what the reader takes.
#[test]
fn the_forms_of_the_table_are_those_that_are_read() {
    for key in KEYS {
        let complains = |text: &str| {
            let variable = (key.variable(), text.to_owned());
            let sources = Sources { environment: vec![variable], ..Sources::default() };
            let wrong = effective(&sources).1;
            wrong.iter().any(|p| p.level == Severity::Error && p.key.as_deref() == Some(key.name))
        };
        match key.form() {
            Form::OneOf(words) => {
                assert!(complains("another word"), "{}", key.name);
                assert!(words.iter().all(|word| !complains(word)), "{}", key.name);
            }
            Form::Switch => {
                assert!(complains("perhaps") && !complains(key.default.unwrap_or("true")), "{}", key.name)
            }
            Form::Whole => {
                assert!(complains("many") && !complains(key.default.unwrap_or("2")), "{}", key.name)
            }
            Form::Address => assert!(complains("nowhere"), "{}", key.name),
            Form::List | Form::Text => {}
        }
    }
}

#[test]
fn whoever_trusts_nobody_on_a_machine_that_alone_can_ask_is_told() {
    let lints = |file: &str| {
        let (_folder, sources) = sources(file, &[], &[]);
        let lints = load(&sources).unwrap_or_else(|problems| panic!("{problems}")).lints;
        lints.into_iter().filter_map(|p| Some((p.level, p.key?, p.line))).collect::<Vec<_>>()
    };
    let told = vec![(Severity::Warn, "trust.peers".to_owned(), 1)];
    assert_eq!(lints("trust: {peers: [10.0.0.0/8]}"), told);
    assert_eq!(lints("trust: {peers: ['::1']}"), told);
    for fine in [
        "",
        "trust: {peers: [10.0.0.0/8, 127.0.0.1]}",
        "trust: {peers: [10.0.0.0/8]}\nlisten: {grpc: '0.0.0.0:9001', http: '10.0.0.1:9002'}",
        "trust: {peers: [10.0.0.0/8]}\nlisten: {grpc: off, http: 'unix:/run/tollgate.sock'}",
        "trust: {peers: ['::1']}\nlisten: {grpc: off, http: '[::1]:9002'}",
    ] {
        assert_eq!(lints(fine), [], "{fine}");
    }
}

#[test]
fn the_defaults_of_the_table_are_those_of_the_rooms() {
    let settings = settings("", &[], &[]);
    let (read, rooms) = (format!("{:?}", settings.gate), format!("{:?}", crate::gate::Settings::default()));
    assert_eq!(read, rooms);
    assert_eq!(settings.listen.http.to_string(), "127.0.0.1:9002");
    assert!(settings.ring.is_none() && settings.admin_token.is_none());
}

#[test]
fn a_later_layer_wins_and_the_rest_of_the_earlier_one_stays() {
    let file = "listen: {grpc: 127.0.0.1:1, http: 127.0.0.1:2, admin: off}\ncookie:\n  ttl: {work: 1d}\n";
    let environment = [("TOLLGATE_LISTEN__HTTP", "127.0.0.1:3"), ("TOLLGATE_LISTEN__GRPC", "127.0.0.1:4")];
    let settings = settings(file, &environment, &[("listen.http", "127.0.0.1:5")]);
    assert_eq!(settings.listen.grpc.to_string(), "127.0.0.1:4");
    assert_eq!(settings.listen.http.to_string(), "127.0.0.1:5");
    assert_eq!(settings.listen.admin, Address::Off);
    assert_eq!(settings.gate.lives.work, Duration::from_secs(86_400));
    assert_eq!(settings.gate.lives.wait, Duration::from_secs(1800));
}

#[test]
fn every_kind_of_value_is_read() {
    let file = "
listen: {mode: 0600, grpc: '10.0.0.1:9001', http: off}
trust:
  peers: [10.0.0.0/8, 192.0.2.1]
client: {trusted: ['fd00::/8'], header: X-Real-IP}
wait: {enabled: no-thanks}
limits: {work: 10/1s burst 3}
page: {name: The Site}
log: {format: json, level: 'tollgate=debug'}
workers: 3
";
    let settings = settings(&file.replace("no-thanks", "false"), &[], &[]);
    assert_eq!((settings.listen.mode, settings.workers.get()), (0o600, 3));
    assert!(settings.gate.trust.peers.contains("10.2.3.4".parse().unwrap()));
    assert!(!settings.gate.trust.peers.contains("127.0.0.1".parse().unwrap()));
    assert!(matches!(settings.gate.client.hops, Hops::In(_)));
    assert_eq!(settings.gate.client.header.as_deref(), Some("x-real-ip"));
    assert!(!settings.gate.wait.enabled);
    assert_eq!(settings.gate.limits.work, Limit { count: 10, per: Duration::from_secs(1), burst: 3 });
    assert_eq!(settings.gate.page.name.as_deref(), Some("The Site"));
    assert!(settings.log.json);
    assert_eq!(wrong(file, &[]).len(), 1);
}

#[test]
fn every_problem_comes_at_once_with_its_line() {
    let file = "listen:\n  grcp: off\n  http: nowhere\nworkers: many\ntrust: {peers: [0.0.0.0/0, 10.0.0.0/99]}\nreplicas: 2\npolicy: missing.yaml\nclient: {hops: 1, trusted: [10.0.0.0/8]}\n";
    let (_folder, sources) = sources(file, &[("TOLLGATE_SHADOW", "maybe")], &[("public_prefix", "no")]);
    let problems = load(&sources).unwrap_err();
    let at: Vec<_> = problems.0.iter().map(|p| (p.key.as_deref().unwrap_or("policy"), p.line)).collect();
    for row in [
        ("listen.grcp", 2),
        ("listen.http", 3),
        ("workers", 4),
        ("trust.peers", 5),
        ("replicas", 6),
        ("policy", 0),
        ("client.hops", 8),
        ("shadow", 0),
        ("public_prefix", 0),
    ] {
        assert!(at.contains(&row), "{row:?} in {at:?}");
    }
    assert_eq!(at.iter().filter(|(key, _)| *key == "trust.peers").count(), 2);
    let text = problems.to_string();
    for piece in ["did you mean `listen.grpc`?", "  grcp: off", "^^^^", "TOLLGATE_SHADOW", "--prefix"] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (file, key) in [
        ("listen: {admin: '0.0.0.0:9003'}", "listen.admin"),
        ("listen: {admin: '[::]:0'}", "listen.admin"),
        ("listen: {grpc: '127.0.0.1:9002'}", "listen.http"),
        ("replicas: 2", "replicas"),
        ("cookie: {partitioned: true}", "cookie.partitioned"),
        ("cookie: {partitioned: true, same_site: none}", "cookie.partitioned"),
        ("cookie: {partitioned: true, secure: always}", "cookie.partitioned"),
        ("cookie: {secure: 'true'}", "cookie.secure"),
        ("cookie: {name: __Host-x}", "cookie.name"),
        ("page: {accent: red}", "page.accent"),
        ("page: {language: xx}", "page.language"),
        ("page: {frame_ancestors: [self, none]}", "page.frame_ancestors"),
        ("page: {frame_ancestors: portal.example}", "page.frame_ancestors"),
        ("page: {footer: ''}", "page.footer"),
        ("page: {logo: none.svg}", "page.logo"),
        ("page: {template: none.html}", "page.template"),
        ("challenge: {min_level: 18, max_level: 12}", "challenge.min_level"),
        ("challenge: {level: 19}", "challenge.level"),
        ("client: {header: x_real_ip}", "client.header"),
        ("listen: off", "listen"),
        ("workers: [1]", "workers"),
        ("workers: {a: 1}", "workers"),
        ("trust: {peers: {a: 1}}", "trust.peers"),
        ("config: other.yaml", "config"),
        ("keys: {file: none.yaml}", "keys.file"),
        ("memory: {shared: 'redis://localhost'}", "memory.shared"),
        ("memory: {file: kept}", "memory.file"),
        ("replicas: 3\nmemory: {max_bytes: 1GiB}", "replicas"),
        ("shadow: true\nshadow: false", ""),
        ("- a", ""),
        ("a: [", ""),
    ] {
        let problems = wrong(file, &[]);
        assert_eq!(
            problems.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>(),
            [key],
            "{file}: {problems:?}"
        );
    }
}

#[test]
fn the_pages_get_their_brand_from_files_beside_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "logo.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><path d='M0 0h9v9z'/></svg>",
    );
    write("page.html", "{% extends 'page.html' %}\n{% block header %}{{ site }}{% endblock %}");
    let settings = "cookie: {same_site: none, partitioned: true, secure: always}\npage: {name: A, accent: '#f80', language: no, footer: B, \
                    logo: logo.svg, template: page.html, frame_ancestors: [self, 'https://a.example']}";
    write("settings.yaml", settings);
    let file = folder.path().join("settings.yaml").display().to_string();
    let sources = Sources { flags: vec![("config", vec![file])], ..Sources::default() };
    let loaded = load(&sources).unwrap_or_else(|problems| panic!("{problems}"));
    let page = &loaded.settings.gate.page;
    assert!(page.logo.is_some() && page.template.is_some());
    assert_eq!((page.language, page.footer.as_deref()), (Some("nb"), Some("B")));
    assert_eq!(page.frame_ancestors.as_str(), "'self' https://a.example");
    assert!(loaded.settings.gate.cookie.partitioned);
    let remark = loaded.lints.iter().find(|l| l.key.as_deref() == Some("page.accent")).expect("a remark");
    assert!(remark.level == Severity::Warn && remark.message.contains(&page.accent.light()), "{remark}");

    write("logo.svg", "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'>\n<script/></svg>");
    write("page.html", "{% extends 'page.html' %}\n{% block header %}\n{{ titel }}{% endblock %}");
    let problems = load(&sources).unwrap_err().to_string();
    for piece in ["logo.svg: line 2: a logo has no `script`", "page.html: line 3: undefined value"] {
        assert!(problems.contains(piece), "{piece} in {problems}");
    }
}

#[test]
fn an_empty_file_and_a_group_without_lines_say_nothing() {
    for file in ["", "# nothing\n", "listen:\n  # grpc: off\npage:\n", "---\n"] {
        assert_eq!(settings(file, &[], &[]).listen.grpc.to_string(), "127.0.0.1:9001", "{file}");
    }
}

#[test]
fn toml_is_read_too_but_not_beside_yaml() {
    let folder = tempfile::tempdir().unwrap();
    let sources = Sources { folder: Some(folder.path().to_owned()), ..Sources::default() };
    fs::write(
        folder.path().join("tollgate.toml"),
        "workers = 2\n[listen]\nadmin = \"off\"\n[trust]\npeers = [\"10.0.0.0/8\"]\n",
    )
    .unwrap();
    let settings = load(&sources).unwrap().settings;
    assert_eq!((settings.workers.get(), settings.listen.admin), (2, Address::Off));
    fs::write(folder.path().join("tollgate.yaml"), "workers: 1").unwrap();
    assert!(load(&sources).unwrap_err().to_string().contains("choose with --config"));
    fs::remove_file(folder.path().join("tollgate.yaml")).unwrap();
    fs::write(folder.path().join("tollgate.toml"), "workers = \nsecret = 'x'").unwrap();
    assert!(load(&sources).unwrap_err().to_string().contains("tollgate.toml:1"));
}

#[test]
fn no_secret_is_shown_by_anything() {
    let secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0";
    for file in [
        format!("keys: {{secret: {secret}}}"),
        format!("keys:\n  secret: '{secret}"),
        format!("keys:\n  secret: [{secret}]"),
    ] {
        let (_folder, sources) = sources(&file, &[], &[]);
        let problems = load(&sources).unwrap_err();
        let (effective, _) = effective(&sources);
        for text in
            [problems.to_string(), format!("{problems:?}"), format!("{effective:?}"), format!("{sources:?}")]
        {
            assert!(!text.contains("c2VjcmV0"), "{file}: {text}");
        }
    }
    let good = "00".repeat(32);
    let (_folder, sources) = sources("", &[("TOLLGATE_KEYS__SECRET", &good)], &[]);
    assert!(load(&sources).unwrap().settings.ring.is_some());
    assert!(!format!("{:?}", effective(&sources)).contains(&good));
    let shown = effective(&sources).0.into_iter().find(|e| e.key.name == "keys.secret").unwrap();
    assert_eq!(
        (shown.value.as_deref(), shown.origin.as_str()),
        (Some("(redacted)"), "TOLLGATE_KEYS__SECRET")
    );
}

#[test]
fn paths_count_from_the_file_that_names_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.yaml"), "bots: [{name: a, action: ALLOW, path_regex: .*}]").unwrap();
    fs::write(folder.path().join("t.yaml"), "policy: p.yaml").unwrap();
    let file = folder.path().join("t.yaml").display().to_string();
    let sources = Sources { flags: vec![("config", vec![file])], ..Sources::default() };
    assert_eq!(load(&sources).unwrap().settings.policy, policy::Source::File(folder.path().join("p.yaml")));
}

#[test]
fn a_strange_variable_is_only_noted() {
    let (_folder, sources) = sources("", &[("TOLLGATE_SERVICE_HOST", "10.0.0.1")], &[]);
    let lints = load(&sources).unwrap().lints;
    assert!(
        lints.iter().any(|l| l.file == "TOLLGATE_SERVICE_HOST" && l.level == Severity::Warn),
        "{lints:?}"
    );
}

/// One secret for settings that need keys.
const KEYS_SET: (&str, &str) =
    ("TOLLGATE_KEYS__SECRET", "0707070707070707070707070707070707070707070707070707070707070707");

#[test]
fn who_remembers_beside_this_process_is_read_and_needs_keys() {
    let settings = |file: &str| settings(file, &[KEYS_SET], &[]);
    assert_eq!(settings("").memory, Memory::default());
    let both = settings("memory: {shared: 'rediss://me:hunter2@valkey.example/1', prefix: 'a:', file: kept}");
    let (address, prefix) = both.memory.shared.as_ref().unwrap();
    assert_eq!(
        (address.to_string().as_str(), prefix.as_str()),
        ("rediss://me:(redacted)@valkey.example:6379/1", "a:")
    );
    assert!(both.memory.file.as_ref().unwrap().ends_with("kept"));
    assert!(both.gate.others.file && both.gate.others.replicas);
    assert!(!format!("{both:?}").contains("hunter2"));
    for (file, key) in [
        ("memory: {shared: 'http://localhost'}", "memory.shared"),
        ("memory: {prefix: 'a*'}", "memory.prefix"),
        ("memory: {prefix: ''}", "memory.prefix"),
        ("memory: {file: ./tollgate.yaml}", "memory.file"),
        ("memory: {file: missing/kept}", "memory.file"),
        ("memory: {file: ..}", "memory.file"),
        ("memory: {file: ''}", "memory.file"),
    ] {
        let problems = wrong(file, &[KEYS_SET]);
        assert_eq!(problems.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), [key], "{file}");
    }
}

#[test]
fn no_mistake_shows_the_password_of_a_server() {
    for file in [
        "memory: {shared: 'redis://me:hunter2@host/x'}",
        "memory:\n  shared: redis://me:hunter2@host:port",
        "memory:\n  shared:\n    redis://me:hunter2@host#1",
        "memory:\n  shard: redis://me:hunter2@host",
        "memory:\n  shared: [redis://me:hunter2@host",
        "memory:\n  shared: {redis://me:hunter2@host: 1}",
    ] {
        let (_folder, sources) = sources(file, &[KEYS_SET], &[]);
        let problems = load(&sources).expect_err(file).to_string();
        assert!(!problems.contains("hunter2"), "{problems}");
        let shown = effective(&sources).0;
        assert!(!format!("{shown:?}").contains("hunter2"), "{file}");
    }
    let (_folder, sources) = sources("memory: {shared: 'redis://me:hunter2@host'}", &[KEYS_SET], &[]);
    let shown = effective(&sources).0;
    let row = shown.iter().find(|row| row.key.name == "memory.shared").unwrap();
    assert_eq!(row.value.as_deref(), Some("redis://me:(redacted)@host:6379"));
}
